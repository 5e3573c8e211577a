//! `cargo mcp new`: what it writes compiles and passes its tests, and it writes over nothing.

#[path = "../shared/env.rs"]
mod env;
#[cfg(unix)]
mod transcripts;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A directory outside of the checkout, where cargo would find the repository's workspace. Removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cargo-mcp-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    /// A directory in it.
    fn below(&self, path: &str) -> Self {
        Scratch(self.0.join(path))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.0).env("NO_COLOR", "1");
        command
    }

    /// Runs `cargo mcp new` with these arguments, and returns what it says if it succeeds, or else what it fails with.
    fn make(&self, arguments: &[&str]) -> Result<String, String> {
        told(&self.command(env!("CARGO_BIN_EXE_cargo-mcp")).args(["mcp", "new"]).args(arguments).output().unwrap())
    }

    /// `cargo mcp new` with the checkout as its dependency.
    fn make_here(&self, arguments: &[&str]) -> Result<String, String> {
        self.make(&[arguments, &["--path", checkout().to_str().unwrap()]].concat())
    }

    /// Runs cargo. It finds the crates of the repository's own build, and nothing is downloaded.
    fn cargo(&self, arguments: &[&str]) -> Result<String, String> {
        told(&self.building(env!("CARGO")).args(arguments).output().unwrap())
    }

    /// Runs `cargo mcp skill`.
    fn skill(&self, arguments: &[&str]) -> Result<String, String> {
        told(&self.building(env!("CARGO_BIN_EXE_cargo-mcp")).args(["mcp", "skill"]).args(arguments).output().unwrap())
    }

    fn building(&self, program: &str) -> Command {
        let mut command = self.command(program);
        command.env("CARGO_TARGET_DIR", target()).env("CARGO_NET_OFFLINE", "true");
        env::without_package(&mut command);
        command
    }

    /// Adds a package to the workspace that asks for the features that the checkout's own build has: what was built with
    /// them is not built again with fewer.
    fn ask_for_features_of_the_checkout(&self) {
        let mut manifest = String::from("[package]\nname = \"my-features\"\nedition = \"2024\"\n\n[dependencies]\n");
        let own = features_in(&self.0);
        for line in features_in(checkout()).difference(&own) {
            let (package, features) = line.split_once('|').unwrap();
            let (name, version) = package.split_once(" v").unwrap();
            // What the scaffolded servers do not use at all is not needed.
            if own.iter().any(|other| other.starts_with(&format!("{package}|"))) {
                let (version, features) = (version.split('+').next().unwrap(), features.replace(',', "\", \""));
                let features = if features.is_empty() { features } else { format!("\"{features}\"") };
                let key = format!("{name}-{}", version.replace('.', "-"));
                writeln!(
                    manifest,
                    "{key} = {{ package = \"{name}\", version = \"={version}\", default-features = false, features = [{features}] }}"
                )
                .unwrap();
            }
        }
        self.write("my-features/Cargo.toml", &manifest);
        self.write("my-features/src/lib.rs", "");
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// The packages from the registry in a workspace, each as `name vversion|feature,feature`.
fn features_in(workspace: &Path) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--workspace", "--edges=normal,build,dev", "--prefix=none", "--format={p}|{f}"]);
    let output = tree.current_dir(workspace).env("NO_COLOR", "1").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)").replace(" (proc-macro)", ""));
    // A path is that of a package in the workspace.
    lines.filter(|line| line.contains('|') && !line.contains('/')).collect()
}

fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn told(output: &Output) -> Result<String, String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    if output.status.success() { Ok(text) } else { Err(format!("{:?} {text}", output.status.code())) }
}

fn examples() -> Vec<String> {
    let examples = fs::read_dir(checkout().join("examples")).unwrap();
    examples
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect()
}

