//! Pages that make a server: their commands print what they show.

use std::path::Path;

use super::Scratch;

/// A page that makes a server, step by step.
enum Step {
    /// A command of a transcript, with the lines shown of its output. `…` stands for anything.
    Run(String, Vec<String>),
    /// A handler for `src/lib.rs`.
    Add(String),
    /// A test for `tests/server.rs`.
    Test(String),
}

fn steps(page: &str) -> Vec<Step> {
    let blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let mut steps = Vec::new();
    for (language, block) in blocks.skip_while(|(_, block)| !block.starts_with("$ cargo mcp new")) {
        if language == "console" {
            let commands = block.split("$ ").skip(1).map(|command| command.split_once('\n').unwrap());
            steps.extend(
                commands.map(|(line, shown)| Step::Run(line.to_owned(), shown.lines().map(str::to_owned).collect())),
            );
        } else if language == "rust" && !block.contains("fn main") {
            // `src/lib.rs` has that line already; other blocks without a `main` have more of their own
            steps.extend(
                block.strip_prefix("use mcp_runtime::prelude::*;\n").map(|handler| Step::Add(handler.to_owned())),
            );
        } else if language == "rust,ignore" && block.starts_with("#[tokio::test]") {
            steps.push(Step::Test(block.to_owned()));
        }
    }
    steps
}

/// Whether a line has the pieces around each `…`, in order.
fn matches(line: &str, shown: &str) -> bool {
    let mut pieces = shown.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.is_empty() || shown.ends_with('…')
}

/// Runs a line of a transcript in a shell, in the new crate unless it makes it. It fails if an error is shown.
fn run_shown(scratch: &Scratch, line: &str, shown: &[String]) {
    let bin = Path::new(env!("CARGO_BIN_EXE_cargo-mcp")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut shell = scratch.building("sh");
    if !line.starts_with("cargo mcp new") {
        shell.current_dir(scratch.0.join("demo"));
    }
    let merged = format!("exec 2>&1\n{line}");
    shell.args(["-euc", &merged]).env("PATH", &path).env("HOME", &scratch.0).stdin(std::process::Stdio::null());
    for kept in ["CARGO_HOME", "RUSTUP_HOME"] {
        let default = format!("{}/.{}", std::env::var("HOME").unwrap(), kept.to_lowercase().replace("_home", ""));
        shell.env(kept, std::env::var(kept).unwrap_or(default));
    }
    let done = shell.output().unwrap();
    let output = String::from_utf8_lossy(&done.stdout);
    let fails = shown.iter().any(|shown| shown.starts_with("error: "));
    assert_eq!(done.status.success(), !fails, "{line}: {output}");
    let mut lines = output.lines();
    for shown in shown.iter().filter(|shown| *shown != "…") {
        assert!(lines.any(|line| matches(line, shown)), "{line} does not print `{shown}`:\n{output}");
    }
}

/// One after the other: all make a `demo`, in one target directory.
#[test]
fn transcripts_are_what_happens() {
    for (name, page, least) in [
        ("readme", include_str!("../../../README.md"), 4),
        ("first-tool", include_str!("../../../docs/book/first-tool.md"), 4),
        ("cargo-mcp", include_str!("../../../docs/book/cargo-mcp.md"), 1),
    ] {
        let scratch = Scratch::new(name);
        let steps = steps(page);
        assert!(steps.len() >= least, "{name}");
        for step in steps {
            match step {
                Step::Run(line, shown) => run_shown(&scratch, &line, &shown),
                Step::Add(handler) => {
                    let listed = page.split_once("list it in `server()`: `").unwrap().1.split('`').next().unwrap();
                    let library = scratch.read("demo/src/lib.rs") + &handler;
                    assert!(library.contains(".tools(tools![add, count_words])"), "{library}");
                    scratch.write("demo/src/lib.rs", &library.replace(".tools(tools![add, count_words])", listed));
                }
                Step::Test(test) => {
                    let tests = scratch.read("demo/tests/server.rs") + "\n" + &test;
                    scratch.write("demo/tests/server.rs", &tests);
                }
            }
        }
    }
}
