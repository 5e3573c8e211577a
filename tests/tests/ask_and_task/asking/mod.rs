//! Asking the client, on the wire: in sessions a request of the server's, since 2026-07-28 a round.

mod copies;
mod dialogues;
mod hostile;
mod misuse;
mod requires;
mod rounds;
mod sessions;

use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::ask::AskError;
use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    /// What should we call you?
    name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Age {
    #[schemars(range(min = 0, max = 150))]
    age: u8,
}

/// Greet the user by name.
#[tool]
async fn greet(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who is there?").await?;
    Ok(format!("Hello, {name}!"))
}

/// Ask for a name, and then for an age.
#[tool]
async fn introduce(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who is there?").key("name").await?;
    let Age { age } = ctx.elicit(format!("How old are you, {name}?")).await?;
    Ok(format!("{name} is {age}"))
}

/// Ask for both at once.
#[tool]
async fn at_once(ctx: &Context) -> Result<String> {
    let (name, age) = tokio::join!(ctx.elicit::<Name>("Who?"), ctx.elicit::<Age>("How old?"));
    Ok(format!("{} is {}", name?.name, age?.age))
}

static EFFECTS: AtomicUsize = AtomicUsize::new(0);

/// Count something once, and ask around it.
#[tool]
async fn effect(ctx: &Context) -> Result<String> {
    let count = ctx
        .once("count", async {
            tokio::task::yield_now().await;
            Ok(EFFECTS.fetch_add(1, Ordering::SeqCst) + 1)
        })
        .await?;
    let Name { name } = ctx.elicit("Who?").await?;
    Ok(format!("{name}: {count}"))
}

/// Tell what became of the question.
#[tool]
async fn outcome(ctx: &Context) -> String {
    match ctx.elicit::<Name>("Who?").await {
        Ok(Name { name }) => format!("it is {name}"),
        Err(AskError::Declined) => "declined".into(),
        Err(AskError::Cancelled) => "cancelled".into(),
        Err(other) => format!("other: {other}"),
    }
}

/// Ask, with two questions under one key.
#[tool]
async fn same_key(ctx: &Context) -> Result<()> {
    let _: Name = ctx.elicit("Who?").key("x").await?;
    let _: Age = ctx.elicit("How old?").key("x").await?;
    Ok(())
}

/// Ask something else every time.
#[tool]
async fn fickle(ctx: &Context) -> Result<String> {
    static ROUND: AtomicUsize = AtomicUsize::new(0);
    let round = ROUND.fetch_add(1, Ordering::SeqCst);
    let Name { name } = ctx.elicit(format!("Question {round}?")).await?;
    Ok(name)
}

fn server() -> Server {
    Server::new("asker", "1.0.0").tools(tools![greet, introduce, at_once, effect, outcome, same_key, fickle])
}
