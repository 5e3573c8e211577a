//! Row 40: what is asked for is visibly no form.
use mcp_runtime::prelude::*;

#[tool]
async fn text(ctx: &Context) -> Result<String> {
    Ok(ctx.elicit::<String>("Who?").await?)
}

#[tool]
async fn number(ctx: &Context) -> Result<u8> {
    let age: u8 = ctx.elicit("How old?").key("age").await?;
    Ok(age)
}

#[tool]
async fn perhaps(ctx: &Context) -> Result<String> {
    let name: Option<Name> = ctx.elicit("Who?").await?;
    Ok(name.map(|name| name.name).unwrap_or_default())
}

#[tool]
async fn together(ctx: &Context) -> Result<String> {
    let (both, list) = tokio::join!(ctx.elicit::<(String, u8)>("Who?"), ctx.elicit::<Vec<Name>>("All of them?"));
    Ok(format!("{both:?} {}", list?.len()))
}

#[prompt]
async fn map(ctx: &Context) -> Result<String> {
    let map = match ctx.elicit::<std::collections::HashMap<String, String>>("What?").await {
        Ok(map) => map,
        Err(_) => Default::default(),
    };
    Ok(format!("{map:?}"))
}

#[resource("docs://manual")]
async fn anything(context: &Context) -> Result<String> {
    let value: serde_json::Value = context.elicit("What?").await.map_err(|error| Error::msg(error.to_string()))?;
    Ok(value.to_string())
}

#[tool]
async fn once_is_enough(ctx: &Context) -> Result<bool> {
    let sure: bool = ctx.elicit::<bool>("Sure?").await?;
    let again: bool = ctx.elicit("Sure?").await?;
    let () = ctx.elicit::<()>("Done?").await?;
    Ok(sure && again)
}

/// None of these is a mistake, or not one that can be seen.
#[tool]
async fn other_things(ctx: &Context) -> Result<String> {
    let name: String = ctx.elicit::<Name>("Who?").await?.name;
    let declined: bool = ctx.elicit::<Name>("Who?").await.is_err();
    let name_too: Option<Name> = ctx.elicit("Who?").await.ok();
    Ok(format!("{name} {declined} {}", name_too.is_some()))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

struct Notebook;

#[handlers]
impl Notebook {
    #[tool]
    async fn delete(&self, ctx: &Context) -> Result<bool> {
        if ctx.elicit::<bool>("Sure?").await? {
            return Ok(true);
        }
        Ok(false)
    }
}

fn main() {
    let _ = tools![text, number, perhaps, together, once_is_enough, other_things];
    let _ = (prompts![map], resources![anything]);
    let _ = Server::new("s", "1").mount(Notebook);
}
