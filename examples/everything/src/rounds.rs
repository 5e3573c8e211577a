//! Tools and a prompt that need input from the client before they can return.
//!
//! A client of 2026-07-28 sees rounds: the result of its call is a list of questions, and it calls again with
//! the answers. The handler then runs from the top, and the lines that asked have their answers. Answers and
//! results of earlier rounds travel with the call, sealed, so the server keeps no state.

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::Root;
use mcp_runtime::sampling::SampleRequest;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub struct Name {
    /// Your name.
    pub name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Colour {
    /// The colour you like best.
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Whether to continue.
    ok: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    /// What the prompt is about.
    context: String,
}

fn capital_of_france() -> SampleRequest {
    SampleRequest::from("What is the capital of France?").max_tokens(100)
}

fn listed(roots: &[Root]) -> String {
    roots.iter().map(|root| root.name.as_deref().unwrap_or(&root.uri)).collect::<Vec<_>>().join(", ")
}

/// Asks for a name. The question has a key, so a client can answer it in the first call.
#[tool]
async fn test_input_required_result_elicitation(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("What is your name?").key("user_name").await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks the client's model.
#[tool]
async fn test_input_required_result_sampling(ctx: &Context) -> Result<String> {
    Ok(ctx.sample(capital_of_france()).await?.text())
}

/// Asks which directories the client works in.
#[tool]
async fn test_input_required_result_list_roots(ctx: &Context) -> Result<String> {
    Ok(format!("You work in {}", listed(&ctx.list_roots().await?)))
}

/// Runs a side effect, then asks. It runs once: in the next round `once` returns the stored result.
#[tool]
async fn test_input_required_result_request_state(ctx: &Context) -> Result<String> {
    let state = ctx.once("prepare", async { Ok("state-ok".to_owned()) }).await?;
    let Confirm { ok } = ctx.elicit("Shall we go on?").await?;
    Ok(if ok { state } else { "nothing done".to_owned() })
}

/// Asks three questions at once, in one round.
#[tool]
async fn test_input_required_result_multiple_inputs(ctx: &Context) -> Result<String> {
    let name = ctx.elicit::<Name>("What is your name?").key("user_name");
    let greeting = ctx.sample(SampleRequest::from("Say hello").max_tokens(50)).key("greeting");
    let roots = ctx.list_roots().key("client_roots");
    let (name, greeting, roots) = tokio::try_join!(name, greeting, roots)?;
    Ok(format!("{} {}, in {}", greeting.text(), name.name, listed(&roots)))
}

/// Asks two questions in sequence, in two rounds: the second depends on the first answer.
#[tool]
async fn test_input_required_result_multi_round(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Step 1: What is your name?").key("step1").await?;
    let Colour { color } = ctx.elicit(format!("Step 2: What colour do you like, {name}?")).key("step2").await?;
    Ok(format!("{name} likes {color}"))
}

/// Asks for a confirmation. The server itself rejects a client that tampered with the state; the tool need
/// not check.
#[tool]
async fn test_input_required_result_tampered_state(ctx: &Context) -> Result<&'static str> {
    let Confirm { ok } = ctx.elicit("Please confirm").key("confirm").await?;
    Ok(if ok { "confirmed" } else { "not confirmed" })
}

/// Asks the user, or the model if the client cannot ask the user.
#[tool]
async fn test_input_required_result_capabilities(ctx: &Context) -> Result<String> {
    if ctx.can_elicit() {
        let Name { name } = ctx.elicit("What is your name?").await?;
        Ok(format!("The user is {name}"))
    } else if ctx.can_sample() {
        Ok(format!("The model says {}", ctx.sample(capital_of_france()).await?.text()))
    } else {
        Ok("There is nobody to ask".to_owned())
    }
}

/// Asks while its response could be a stream. Since 2026-07-28 a stream carries no requests from the server.
#[tool]
async fn test_streaming_elicitation(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("What is your name?").await?;
    Ok(format!("Hello, {name}!"))
}

/// Requires sampling: other clients get an error before it runs.
#[tool(requires(sampling))]
async fn test_missing_capability(ctx: &Context) -> Result<String> {
    Ok(ctx.sample(capital_of_france()).await?.text())
}

/// Asks for a topic. Prompts and resources can ask as tools do.
#[prompt]
async fn test_input_required_result_prompt(ctx: &Context) -> Result<String> {
    let Topic { context } = ctx.elicit("What is this about?").key("user_context").await?;
    Ok(format!("Use the following context: {context}"))
}

pub fn tools() -> [Tool; 10] {
    tools![
        test_input_required_result_elicitation,
        test_input_required_result_sampling,
        test_input_required_result_list_roots,
        test_input_required_result_request_state,
        test_input_required_result_multiple_inputs,
        test_input_required_result_multi_round,
        test_input_required_result_tampered_state,
        test_input_required_result_capabilities,
        test_streaming_elicitation,
        test_missing_capability,
    ]
}

pub fn prompts() -> [Prompt; 1] {
    prompts![test_input_required_result_prompt]
}
