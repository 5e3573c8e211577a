//! Row 13: an error type that is no error.
use mcp_runtime::prelude::*;

#[derive(Debug)]
struct Failed;

#[tool]
fn sync() -> Result<String, Failed> {
    Err(Failed)
}

#[tool]
async fn later() -> Result<String, Failed> {
    Err(Failed)
}

#[prompt]
fn message() -> Result<String, Failed> {
    Err(Failed)
}

#[resource("note://all")]
fn contents() -> Result<String, Failed> {
    Err(Failed)
}

fn main() {
    let _ = (tools![sync, later], prompts![message], resources![contents]);
}
