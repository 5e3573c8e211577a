//! Row 40: what is asked for has no schema; said once, where it is asked for.
use mcp_runtime::prelude::*;

#[derive(serde::Deserialize)]
struct Name {
    name: String,
}

#[tool]
async fn greet(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who?").await?;
    Ok(name)
}

fn main() {
    let _ = tools![greet];
}
