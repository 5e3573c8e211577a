//! A number as the code of an error.
use mcp_runtime::prelude::*;

enum Code {
    Quota,
}

#[tool]
fn number() -> Result<String> {
    Err(Error::application(4001, "no questions left today"))
}

#[tool]
fn own() -> Result<String> {
    Err(Error::application(Code::Quota, "no questions left today"))
}

fn main() {
    let _ = tools![number, own];
}
