//! The program and its options.

use std::process::{Command, Output};

fn plugins(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plugins"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("PLUGINS").output().unwrap()
}

#[test]
fn tools_of_the_file_are_called() {
    let arguments = ["--file", "plugins.toml", "call", "release_checklist", "version=1.4.0", "kind=minor"];
    let output = plugins(&arguments);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.starts_with("Release 1.4.0 (minor):"), "{output:?}");
    assert!(said.contains("after 24 hours"), "{said}");
}

#[test]
fn missing_and_broken_files_are_reported() {
    for (arguments, expected) in [
        (&["tools"][..], "name the file with the tools: "),
        (&["--file", "nowhere.toml", "tools"], "cannot read nowhere.toml: "),
        (&["--file", "Cargo.toml", "tools"], "Cargo.toml:"),
    ] {
        let output = plugins(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.starts_with(expected), "{said}");
    }
}
