//! The commands of `docs/book/dev.md`. The first is run in `http.rs`, at another port than the one that the page names.

use std::fs;
use std::process::{Command, Stdio};

/// With an `npx` that prints what it was to run, in place of the Inspector.
#[test]
fn commands_of_the_page_are_run() {
    let page = include_str!("../../../docs/book/dev.md");
    let lines =
        page.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a transcript").lines();
    let lines: Vec<&str> = lines.filter_map(|line| line.strip_prefix("$ cargo ")).collect();
    let [http, inspector] = lines[..] else { panic!("{lines:?}") };
    let (command, served) = http.split_once('#').expect("what it serves");
    assert_eq!((command.trim(), served.trim()), ("mcp dev --http", "serves http://127.0.0.1:8080/mcp"));
    let help = cargo_mcp("mcp dev --help").output().expect("cargo-mcp runs");
    assert!(String::from_utf8_lossy(&help.stdout).contains("instead of stdio [default: 127.0.0.1:8080]"), "{help:?}");

    let bin = std::env::temp_dir().join(format!("cargo-mcp-npx-{}", std::process::id()));
    fs::create_dir_all(&bin).expect("a directory");
    // By a shell: a descriptor of this process that can write to it would keep it from being run.
    let script = r#"printf '#!/bin/sh\necho "$@"\n' >"$0" && chmod 755 "$0""#;
    assert!(Command::new("sh").args(["-c", script]).arg(bin.join("npx")).status().expect("a shell").success());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    let done =
        cargo_mcp(inspector.split('#').next().expect("a command")).env("PATH", path).output().expect("cargo-mcp runs");
    let started = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && started.starts_with("-y @modelcontextprotocol/inspector"), "{done:?}");
    let wanted = format!("-- {} mcp dev", env!("CARGO_BIN_EXE_cargo-mcp"));
    assert!(started.trim_end().ends_with(&wanted), "{started}");
    fs::remove_dir_all(bin).expect("it can be removed");
}

fn cargo_mcp(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-mcp"));
    command.args(line.split_whitespace()).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}
