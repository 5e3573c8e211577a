//! Row 9: two `&Context`.
use mcp_runtime::prelude::*;

#[tool]
fn whoami(ctx: &Context, name: String, again: &Context, third: &Context) -> String {
    format!("{name} {:?} {:?} {:?}", ctx.client_name(), again.client_name(), third.client_name())
}

fn main() {
    let _ = tools![whoami];
}
