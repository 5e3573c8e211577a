//! The server as a process: its database, and the README's conversation.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path); // of the run before
    path
}

/// Starts the server, sends these lines one after the other, and returns its responses.
fn answers<'a>(command: &mut Command, lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ask = |line| {
        writeln!(input, "{line}").unwrap();
        output.next().expect("an answer").unwrap()
    };
    let answers = lines.into_iter().map(&mut ask).collect();
    drop(input);
    assert!(server.wait().unwrap().success());
    answers
}

fn notes() -> Command {
    Command::new(env!("CARGO_BIN_EXE_notes"))
}

#[test]
fn notes_outlive_the_server() {
    let path = fresh("kept.db");
    let create = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create","arguments":{"title":"Kept","text":"Still here."}}}"#;
    let read = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://1"}}"#;
    let search =
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"query":"still"}}}"#;

    let created = answers(notes().arg("--db").arg(&path), [INITIALIZE, create]);
    assert!(created[1].contains("created note 1"), "{created:?}");
    let again = answers(notes().env("NOTES_DB", &path), [INITIALIZE, read, search]);
    assert!(again[1].contains(r##""text":"# Kept\n\nStill here.""##), "{again:?}");
    assert!(again[2].contains("*Still* here."), "{again:?}");
}

#[test]
fn default_database_is_in_the_home_directory() {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = fresh("notes.db");
    answers(notes().env_remove("NOTES_DB").env("HOME", home).env("USERPROFILE", home), [INITIALIZE]);
    assert!(path.exists());
}

#[test]
fn unopenable_database_is_reported() {
    let output = notes().args(["--db", "/nowhere/at/all.db"]).stdin(Stdio::null()).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot open /nowhere/at/all.db"), "{said}");
    assert!(said.contains("name a file that can be written"), "{said}");
}

#[test]
fn responses_match_the_readme() {
    let lines = include_str!("../README.md").lines().filter(|line| line.starts_with(r#"{"jsonrpc""#));
    let (requests, shown): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains(r#""method""#));
    assert!(requests.len() > 3);
    assert_eq!(answers(notes().args(["--db", ":memory:"]), requests), shown);
}
