//! [`Package`]: the server in the current directory, as `cargo metadata` describes it, and its contract.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use serde_json::Value;

use crate::contract::Contract;
use crate::failure::Failure;

/// A package with a binary that serves.
pub(crate) struct Package {
    metadata: Value,
    /// The folder of its Cargo.toml.
    pub(crate) folder: PathBuf,
    /// Its binary that serves.
    pub(crate) binary: String,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
}

/// What to build.
pub(crate) struct Build<'a> {
    pub(crate) release: bool,
    /// A target triple, unless it is for this machine.
    pub(crate) target: Option<&'a str>,
}

impl Package {
    /// The package of that name, or else the one in the current directory; of its binaries the one named, or the only
    /// one.
    pub(crate) fn find(name: Option<&str>, binary: Option<&str>) -> Result<Self, Failure> {
        let metadata = json_of(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
        let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
        let package = match name {
            Some(name) => {
                let missing = || Failure::usage(format!("no package `{name}` in this workspace"));
                packages.iter().find(|package| package["name"] == name).ok_or_else(missing)?
            }
            None => current(packages)?,
        };
        let binary = binary_of(package, binary)?;
        let folder = manifest_path(package).parent().unwrap_or(Path::new(".")).to_owned();
        let target = PathBuf::from(metadata["target_directory"].as_str().unwrap_or("target"));
        Ok(Package { metadata: package.clone(), folder, binary, target })
    }

    /// A package that `cargo metadata` would describe like this.
    #[cfg(test)]
    pub(crate) fn described(metadata: Value) -> Self {
        Package { metadata, folder: PathBuf::new(), binary: "demo".to_owned(), target: PathBuf::new() }
    }

    pub(crate) fn name(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    pub(crate) fn version(&self) -> &str {
        self.text("version").unwrap_or_default()
    }

    /// A key of its Cargo.toml that is text and not empty.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.metadata[key].as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// A key of its Cargo.toml that is a list of texts.
    pub(crate) fn texts(&self, key: &str) -> Vec<&str> {
        self.metadata[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Whether it can be published: `publish = false` forbids it.
    pub(crate) fn is_published(&self) -> bool {
        self.metadata["publish"].as_array().is_none_or(|registries| !registries.is_empty())
    }

    /// Its README, as it is published.
    pub(crate) fn readme(&self) -> Option<String> {
        fs::read_to_string(self.folder.join(self.text("readme")?)).ok()
    }

    /// Builds the binary, and returns where it is. Cargo's messages go to standard error.
    pub(crate) fn build(&self, build: &Build<'_>) -> Result<PathBuf, Failure> {
        let mut cargo = cargo();
        cargo.args(["build", "--package", self.name(), "--bin", &self.binary]).stdout(Stdio::null());
        cargo.args(build.release.then_some("--release"));
        cargo.args(build.target.into_iter().flat_map(|target| ["--target", target]));
        let status = cargo.status().map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
        if !status.success() {
            return Err(Failure::new("the server does not build; see above"));
        }
        let mut path = self.target.join(build.target.unwrap_or_default());
        path.push(if build.release { "release" } else { "debug" });
        let windows = build.target.map_or(cfg!(windows), |target| target.contains("windows"));
        path.push(if windows { format!("{}.exe", self.binary) } else { self.binary.clone() });
        Ok(path)
    }

    /// What the server offers: what its command `schema` prints, or, if it is no command line, its contract.json.
    pub(crate) fn contract(&self, build: &Build<'_>) -> Result<Contract, Failure> {
        if self.has_command_line() {
            let binary = self.build(build)?;
            let output = Command::new(&binary).arg("schema").stdin(Stdio::null()).stderr(Stdio::inherit()).output();
            let output = output.map_err(|error| Failure::new(format!("cannot run {}: {error}", binary.display())))?;
            return Contract::parse(&String::from_utf8_lossy(&output.stdout)).map_err(|_| {
                Failure::new(format!(
                    "`{} schema` does not print a contract; `main` must run the server with `Server::run`",
                    self.binary
                ))
            });
        }
        let path = self.folder.join("contract.json");
        let text = fs::read_to_string(&path).map_err(|error| {
            let path = path.display();
            Failure::new(format!(
                "cannot read {path}: {error}. Run the server with `Server::run` (feature `cli` of mcp-runtime), or \
                 record the contract: `assert_contract!` in a test, and `UPDATE_CONTRACT=1 cargo test`"
            ))
        })?;
        Contract::parse(&text)
    }

    /// Whether the server is its own command line: it has the feature `cli` of mcp-runtime.
    pub(crate) fn has_command_line(&self) -> bool {
        let dependencies = self.metadata["dependencies"].as_array().into_iter().flatten();
        let mut runtimes = dependencies.filter(|dependency| dependency["name"] == "mcp-runtime");
        runtimes.any(|runtime| runtime["features"].as_array().is_some_and(|all| all.iter().any(|one| one == "cli")))
    }
}

/// The package whose folder is around the current directory, the nearest one.
fn current(packages: &[Value]) -> Result<&Value, Failure> {
    let folder = env::current_dir().and_then(|folder| folder.canonicalize()).map_err(Failure::new)?;
    let around = |package: &&Value| {
        let root = manifest_path(package).parent().and_then(|root| root.canonicalize().ok());
        root.is_some_and(|root| folder.starts_with(root))
    };
    let nearest = packages.iter().filter(around).max_by_key(|package| manifest_path(package).components().count());
    nearest.ok_or_else(|| {
        let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
        Failure::usage(format!("which package? `--package NAME` names one of: {}", names.join(", ")))
    })
}

fn manifest_path(package: &Value) -> &Path {
    Path::new(package["manifest_path"].as_str().unwrap_or_default())
}

fn binary_of(package: &Value, named: Option<&str>) -> Result<String, Failure> {
    let targets = package["targets"].as_array().into_iter().flatten();
    let is_binary =
        |target: &&Value| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "bin"));
    let binaries: Vec<&str> = targets.filter(is_binary).filter_map(|target| target["name"].as_str()).collect();
    let name = package["name"].as_str().unwrap_or_default();
    let wanted = named.or(package["default_run"].as_str());
    match (wanted, &binaries[..]) {
        (Some(wanted), binaries) if binaries.contains(&wanted) => Ok(wanted.to_owned()),
        (Some(wanted), _) => Err(Failure::usage(format!("`{name}` has no binary `{wanted}`"))),
        (None, []) => Err(Failure::new(format!("`{name}` has no binary: a server needs a src/main.rs"))),
        (None, [only]) => Ok((*only).to_owned()),
        (None, several) => {
            Err(Failure::usage(format!("which binary? `--bin NAME` names one of: {}", several.join(", "))))
        }
    }
}

fn json_of(command: &mut Command) -> Result<Value, Failure> {
    let output = command.output().map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(told.trim().trim_start_matches("error: ")));
    }
    serde_json::from_slice(&output.stdout).map_err(Failure::new)
}

fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn binary_is_the_only_one_or_a_named_one() {
        let target = |name: &str, kind: &str| json!({"name": name, "kind": [kind]});
        let package = |targets: &[Value]| json!({"name": "p", "targets": targets});
        let one = package(&[target("p", "lib"), target("p", "bin"), target("t", "test")]);
        assert_eq!(binary_of(&one, None).ok().unwrap(), "p");
        let two = package(&[target("a", "bin"), target("b", "bin")]);
        assert_eq!(binary_of(&two, Some("b")).ok().unwrap(), "b");
        let Err(failure) = binary_of(&two, None) else { panic!("there are two") };
        assert!(format!("{failure:?}").contains("one of: a, b"), "{failure:?}");
        assert!(binary_of(&two, Some("c")).is_err());
        assert!(binary_of(&package(&[]), None).is_err());
    }
}
