//! The server as a process: what it says when the environment is wrong, and that the command line needs none.

use std::process::{Command, Output, Stdio};

fn protected_notes(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_protected-notes"));
    command.env_remove("ISSUER").env_remove("RESOURCE").envs(environment.iter().copied());
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn wrong_environment_is_reported() {
    let (issuer, resource) = (("ISSUER", "https://auth.example.com"), ("RESOURCE", "https://mcp.example.com/mcp"));
    for (environment, expected) in [
        (&[][..], "set ISSUER in the environment: the URL of the authorization server"),
        (&[issuer], "set RESOURCE in the environment: the URL people type"),
        (&[("ISSUER", ""), resource], "set ISSUER"),
        (&[("ISSUER", "auth.example.com"), resource], "not an https URL"),
        (&[issuer, ("RESOURCE", "mcp.example.com/mcp")], "write `https://mcp.example.com/mcp`"),
        (&[issuer, ("RESOURCE", "http://mcp.example.com/mcp")], "not https"),
    ] {
        let output = protected_notes(&["http", "127.0.0.1:0"], environment);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{environment:?}: {said}");
    }
}

#[test]
fn command_line_needs_no_token() {
    let output = protected_notes(&["call", "write_note", "id=shopping", "text=milk"], &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim_end(), "wrote note shopping, to be read at note://shopping", "{output:?}");
}
