//! `add` among `--tools N` others, to show what a longer list costs a call; apart, so that `ours` does not carry them.
#![forbid(unsafe_code)]

mod more;

use mcp_runtime::prelude::*;

/// Add two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    Server::new("bench", "1").tools(tools![add]).tools(more::tools(wanted())).serve_stdio().await
}

/// The number of other tools, from the command line.
fn wanted() -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--tools").skip(1);
    arguments.next().map_or(0, |count| count.parse().expect("`--tools` takes a number"))
}
