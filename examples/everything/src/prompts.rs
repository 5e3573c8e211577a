//! Prompts of every kind.

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::{PromptMessage, ResourceContents};

use crate::content::PNG;

/// A simple prompt.
#[prompt]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

fn values(typed: &str) -> Vec<String> {
    ["testValue1", "testValue2"].into_iter().filter(|value| value.starts_with(typed)).map(str::to_owned).collect()
}

/// A prompt with two arguments.
#[prompt]
fn test_prompt_with_arguments(
    /// The first.
    #[arg(complete = values)]
    arg1: String,
    /// The second.
    arg2: String,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

/// A prompt with a resource in it.
#[prompt]
fn test_prompt_with_embedded_resource(
    /// The URI of the resource.
    #[arg(rename = "resourceUri")]
    resource_uri: String,
) -> [PromptMessage; 2] {
    let contents = ResourceContents::text("Embedded resource content for testing.").with_uri(resource_uri);
    [
        PromptMessage::user(Content::resource(contents.with_mime("text/plain"))),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

/// A prompt with an image in it.
#[prompt]
fn test_prompt_with_image() -> [PromptMessage; 2] {
    [PromptMessage::user(Content::image(PNG, "image/png")), PromptMessage::user("Please analyze the image above.")]
}

pub fn prompts() -> [Prompt; 4] {
    prompts![test_simple_prompt, test_prompt_with_arguments, test_prompt_with_embedded_resource, test_prompt_with_image,]
}
