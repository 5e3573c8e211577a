//! Row 46: a function with the name of a primitive type, which its type would hide. The list names it, too.
use mcp_runtime::prelude::*;

#[tool]
fn str(text: String) -> String {
    shorten(&text).to_owned()
}

#[tool]
fn u8(n: u32) -> Result<u32> {
    Ok(u8::try_from(n)?.into())
}

fn shorten(text: &str) -> &str {
    &text[..1]
}

fn main() {
    let _ = tools![u8];
    str(String::new());
}
