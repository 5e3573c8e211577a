//! The driver's own verdict, with replicas that share what they need, and with some that share nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

fn fleet(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fleet")).args(args).output().expect("the driver starts")
}

#[test]
fn replicas_that_share_nothing_miss() {
    let everything = Path::new(env!("CARGO_BIN_EXE_fleet")).with_file_name("everything");
    // Built with the tests of the workspace, but not with those of this package alone.
    if !everything.is_file() {
        let built = Command::new(env!("CARGO")).args(["build", "--quiet", "--locked", "-p", "everything"]).status();
        assert!(built.expect("cargo runs").success());
    }
    let alone = Path::new(env!("CARGO_TARGET_TMPDIR")).join("alone");
    fs::write(&alone, format!("#!/bin/sh\nunset REDIS_URL\nexec '{}' \"$@\"\n", everything.display())).unwrap();
    fs::set_permissions(&alone, fs::Permissions::from_mode(0o755)).unwrap();

    let everything = everything.display().to_string();
    let shared = fleet(&["--check", "--retries", "2", "--everything", &everything, "features/calls"]);
    let table = String::from_utf8_lossy(&shared.stdout);
    let errors = String::from_utf8_lossy(&shared.stderr);
    assert!(shared.status.success() && table.contains("features: 4 of 4 pass"), "{table}{errors}");

    let alone = fleet(&["--check", "--everything", &alone.display().to_string(), "features/calls"]);
    let table = String::from_utf8_lossy(&alone.stdout);
    assert_eq!(alone.status.code(), Some(1), "{table}");
    let row = table.lines().find(|line| line.starts_with("| features/calls ")).expect("a row");
    assert!(row.contains("MISSED: 2025-03-26: ") && !row.contains("2026-07-28"), "{table}");
    assert!(table.contains("features: 1 of 4 pass") && table.contains("Missed: 1, and 0 that are known."), "{table}");
}

#[test]
fn mistakes_of_the_command_line_are_told() {
    for (args, told) in
        [(&["kil"][..], "redis-pause"), (&["--fast"], "usage: fleet"), (&["--everything", "/nowhere"], "cargo build")]
    {
        let output = fleet(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(told), "{args:?}: {errors}");
    }
}