#[test]
fn every_example_compiles_under_a_new_name() {
    let scratch = Scratch::new("all");
    // the profile and the lock file of the repository: what it has built is not built again
    let root = fs::read_to_string(checkout().join("Cargo.toml")).unwrap();
    let profiles = root.split_once("[profile.dev]").unwrap().1;
    scratch.write(
        "Cargo.toml",
        &format!("[workspace]\nresolver = \"3\"\nmembers = [\"my-*\"]\n\n[profile.dev]{profiles}"),
    );
    fs::copy(checkout().join("Cargo.lock"), scratch.0.join("Cargo.lock")).unwrap();
    let mut calls = Vec::new();
    for example in examples() {
        let told = scratch.make_here(&[&format!("my-{example}"), "--from", &example]).unwrap();
        assert!(told.contains(&format!("Created MCP server `my-{example}` (from {example})")), "{told}");
        assert!(!scratch.read(&format!("my-{example}/Cargo.toml")).contains("metadata"), "{example}");
        let call = told.lines().find_map(|line| line.trim().strip_suffix("  calls a tool"));
        calls.extend(call.map(|call| (format!("my-{example}"), call.trim().to_owned())));
    }
    scratch.make_here(&["my-service", "--http"]).unwrap();
    assert!(scratch.read("my-service/Cargo.toml").contains(r#""http""#));

    scratch.ask_for_features_of_the_checkout();
    scratch.cargo(&["check", "--quiet", "--workspace", "--all-targets"]).unwrap();
    next_commands_work(&scratch, &calls);
    let refused = scratch.skill(&["--package", "my-axum-app"]).unwrap_err();
    assert!(refused.contains("add the feature `cli`"), "{refused}");
    scratch.cargo(&["fmt", "-p", "my-starter", "--check"]).unwrap();
}

/// Not in a workspace with others, so that it has no more features than it asks for, as the server of the transcripts.
#[test]
fn starter_passes_its_tests_alone() {
    let scratch = Scratch::new("starter");
    scratch.make_here(&["my-starter"]).unwrap();
    let scratch = scratch.below("my-starter");
    let passed = scratch.cargo(&["test"]).unwrap();
    assert!(passed.contains("contract_is_kept ... ok"), "{passed}");
    let sum = scratch.cargo(&["run", "--quiet", "--", "call", "add", "a=2", "b=3"]).unwrap();
    assert_eq!(sum, "5\n");
    let entry = scratch.cargo(&["run", "--quiet", "--", "install", "cursor", "--dry-run"]).unwrap();
    assert!(entry.contains("my-starter"), "{entry}");
    let skill = scratch.skill(&["--out", "-"]).unwrap();
    assert!(skill.contains("\nmy-starter call add a=2 b=3\n"), "{skill}");
    let page = include_str!("../../../docs/book/cargo-mcp.md");
    let shown = page.split("````markdown\n").nth(1).unwrap().split("\n````").next().unwrap();
    assert!(skill.contains(&shown.replace("starter ", "my-starter ")), "cargo-mcp.md shows another skill than {skill}");
    let call = shown.split("```sh\nstarter ").nth(1).unwrap().lines().next().unwrap();
    let arguments: Vec<&str> = ["run", "--quiet", "--"].into_iter().chain(call.split(' ')).collect();
    assert_eq!(scratch.cargo(&arguments).unwrap(), "1\n", "{call}");
}

/// The examples that say themselves what to type: one that needs nothing is called with values that fit its schema.
const OWN_COMMANDS: [(&str, &str); 3] = [
    ("my-files", "cargo run -- --root src call list path=src"),
    ("my-plugins", "cargo run -- --file plugins.toml call release_checklist version=1.4.0 kind=minor"),
    ("my-weather", "cargo run -- call get_weather city=北京"),
];

/// Pastes the first command of these into a shell, where `cargo run` starts the example that the new server is a copy of: it has
/// been built with the tests of the workspace, and each copy would be built with features of its own.
fn next_commands_work(scratch: &Scratch, calls: &[(String, String)]) {
    for (package, expected) in OWN_COMMANDS {
        let shown = calls.iter().find(|(one, _)| one == package).map(|(_, call)| call.as_str());
        assert_eq!(shown, Some(expected));
        let example = package.strip_prefix("my-").unwrap();
        let program = target().join("debug").join(example);
        // Built with the tests of the workspace, but not with those of this package alone.
        if !program.is_file() {
            let built = Command::new(env!("CARGO")).args(["build", "--quiet", "--locked", "-p", example]).status();
            assert!(built.unwrap().success());
        }
        let mut shell = scratch.command("sh");
        let cargo = r#"cargo() { [ "$1 $2" = "run --" ]; shift 2; "$PROGRAM" "$@"; }; "#;
        shell.args(["-euc", &format!("{cargo}{expected}")]).env("PROGRAM", program);
        shell.current_dir(scratch.0.join(package)).stdin(std::process::Stdio::null());
        let output = shell.output().unwrap();
        told(&output).unwrap_or_else(|error| panic!("{package}: {expected}: {error}"));
        assert!(!output.stdout.is_empty(), "{package}: {expected}");
    }
}

#[test]
fn starter_has_everything_a_repository_needs() {
    let scratch = Scratch::new("files");
    let told = scratch.make_here(&["some/where/demo-server"]).unwrap();
    assert!(told.contains("cd some/where/demo-server"), "{told}");
    assert!(told.contains("cargo run -- call add a=2 b=3"), "{told}");
    let read = |path: &str| scratch.read(&format!("some/where/demo-server/{path}"));
    assert!(read("Cargo.toml").contains("name = \"demo-server\""));
    assert!(read("src/main.rs").contains("demo_server::server()"));
    assert!(read("src/lib.rs").contains("Server::new(\"demo-server\""));
    assert!(read("contract.json").contains("\"name\": \"demo-server\""));
    assert!(read("README.md").starts_with("# demo-server\n"));
    assert!(read("AGENTS.md").contains("#[tool("));
    assert!(read(".github/workflows/ci.yml").contains("cargo test"));
    assert_eq!(read(".gitignore"), "/target\n");
    assert!(scratch.0.join("some/where/demo-server/.git").is_dir());
    for path in ["Cargo.toml", "src/main.rs", "src/lib.rs", "tests/server.rs", "tests/contract.rs", "contract.json"] {
        assert!(!read(path).contains("starter"), "{path}:\n{}", read(path));
    }
}

#[test]
fn dependency_is_the_checkout_around_the_current_directory_or_the_registry() {
    let scratch = Scratch::new("source");
    scratch.make(&["published", "--published"]).unwrap();
    let version = concat!("mcp-runtime = { version = \"", env!("CARGO_PKG_VERSION"), "\"");
    assert!(scratch.read("published/Cargo.toml").contains(version));

    let mut inside = scratch.command(env!("CARGO_BIN_EXE_cargo-mcp"));
    inside.current_dir(checkout().join("docs")).arg("new").arg(scratch.0.join("local"));
    told(&inside.output().unwrap()).unwrap();
    let path = format!("path = \"{}/mcp-runtime\"", checkout().display());
    assert!(scratch.read("local/Cargo.toml").contains(&path.replace('\\', "/")));

    let refused = scratch.make(&["other", "--path", "published"]).unwrap_err();
    assert!(refused.contains("is not a checkout of mcp-runtime"), "{refused}");
}

#[test]
fn nothing_is_written_over() {
    let scratch = Scratch::new("over");
    scratch.write("full/Cargo.toml", "mine");
    scratch.write("file", "mine");
    let refused = scratch.make_here(&["full"]).unwrap_err();
    assert!(refused.starts_with("Some(1)") && refused.contains("is not empty"), "{refused}");
    assert!(scratch.make_here(&["file"]).unwrap_err().contains("is a file"));
    assert_eq!((scratch.read("full/Cargo.toml"), scratch.read("file")), ("mine".to_owned(), "mine".to_owned()));

    fs::create_dir(scratch.0.join("empty")).unwrap();
    scratch.make_here(&["empty"]).unwrap();
    assert!(scratch.read("empty/Cargo.toml").contains("name = \"empty\""));
}

#[test]
fn names_are_checked_before_anything_is_written() {
    let scratch = Scratch::new("names");
    for (name, why) in [
        ("fn", "it is a Rust keyword"),
        ("a!b", "invalid character `!`"),
        ("9x", "cannot start with a digit"),
        ("test", "conflicts with Rust's built-in test library"),
        ("tokio", "choose another name"),
        ("mcp-runtime", "choose another name"),
        ("mcp_runtime", "choose another name"),
        ("Äpfel", "outside of ASCII"),
    ] {
        let refused = scratch.make_here(&[name]).unwrap_err();
        assert!(refused.contains(why), "{name}: {refused}");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
    assert!(scratch.make(&["--", "-x"]).unwrap_err().contains("invalid character `-`"));
    let refused = scratch.make_here(&["demo", "--from", "notse"]).unwrap_err();
    assert!(refused.starts_with("Some(2)") && refused.contains("did you mean `notes`?"), "{refused}");
    assert!(scratch.make(&[]).unwrap_err().contains("cargo mcp new NAME"));
    assert_eq!(scratch.names(), [""; 0], "nothing is left");
}

#[test]
fn crate_joins_the_workspace_around_it() {
    let scratch = Scratch::new("workspace");
    scratch.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = []\n");
    let told = scratch.make_here(&["crates/demo"]).unwrap();
    assert!(told.contains("Adding `demo` to the members of the workspace"), "{told}");
    assert!(scratch.read("Cargo.toml").contains("members = [\"crates/demo\"]"));
}

/// A cargo that creates a directory where a file will be written.
#[cfg(unix)]
#[test]
fn failure_half_way_leaves_nothing() {
    let scratch = Scratch::new("failure");
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = []\n";
    scratch.write("Cargo.toml", workspace);
    let script = format!(
        "#!/bin/sh\n\"{}\" \"$@\" || exit\nfor last; do :; done\n[ \"$1\" != init ] || mkdir \"$last/AGENTS.md\"\n",
        env!("CARGO")
    );
    // Not written by this process: a child that another test is starting would have a copy of the descriptor, and until
    // its `exec` the script would be busy (ETXTBSY).
    let mut shell = scratch.command("sh");
    shell.args(["-c", r#"printf %s "$0" > cargo && chmod 755 cargo"#, &script]);
    assert!(shell.status().unwrap().success());
    fs::create_dir(scratch.0.join("empty")).unwrap();
    for path in ["new/crates/demo", "empty"] {
        let mut command = scratch.command(env!("CARGO_BIN_EXE_cargo-mcp"));
        let output = command.env("CARGO", scratch.0.join("cargo")).args(["new", path]).output().unwrap();
        let refused = told(&output).unwrap_err();
        assert!(refused.contains("cannot write") && refused.contains("AGENTS.md"), "{refused}");
    }
    assert_eq!(scratch.names(), ["Cargo.toml", "cargo", "empty"]);
    assert_eq!(fs::read_dir(scratch.0.join("empty")).unwrap().count(), 0);
    assert_eq!(scratch.read("Cargo.toml"), workspace);
}

#[test]
fn list_has_a_line_for_each_example() {
    let scratch = Scratch::new("list");
    let list = scratch.make(&["--list"]).unwrap();
    assert_eq!(list.lines().count(), examples().len(), "{list}");
    assert!(list.trim_start().starts_with("starter "), "{list}");
}
