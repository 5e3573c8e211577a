//! Prompts: their descriptors, arguments and messages.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/prompts>

use serde::{Deserialize, Serialize};

use super::{Content, Icon, Meta, ResultMeta, Role};

/// A prompt, as `prompts/list` describes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptDescriptor {
    /// The name requests use.
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the prompt does, for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Icons to show beside the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// The arguments, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// Free-form metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

/// An argument of a prompt. Its value is text on the wire.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name requests use.
    pub name: String,
    /// What the argument is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the argument is required.
    #[serde(default)]
    pub required: bool,
}

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// Who speaks: the user, or the model.
    pub role: Role,
    /// What is said: text, an image, audio or a resource.
    pub content: Content,
}

impl PromptMessage {
    /// A message from the user.
    pub fn user(content: impl Into<Content>) -> Self {
        PromptMessage { role: Role::User, content: content.into() }
    }

    /// A message from the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        PromptMessage { role: Role::Assistant, content: content.into() }
    }
}

/// The complete result of `prompts/get`, for handlers that set more than messages.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::protocol::{PromptMessage, PromptResult};
///
/// /// Ask for a review.
/// #[prompt]
/// fn review(language: String, code: String) -> PromptResult {
///     PromptResult::new([PromptMessage::user(format!("Review this:\n{code}"))])
///         .with_description(format!("A review of {language} code"))
/// }
///
/// assert_eq!(review("Rust".into(), "fn main() {}".into()).messages().len(), 1);
/// ```
#[derive(Debug, Clone, Default)]
pub struct PromptResult {
    pub(crate) description: Option<String>,
    pub(crate) messages: Vec<PromptMessage>,
    pub(crate) meta: ResultMeta,
}

impl PromptResult {
    /// A prompt with these messages.
    pub fn new(messages: impl IntoIterator<Item = PromptMessage>) -> Self {
        PromptResult { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// The messages.
    pub fn messages(&self) -> &[PromptMessage] {
        &self.messages
    }

    /// Sets the description of this result, which may be more specific than the prompt's.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds one `_meta` entry.
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }
}
