//! Tools that ask the client while they run: its user, with a form or a page to visit, and its model.
//!
//! The tools do not depend on the revision. A client with a session gets a request and responds to it; a
//! client without gets the questions as the result of its call, and calls again with the answers.

use mcp_runtime::ask::AskError;
use mcp_runtime::prelude::*;
use mcp_runtime::sampling::SampleRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A form is a struct. Its fields are the questions, and their doc comments the labels.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Contact {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

/// Asks the user for a name and an address.
///
/// Declining is not an error here, so the tool tells it apart from failures.
#[tool]
async fn test_elicitation(
    ctx: &Context,
    /// What the user reads above the form.
    message: String,
) -> Result<String> {
    match ctx.elicit::<Contact>(message).await {
        Ok(contact) => Ok(format!("User response: accept, {}", serde_json::to_string(&contact)?)),
        Err(AskError::Declined) => Ok("User response: decline".to_owned()),
        Err(AskError::Cancelled) => Ok("User response: cancel".to_owned()),
        Err(other) => Err(other.into()),
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Inactive,
    Pending,
}

/// With `#[serde(default)]`, the form is prefilled with the values of `Default`, and no field is required.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Profile {
    name: String,
    age: i32,
    score: f64,
    status: Status,
    verified: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Profile { name: "John Doe".to_owned(), age: 30, score: 95.5, status: Status::Active, verified: true }
    }
}

/// Asks with a prefilled form.
#[tool]
async fn test_elicitation_sep1034_defaults(ctx: &Context) -> Result<String> {
    let profile: Profile = ctx.elicit("Is this you?").await?;
    Ok(format!("Elicitation completed: {}", serde_json::to_string(&profile)?))
}

/// Without docs or titles, the user chooses from the names themselves.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Plain {
    Option1,
    Option2,
    Option3,
}

/// With docs or titles, the user chooses from those.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Titled {
    /// First option
    Value1,
    /// Second option
    Value2,
    #[schemars(title = "Third option")]
    Value3,
}

/// Titles in the form of 2025-06-18. Clients of that revision get it for `Titled`, too; this type sends it
/// to all clients.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(extend("enumNames" = ["Option one", "Option two", "Option three"]))]
enum Legacy {
    Opt1,
    Opt2,
    Opt3,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Choices {
    untitled_single: Plain,
    titled_single: Titled,
    legacy_enum: Legacy,
    untitled_multi: Vec<Plain>,
    titled_multi: Vec<Titled>,
}

/// Asks for a choice of every kind: one or several, with titles or without.
#[tool]
async fn test_elicitation_sep1330_enums(ctx: &Context) -> Result<String> {
    let choices: Choices = ctx.elicit("Please choose").await?;
    Ok(format!("Elicitation completed: {}", serde_json::to_string(&choices)?))
}

/// Asks the user to visit a page, as for secrets, which no form may ask for.
#[tool]
async fn test_elicitation_url(ctx: &Context) -> Result<&'static str> {
    let visit = ctx.elicit_url("Please sign in", "https://example.com/sign-in").await?;
    // Consent does not mean that the user has been there. Here it is complete at once.
    visit.complete().await;
    Ok("signed in")
}

/// Asks the client's model.
#[tool]
async fn test_sampling(
    ctx: &Context,
    /// The prompt for the model.
    prompt: String,
) -> Result<String> {
    let said = ctx.sample(SampleRequest::from(prompt).max_tokens(100)).await?;
    Ok(format!("LLM response: {}", said.text()))
}

pub fn tools() -> [Tool; 5] {
    tools![
        test_elicitation,
        test_elicitation_sep1034_defaults,
        test_elicitation_sep1330_enums,
        test_elicitation_url,
        test_sampling,
    ]
}
