//! Row 44: `impl Trait` as a return type.
use std::fmt::Display;

use mcp_runtime::prelude::*;

#[tool]
fn shown() -> impl Display {
    "shown"
}

#[tool]
async fn later() -> impl Display {
    "later"
}

#[tool]
fn several() -> Result<impl Iterator<Item = String>> {
    Ok(std::iter::empty())
}

#[prompt]
fn prompt() -> Option<impl ToString> {
    Some(1)
}

#[resource("note://one", blocking)]
fn contents() -> impl AsRef<[u8]> {
    "bytes"
}

fn main() {
    let _ = (tools![shown, later, several], prompts![prompt], resources![contents]);
}
