//! Row 40: what is asked for is borrowed from nobody. Told twice, for now: rustc sees it, too.
use mcp_runtime::prelude::*;

#[tool]
async fn greet(ctx: &Context) -> Result<String> {
    let name = ctx.elicit::<&str>("Who?").await?;
    Ok(name.to_owned())
}

fn main() {
    let _ = tools![greet];
}
