//! Row 31: a completer that does not exist.
use mcp_runtime::prelude::*;

#[prompt]
fn missing(#[arg(complete = titles)] name: String) -> String {
    name
}

#[prompt]
fn method(#[arg(complete = Self::titles)] name: String) -> String {
    name
}

fn main() {
    let _ = prompts![missing, method];
}
