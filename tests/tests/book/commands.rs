//! Commands of the book that need a program of the book: those of `prompts.md`, of `first-tool.md` and of `deploying.md`.

use std::net::SocketAddr;
use std::process::{Command, ExitCode, Stdio};

use mcp_runtime::prelude::*;
use mcp_tests::process::Process;

use crate::child::{Place, Program, command};

/// The checks of this file that run the commands of a page, and no block of Rust.
pub(crate) const NAMES: [&str; 1] = ["prompts_commands"];

pub(crate) fn over_stdio() {
    let mut server = Process::of(&mut command("first_tool_1", &[]));
    server.initialize("2025-11-25");
    server.call(1, "add", &json!({"a": 2, "b": 3}));
    assert_eq!(server.text(1), "5");
    server.finish();
}

/// The blocks of a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("\n```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// The prompt of the first block of `prompts.md`.
#[allow(unused_imports, reason = "the block goes on with a test")]
mod writing {
    include!("review.rs");

    pub(super) fn server() -> Server {
        Server::new("writing", "1.0.0").prompts(prompts![review])
    }
}

/// The command line of a server with that prompt.
#[tokio::main]
pub(crate) async fn serve_prompts() -> ExitCode {
    writing::server().run().await
}

pub(crate) async fn prompts() {
    let page = include_str!("../../../docs/book/prompts.md");
    let shown = blocks(page, "rust")[0].split("\n#[tokio::main]").next().unwrap();
    assert_eq!(shown.trim(), include_str!("review.rs").trim(), "write the prompt of prompts.md to review.rs");

    let place = Place::new("prompts");
    std::fs::write(place.file("draft.md"), "It was.\n").unwrap();
    let lines: Vec<&str> = blocks(page, "sh")[0].lines().collect();
    let printed =
        ["review", "Review this text with at most 3 suggestions. Begin with what is good.\n\nIt was.", "blunt"];
    assert_eq!(lines.len(), printed.len());
    for (line, printed) in lines.into_iter().zip(printed) {
        let arguments = line.strip_prefix("cargo run -- ").unwrap().split('#').next().unwrap().split_whitespace();
        let mut command = command("prompts", &[]);
        let program = Program::of(command.args(arguments).current_dir(&place.0).stdin(Stdio::null()));
        let (succeeded, (out, log)) = program.ended().await;
        assert!(succeeded && out.contains(printed), "{line}: {out}{log}");
    }
}

/// The command of `deploying.md` that asks a server itself; those of `cargo mcp` are run by its own tests.
pub(crate) fn check_deployment(address: SocketAddr) {
    let page = include_str!("../../../docs/book/deploying.md");
    let lines = blocks(page, "console")[0].lines().filter_map(|line| line.strip_prefix("$ "));
    let commands: Vec<&str> = lines.filter(|line| !line.starts_with("cargo mcp ")).collect();
    assert_eq!(commands.len(), 1, "{commands:?}");
    let command = commands[0].replace("127.0.0.1:8080", &address.to_string());
    assert_ne!(command, commands[0]);
    let done = Command::new("sh").args(["-euc", &command]).stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{command}: {done:?}");
}
