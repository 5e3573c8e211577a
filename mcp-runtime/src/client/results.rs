//! Typed responses, for assertions.

use base64::Engine as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Result, ServerError};
use crate::protocol::Role;

/// The result of a tool call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallResponse {
    content: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structured_content: Option<Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
    #[serde(rename = "_meta", default, skip_serializing_if = "Value::is_null")]
    meta: Value,
}

impl CallResponse {
    /// The structured result, as received.
    #[cfg(feature = "cli")]
    pub(crate) fn structured_content(&self) -> Option<&Value> {
        self.structured_content.as_ref()
    }

    /// The text blocks, joined by newlines.
    pub fn text(&self) -> String {
        texts(&self.content)
    }

    /// The content blocks, as received.
    pub fn content(&self) -> &[Value] {
        &self.content
    }

    /// The structured result, deserialized. Revisions before 2025-06-18 have none, and before 2026-07-28
    /// it must be an object; in these cases the [text](Self::text) is the JSON.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, ServerError> {
        let missing = || ServerError::msg("the result has no structured content; older revisions send it as text only");
        let value = self.structured_content.clone().ok_or_else(missing)?;
        Ok(serde_json::from_value(value)?)
    }

    /// Whether the tool failed (`isError`).
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The result's `_meta`.
    pub fn meta(&self) -> &Value {
        &self.meta
    }
}

/// The result of `resources/read`.
#[derive(Debug, Clone, Deserialize)]
pub struct ReadResponse {
    contents: Vec<ReadContents>,
}

/// The contents of one resource.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadContents {
    /// The URI of the resource.
    pub uri: String,
    /// The media type, such as `text/plain`.
    pub mime_type: Option<String>,
    /// The text, of text contents.
    pub text: Option<String>,
    /// The bytes in base64, of binary contents.
    pub blob: Option<String>,
}

impl ReadResponse {
    /// The contents, as received.
    pub fn contents(&self) -> &[ReadContents] {
        &self.contents
    }

    /// The text of the contents, joined by newlines.
    pub fn text(&self) -> String {
        self.contents.iter().filter_map(|contents| contents.text.as_deref()).collect::<Vec<_>>().join("\n")
    }

    /// The decoded bytes of the first binary contents; an error if all are text.
    pub fn bytes(&self) -> Result<Vec<u8>, ServerError> {
        let blob = self.contents.iter().find_map(|contents| contents.blob.as_deref());
        let blob = blob.ok_or_else(|| ServerError::msg("the contents are not binary"))?;
        let decoded = base64::engine::general_purpose::STANDARD.decode(blob);
        decoded.map_err(|error| ServerError::msg(error.to_string()))
    }
}

/// The result of `prompts/get`.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct PromptResponse {
    /// The description of this result.
    #[serde(default)]
    pub description: Option<String>,
    messages: Vec<Message>,
}

/// A message of a prompt, as the client received it.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// Who speaks: the user, or the model.
    pub role: Role,
    /// The content block, as received.
    pub content: Value,
}

impl PromptResponse {
    /// The messages, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The texts of the messages, joined by newlines.
    pub fn text(&self) -> String {
        texts(self.messages.iter().map(|message| &message.content))
    }
}

/// The result of `completion/complete`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompletionResponse {
    /// The suggested values, at most 100.
    pub values: Vec<String>,
    /// The number of matching values, if known.
    #[serde(default)]
    pub total: Option<usize>,
    /// Whether there are more values than were sent.
    #[serde(default)]
    pub has_more: bool,
}

fn texts<'a>(blocks: impl IntoIterator<Item = &'a Value>) -> String {
    blocks.into_iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}
