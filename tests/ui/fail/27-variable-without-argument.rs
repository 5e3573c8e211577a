//! Row 27: a template's variable that is no argument.
use mcp_runtime::prelude::*;

#[resource("note://{id}")]
fn note() -> String {
    String::new()
}

#[resource("file:///{+path}")]
fn file(ctx: &Context) -> String {
    ctx.request_id().to_owned()
}

fn main() {
    let _ = resources![note, file];
}
