//! Progress: a report that nobody awaits.
#![deny(unused_must_use)]
use mcp_runtime::prelude::*;

#[tool]
fn import(ctx: &Context) {
    ctx.progress(1, 2);
}

fn main() {
    let _ = tools![import];
}
