//! The program and its options.

use std::process::{Command, Output};

fn files(arguments: &[&str]) -> Output {
    let directory = env!("CARGO_MANIFEST_DIR");
    Command::new(env!("CARGO_BIN_EXE_files")).args(arguments).current_dir(directory).output().unwrap()
}

#[test]
fn roots_come_before_the_command() {
    let listed = files(&["--root", "src", "--root", "tests", "call", "list"]);
    let said = String::from_utf8_lossy(&listed.stdout);
    assert!(said.contains("files://src") && said.contains("files://tests"), "{listed:?}");
    let read = files(&["--root", "src", "read", "files://src/main.rs"]);
    assert_eq!(String::from_utf8_lossy(&read.stdout).trim(), include_str!("../src/main.rs").trim());
}

#[test]
fn missing_roots_are_reported() {
    for (arguments, expected) in [
        (&["call", "list"][..], "no directory to serve: name one or more, as in `files --root /path/to/docs`"),
        (&["--root", "nowhere", "call", "list"], "cannot serve nowhere: "),
    ] {
        let output = files(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.starts_with(expected), "{said}");
    }
}
