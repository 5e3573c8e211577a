//! Row 8: `&mut Context`.
use mcp_runtime::prelude::*;

#[tool]
fn whoami(ctx: &mut Context) -> String {
    ctx.client_name().unwrap_or_default().to_owned()
}

fn main() {
    let _ = tools![whoami];
}
