//! Cargo: which package and which directories, builds, and what the compiler said.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::Command;

use super::super::options::Target;
use super::super::report::Report;
use crate::failure::Failure;

/// The lines of cargo's output that are kept for the model, if the compiler said nothing.
const KEPT_LINES: usize = 30;

/// What is built, and where its sources are.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    package_id: String,
    /// The executable's name, and how cargo is told.
    pub(crate) executable: String,
    is_example: bool,
    pub(crate) manifest_directory: PathBuf,
    pub(crate) target_directory: PathBuf,
    pub(crate) workspace: PathBuf,
    /// The package and its path dependencies.
    pub(crate) sources: BTreeSet<PathBuf>,
    target: Target,
}

/// A build that worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Artifact {
    pub(crate) executable: PathBuf,
    modified: Option<SystemTime>,
    bytes: u64,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Option<Resolve>,
    target_directory: PathBuf,
    workspace_root: PathBuf,
    workspace_members: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    source: Option<String>,
    manifest_path: PathBuf,
    default_run: Option<String>,
    targets: Vec<PackageTarget>,
}

#[derive(Debug, Deserialize)]
struct PackageTarget {
    name: String,
    kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    root: Option<String>,
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
}

impl Project {
    /// Asks cargo.
    pub(crate) async fn read(target: &Target) -> Result<Self, Failure> {
        let mut command = cargo();
        command.args(["metadata", "--format-version", "1"]);
        if let Some(path) = &target.manifest_path {
            command.arg("--manifest-path").arg(path);
        }
        if let Some(features) = &target.features {
            command.arg("--features").arg(features);
        }
        let output = command.stdin(Stdio::null()).output().await;
        let output = output.map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::new(error.trim().trim_start_matches("error: ")));
        }
        let metadata: Metadata = serde_json::from_slice(&output.stdout)
            .map_err(|error| Failure::new(format!("cargo metadata is not as expected: {error}")))?;
        metadata.project(target)
    }

    /// Builds the executable. Cargo's output is shown; on failure, the text is for the model.
    pub(crate) async fn build(&self, report: Report, quiet: bool) -> Result<Artifact, String> {
        let mut command = cargo();
        command.args(["build", "--package", &self.package_id]);
        command.args([if self.is_example { "--example" } else { "--bin" }, &self.executable]);
        let format = if report.colours() { "json-diagnostic-rendered-ansi" } else { "json" };
        command.args(["--message-format", format, "--color", if report.colours() { "always" } else { "never" }]);
        command.arg("--manifest-path").arg(self.manifest_directory.join("Cargo.toml"));
        if let Some(features) = &self.target.features {
            command.args(["--features", features]);
        }
        if self.target.release {
            command.arg("--release");
        }
        if quiet {
            command.arg("--quiet");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("cargo could not be run: {error}"))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let ((executable, first_error), tail) = tokio::join!(self.read_messages(stdout), read_progress(stderr));
        let status = child.wait().await.map_err(|error| format!("cargo could not be waited for: {error}"))?;
        if !status.success() {
            let text = first_error.unwrap_or(tail);
            return Err(format!("cargo build failed:\n\n{}", without_colours(text.trim())));
        }
        let executable = executable.ok_or("cargo build did not say where the executable is")?;
        Artifact::at(executable).map_err(|error| format!("the executable cannot be read: {error}"))
    }

    /// The executable, and the first error of the compiler.
    async fn read_messages(&self, stdout: Option<impl AsyncRead + Unpin>) -> (Option<PathBuf>, Option<String>) {
        let (mut executable, mut first_error) = (None, None);
        let Some(stdout) = stdout else { return (executable, first_error) };
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if message["reason"] == "compiler-message" {
                let rendered = message["message"]["rendered"].as_str().unwrap_or_default();
                Report::verbatim(rendered);
                if message["message"]["level"] == "error" && first_error.is_none() {
                    first_error = Some(rendered.to_owned());
                }
            } else if message["reason"] == "compiler-artifact"
                && message["package_id"] == self.package_id.as_str()
                && message["target"]["name"] == self.executable.as_str()
                && let Some(path) = message["executable"].as_str()
            {
                executable = Some(PathBuf::from(path));
            }
        }
        (executable, first_error)
    }
}

impl Artifact {
    fn at(executable: PathBuf) -> std::io::Result<Self> {
        let metadata = std::fs::metadata(&executable)?;
        Ok(Artifact { executable, modified: metadata.modified().ok(), bytes: metadata.len() })
    }
}

impl Metadata {
    fn project(self, target: &Target) -> Result<Project, Failure> {
        let package = self.package(target)?;
        let executable = package.executable(target)?;
        Ok(Project {
            package_id: package.id.clone(),
            executable,
            is_example: target.example.is_some(),
            manifest_directory: directory(&package.manifest_path),
            sources: self.sources(&package.id),
            target_directory: self.target_directory.clone(),
            workspace: self.workspace_root.clone(),
            target: target.clone(),
        })
    }

