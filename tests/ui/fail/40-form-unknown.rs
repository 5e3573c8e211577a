//! Row 40: what is asked for is not there. Told twice in a function, for now: rustc has a hint to give
//! in only one of the places.
use mcp_runtime::prelude::*;

#[tool]
async fn greet(ctx: &Context) -> Result<String> {
    let name = ctx.elicit::<Name>("Who?").await?;
    Ok(name.name)
}

struct Notebook;

#[handlers]
impl Notebook {
    #[tool]
    async fn named(&self, ctx: &Context) -> Result<String> {
        let name: Name = ctx.elicit("Who?").await?;
        Ok(name.name)
    }

    #[tool]
    async fn taken_apart(&self, ctx: &Context) -> Result<String> {
        let Name { name } = ctx.elicit("Who?").await?;
        Ok(name)
    }
}

fn main() {
    let _ = tools![greet];
    let _ = Server::new("s", "1").mount(Notebook);
}
