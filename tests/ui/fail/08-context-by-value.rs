//! Row 8: `Context` by value.
use mcp_runtime::prelude::*;

#[tool]
fn whoami(ctx: Context) -> String {
    ctx.client_name().unwrap_or_default().to_owned()
}

fn main() {
    let _ = tools![whoami];
}