    /// `--package`, the package of the manifest, or the only one with an executable.
    fn package(&self, target: &Target) -> Result<&Package, Failure> {
        let members = || self.packages.iter().filter(|package| self.workspace_members.contains(&package.id));
        if let Some(name) = &target.package {
            let found = members().find(|package| package.name == *name || package.id == *name);
            return found.ok_or_else(|| {
                let names: Vec<_> = members().map(|package| package.name.as_str()).collect();
                Failure::usage(format!("no package `{name}` in this workspace; it has {}", names.join(", ")))
            });
        }
        let root = self.resolve.as_ref().and_then(|resolve| resolve.root.as_ref());
        if let Some(package) = root.and_then(|root| members().find(|package| package.id == *root)) {
            return Ok(package);
        }
        let runnable: Vec<_> = members().filter(|package| package.names("bin").next().is_some()).collect();
        match runnable[..] {
            [package] => Ok(package),
            [] => Err(Failure::usage("no package of this workspace has a binary")),
            _ => {
                let names: Vec<_> = runnable.iter().map(|package| package.name.as_str()).collect();
                Err(Failure::usage(format!("choose a package with `-p`: {}", names.join(", "))))
            }
        }
    }

    /// The directories of a package and of the packages on this machine that it depends on.
    fn sources(&self, root: &str) -> BTreeSet<PathBuf> {
        let nodes: HashMap<&str, &[String]> = self
            .resolve
            .iter()
            .flat_map(|resolve| &resolve.nodes)
            .map(|node| (node.id.as_str(), node.dependencies.as_slice()))
            .collect();
        let local: HashMap<&str, &Package> = self
            .packages
            .iter()
            .filter(|package| package.source.is_none())
            .map(|package| (package.id.as_str(), package))
            .collect();
        let (mut seen, mut next) = (BTreeSet::new(), vec![root]);
        while let Some(id) = next.pop() {
            if local.contains_key(id) && seen.insert(id) {
                next.extend(nodes.get(id).into_iter().flat_map(|node| node.iter().map(String::as_str)));
            }
        }
        seen.into_iter().map(|id| directory(&local[id].manifest_path)).collect()
    }
}

impl Package {
    fn names(&self, kind: &str) -> impl Iterator<Item = &str> {
        let of_kind = move |target: &&PackageTarget| target.kind.iter().any(|each| each == kind);
        self.targets.iter().filter(of_kind).map(|target| target.name.as_str())
    }

    /// `--bin`, `--example`, `default-run`, or the only binary.
    fn executable(&self, target: &Target) -> Result<String, Failure> {
        let (kind, wanted) = match (&target.example, target.bin.as_ref().or(self.default_run.as_ref())) {
            (Some(example), _) => ("example", Some(example)),
            (None, wanted) => ("bin", wanted),
        };
        let names: Vec<_> = self.names(kind).collect();
        match (wanted, &names[..]) {
            (Some(wanted), names) if names.contains(&wanted.as_str()) => Ok(wanted.clone()),
            (Some(wanted), names) => Err(Failure::usage(format!(
                "package `{}` has no {kind} `{wanted}`; it has: {}",
                self.name,
                names.join(", ")
            ))),
            (None, [name]) => Ok((*name).to_owned()),
            (None, []) => Err(Failure::usage(format!(
                "package `{}` has no binary; give `-p PACKAGE` or `--example NAME`",
                self.name
            ))),
            (None, names) => Err(Failure::usage(format!("choose a binary with `--bin`: {}", names.join(", ")))),
        }
    }
}

fn directory(manifest: &Path) -> PathBuf {
    manifest.parent().unwrap_or(Path::new(".")).to_owned()
}

/// The cargo that runs this subcommand, the one it was installed beside, or the one in the path. Clients with windows
/// start servers without the path of a shell.
fn cargo() -> Command {
    let beside = || {
        let own = std::env::current_exe().ok()?;
        let cargo = own.with_file_name(format!("cargo{}", std::env::consts::EXE_SUFFIX));
        cargo.exists().then(|| cargo.into_os_string())
    };
    Command::new(std::env::var_os("CARGO").or_else(beside).unwrap_or_else(|| "cargo".into()))
}

/// Shows cargo's progress, and keeps the end of it.
async fn read_progress(stderr: Option<impl AsyncRead + Unpin>) -> String {
    let mut kept = std::collections::VecDeque::new();
    let Some(stderr) = stderr else { return String::new() };
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        Report::verbatim(&line);
        if kept.len() == KEPT_LINES {
            kept.pop_front();
        }
        kept.push_back(line);
    }
    Vec::from(kept).join("\n")
}

/// A model does not see colours.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("\x1b[") {
        plain.push_str(&rest[..start]);
        let sequence = &rest[start + 2..];
        let end = sequence.find(|letter: char| ('@'..='~').contains(&letter)).map_or(sequence.len(), |end| end + 1);
        rest = &sequence[end..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::without_colours;

    #[test]
    fn colours_are_removed() {
        assert_eq!(without_colours("\x1b[1m\x1b[91merror\x1b[0m: no \u{1b}[38;5;9mx\x1b[0m"), "error: no x");
        assert_eq!(without_colours("plain\nééé"), "plain\nééé");
        assert_eq!(without_colours("cut \x1b[1"), "cut ");
    }
}
