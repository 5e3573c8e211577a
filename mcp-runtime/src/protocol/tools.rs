//! Tools: their descriptors and their results.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/tools>

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Content, Icon, Meta};

/// What `tools/list` tells of a tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDescriptor {
    /// The name calls use.
    pub name: String,
    /// The name people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Images beside the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// The JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints on what a call may do.
    #[serde(default, skip_serializing_if = "ToolAnnotations::is_empty")]
    pub annotations: ToolAnnotations,
    /// How calls can be made, in 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// Free-form metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

/// How a tool can be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolExecution {
    /// Whether calls become tasks: `optional`, `required`.
    pub task_support: String,
}

/// Hints on what a call of a tool may do. Absent means unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may delete or overwrite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it twice is as good as once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches the world outside the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations {
    fn is_empty(&self) -> bool {
        *self == ToolAnnotations::default()
    }
}

/// The whole result of a tool call, for when text or [`Json`](crate::Json) is not enough.
///
/// ```
/// use mcp_runtime::{Content, ToolResult};
///
/// let result = ToolResult::new([Content::text("done")]).with_meta("example.com/cost", 3);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ToolResult {
    pub(crate) content: Blocks,
    /// The structured result as JSON text, written once and sent as it is.
    pub(crate) structured: Option<String>,
    pub(crate) is_error: bool,
    pub(crate) meta: Meta,
}

/// The content of a result: most results are one text, which needs no list.
#[derive(Debug, Clone)]
pub(crate) enum Blocks {
    Text(String),
    /// The structured result itself, mirrored as text.
    Mirror,
    List(Vec<Content>),
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks::List(Vec::new())
    }
}

impl ToolResult {
    /// A result of these content blocks.
    pub fn new(content: impl IntoIterator<Item = Content>) -> Self {
        ToolResult { content: Blocks::List(content.into_iter().collect()), ..Self::default() }
    }

    /// A result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        ToolResult { content: Blocks::Text(text.into()), ..Self::default() }
    }

    /// A failure, with a text that tells the model what to do about it.
    pub fn error(text: impl Into<String>) -> Self {
        ToolResult { is_error: true, ..Self::text(text) }
    }

    /// Sets the structured result; a result without content of its own gets it as text, too. An error
    /// if the value cannot be JSON, for a key that is no text, or for a number that is not finite.
    pub fn with_structured(mut self, value: &impl Serialize) -> crate::Result<Self> {
        self.structured = Some(crate::handler::output::to_json(value)?);
        if matches!(&self.content, Blocks::List(list) if list.is_empty()) {
            self.content = Blocks::Mirror;
        }
        Ok(self)
    }

    /// Marks the result as a failure, or not.
    pub fn with_error(mut self, is_error: bool) -> Self {
        self.is_error = is_error;
        self
    }

    /// Adds one `_meta` entry.
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }
}
