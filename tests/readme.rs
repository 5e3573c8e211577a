//! The README's commands do what it says. Its Rust blocks are doctests of this crate.

use std::io::Write as _;
use std::process::{Command, Stdio};

const README: &str = include_str!("../README.md");

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    README.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// What `cargo` with these arguments answers to `input`.
fn cargo(arguments: &[&str], input: &str) -> String {
    let mut server = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    server.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_server_answers_as_shown() {
    let command = blocks("sh")[0];
    let request = command.split('\'').nth(1).expect("the request is quoted");
    let arguments: Vec<&str> = command.rsplit("| cargo ").next().unwrap().split_whitespace().collect();
    let answer = cargo(&arguments, &format!("{request}\n"));
    assert!(blocks("json").contains(&answer.trim_end()), "the README does not show {answer}");
}

#[test]
fn the_tool_is_listed_as_shown() {
    let requests = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        "\n"
    );
    let answer = cargo(&["run", "-q", "-p", "hello"], requests);
    assert!(answer.contains(blocks("json")[0]), "the README does not show {answer}");
}

#[test]
fn the_hello_of_the_readme_is_the_example() {
    assert_eq!(blocks("rust,no_run")[0].trim(), include_str!("../examples/hello/src/main.rs").trim());
    assert!(include_str!("../examples/hello/src/main.rs").lines().count() <= 12);
}
