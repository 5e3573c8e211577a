//! What a server answered, as a test looks at it.

use base64::Engine as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Result, ServerError};
use crate::protocol::Role;

/// What a tool answered.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallResponse {
    content: Vec<Value>,
    #[serde(default)]
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

impl CallResponse {
    /// The text blocks, joined by newlines.
    pub fn text(&self) -> String {
        texts(&self.content)
    }

    /// The content blocks as they came.
    pub fn content(&self) -> &[Value] {
        &self.content
    }

    /// The structured result, read as a `T`. Revisions before 2025-06-18 have none, and until
    /// 2026-07-28 it must be an object: there the [text](Self::text) is the JSON.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, ServerError> {
        let missing = || ServerError::msg("the result has no structured content; older revisions have it as text only");
        let value = self.structured_content.clone().ok_or_else(missing)?;
        Ok(serde_json::from_value(value)?)
    }

    /// Whether the tool failed.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The result's `_meta`.
    pub fn meta(&self) -> &Value {
        &self.meta
    }
}

/// What a read answered.
#[derive(Debug, Clone, Deserialize)]
pub struct ReadResponse {
    contents: Vec<ReadContents>,
}

/// One of the contents of a read.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadContents {
    /// Where it is.
    pub uri: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its text, if it is text.
    pub text: Option<String>,
    /// Its bytes in base64, if it is not.
    pub blob: Option<String>,
}

impl ReadResponse {
    /// The contents as they came.
    pub fn contents(&self) -> &[ReadContents] {
        &self.contents
    }

    /// The text of the contents, joined by newlines.
    pub fn text(&self) -> String {
        self.contents.iter().filter_map(|contents| contents.text.as_deref()).collect::<Vec<_>>().join("\n")
    }

    /// The bytes of the first binary contents.
    pub fn bytes(&self) -> Result<Vec<u8>, ServerError> {
        let blob = self.contents.iter().find_map(|contents| contents.blob.as_deref());
        let blob = blob.ok_or_else(|| ServerError::msg("the contents are not binary"))?;
        let decoded = base64::engine::general_purpose::STANDARD.decode(blob);
        decoded.map_err(|error| ServerError::msg(error.to_string()))
    }
}

/// What a prompt answered.
#[derive(Debug, Clone, Deserialize)]
pub struct PromptResponse {
    /// What this particular prompt is.
    #[serde(default)]
    pub description: Option<String>,
    messages: Vec<Message>,
}

/// One message of a prompt.
#[derive(Debug, Clone, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// The content block as it came.
    pub content: Value,
}

impl PromptResponse {
    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The texts of the messages, joined by newlines.
    pub fn text(&self) -> String {
        texts(self.messages.iter().map(|message| &message.content))
    }
}

/// What completes an argument.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompletionResponse {
    /// The values, at most a hundred.
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(default)]
    pub total: Option<usize>,
    /// Whether there are more than were sent.
    #[serde(default)]
    pub has_more: bool,
}

fn texts<'a>(blocks: impl IntoIterator<Item = &'a Value>) -> String {
    blocks.into_iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}
