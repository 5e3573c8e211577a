//! Messages of a conversation with the client's model.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::protocol::{Blocks, Content, Meta, Role, ToolResult};

/// A message of a conversation: text, images and audio, or the results of the model's tool calls.
///
/// ```
/// use mcp_runtime::Content;
/// use mcp_runtime::sampling::SampleMessage;
///
/// let picture = Content::image(b"\x89PNG...", "image/png");
/// let message = SampleMessage::user("What is in this picture?").with_content(picture);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SampleMessage {
    pub(crate) role: Role,
    /// The content blocks, in the wire format of the newest revision.
    pub(crate) blocks: Vec<Value>,
}

impl SampleMessage {
    /// A message from the user.
    pub fn user(content: impl Into<Content>) -> Self {
        SampleMessage { role: Role::User, blocks: vec![json!(content.into())] }
    }

    /// A message from the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        SampleMessage { role: Role::Assistant, blocks: vec![json!(content.into())] }
    }

    /// Adds a content block. Clients of revisions with one block per message get several messages.
    pub fn with_content(mut self, content: impl Into<Content>) -> Self {
        self.blocks.push(json!(content.into()));
        self
    }

    /// The model's tool calls. Usually the whole [result](super::SampleResult) is the message instead.
    pub fn tool_use(uses: impl IntoIterator<Item = ToolUse>) -> Self {
        let block = |tool_use: ToolUse| {
            let mut block = json!({"type": "tool_use"});
            merge(&mut block, json!(tool_use));
            block
        };
        SampleMessage { role: Role::Assistant, blocks: uses.into_iter().map(block).collect() }
    }

    /// The results of the model's tool calls, each with the [id](ToolUse::id) of its call.
    ///
    /// ```
    /// use mcp_runtime::sampling::SampleMessage;
    /// use mcp_runtime::ToolResult;
    ///
    /// let message = SampleMessage::tool_results([("call_1", ToolResult::text("18°C"))]);
    /// ```
    pub fn tool_results<I: Into<String>>(results: impl IntoIterator<Item = (I, ToolResult)>) -> Self {
        let blocks = results.into_iter().map(|(id, result)| tool_result(&id.into(), result));
        SampleMessage { role: Role::User, blocks: blocks.collect() }
    }
}

/// A tool call requested by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolUse {
    /// The id the result refers to.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, an object.
    pub input: Value,
    /// Free-form metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl ToolUse {
    /// A call of the tool `name` with these arguments, an object.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: impl Into<Value>) -> Self {
        ToolUse { id: id.into(), name: name.into(), input: input.into(), meta: Meta::new() }
    }

    /// Adds one `_meta` entry.
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }
}

fn tool_result(id: &str, result: ToolResult) -> Value {
    let structured = result.structured;
    let content = match result.content {
        Blocks::Text(text) => vec![Content::text(text)],
        Blocks::Mirror => structured.clone().map(Content::text).into_iter().collect(),
        Blocks::List(list) => list,
    };
    let mut block = json!({"type": "tool_result", "toolUseId": id, "content": content});
    if let Some(value) = structured.and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
        block["structuredContent"] = value;
    }
    if result.is_error {
        block["isError"] = true.into();
    }
    if !result.meta.is_empty() {
        block["_meta"] = result.meta.into_inner().into();
    }
    block
}

fn merge(block: &mut Value, more: Value) {
    if let (Value::Object(block), Value::Object(more)) = (block, more) {
        block.extend(more);
    }
}
