//! The result of a sampling request.

use serde::Deserialize;
use serde_json::Value;

use super::message::{SampleMessage, ToolUse};
use crate::jsonrpc::error::without_position;
use crate::protocol::Role;

/// The message the client's model generated. It converts into a [`SampleMessage`] to continue the
/// conversation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SampleResult {
    /// The author, usually the assistant.
    pub role: Role,
    /// The name of the model.
    pub model: String,
    /// Why generation stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a provider's own term.
    pub stop_reason: Option<String>,
    content: Vec<Value>,
    tool_uses: Vec<ToolUse>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    role: Role,
    model: String,
    content: Value,
    #[serde(default)]
    stop_reason: Option<String>,
}

impl SampleResult {
    /// The text blocks, joined by newlines.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The content blocks, unparsed.
    pub fn content(&self) -> &[Value] {
        &self.content
    }

    /// The tool calls the model requests.
    pub fn tool_uses(&self) -> &[ToolUse] {
        &self.tool_uses
    }

    /// Parses a result. Its content is one block, or from 2025-11-25 also a list.
    pub(crate) fn read(result: &Value) -> Result<SampleResult, String> {
        let wrong = |why: String| format!("the client's answer to sampling/createMessage is not valid: {why}");
        let wire = Wire::deserialize(result).map_err(|error| wrong(without_position(&error)))?;
        let content = match wire.content {
            Value::Array(blocks) => blocks,
            block => vec![block],
        };
        let mut tool_uses = Vec::new();
        for block in &content {
            tool_uses.extend(check(block).map_err(wrong)?);
        }
        Ok(SampleResult { role: wire.role, model: wire.model, stop_reason: wire.stop_reason, content, tool_uses })
    }
}

/// Validates a block, and parses it if it is a tool call.
fn check(block: &Value) -> Result<Option<ToolUse>, String> {
    let needs = |members: &[&str]| match members.iter().find(|member| !block[**member].is_string()) {
        Some(member) => Err(format!("a content block has no string `{member}`")),
        None => Ok(None),
    };
    match block["type"].as_str() {
        Some("text") => needs(&["text"]),
        Some("image" | "audio") => needs(&["data", "mimeType"]),
        Some("tool_use") => {
            let tool_use = ToolUse::deserialize(block).map_err(|error| without_position(&error))?;
            if !tool_use.input.is_object() {
                return Err("the `input` of a `tool_use` block is not an object".into());
            }
            Ok(Some(tool_use))
        }
        Some(other) => Err(format!("a content block has the unexpected type `{other}`")),
        None => Err("a content block has no `type`".into()),
    }
}

impl From<SampleResult> for SampleMessage {
    fn from(answer: SampleResult) -> Self {
        SampleMessage { role: answer.role, blocks: answer.content }
    }
}

impl From<&SampleResult> for SampleMessage {
    fn from(answer: &SampleResult) -> Self {
        answer.clone().into()
    }
}
