//! Tools: their descriptors and their results.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/tools>

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Content, ContentKind, Icon, Meta, ResultMeta};

/// A tool, as `tools/list` describes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDescriptor {
    /// The name calls use.
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Icons to show beside the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// The JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints about the effects of a call.
    #[serde(default, skip_serializing_if = "ToolAnnotations::is_empty")]
    pub annotations: ToolAnnotations,
    /// How the tool can be called, in 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// Free-form metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl ToolDescriptor {
    /// A tool with this name, and the JSON Schema of its arguments.
    ///
    /// Handlers describe themselves. A descriptor of your own is for sampling, where the client's model
    /// may use tools the server does not list: see
    /// [`SampleRequest::tools`](crate::sampling::SampleRequest::tools).
    pub fn new(name: impl Into<String>, input_schema: impl Into<Value>) -> Self {
        ToolDescriptor {
            name: name.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: ToolAnnotations::default(),
            execution: None,
            meta: Meta::new(),
        }
    }

    /// Sets the display name.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets what the tool does, for the model.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

/// How a tool can be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolExecution {
    /// Whether calls become tasks: `optional`, `required` or `forbidden`.
    pub task_support: String,
}

/// Hints about the effects of a tool call. An absent hint means unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// The tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may delete or overwrite data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Repeating a call with the same arguments has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool reaches systems outside the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations {
    fn is_empty(&self) -> bool {
        *self == ToolAnnotations::default()
    }
}

/// The complete result of a tool call, for when text or [`Json`](crate::Json) is not enough.
///
/// ```
/// use mcp_runtime::{Content, ToolResult};
///
/// let result = ToolResult::new([Content::text("done")]).with_meta("example.com/cost", 3);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ToolResult {
    pub(crate) content: Blocks,
    /// The structured result as JSON text, serialized once and sent verbatim.
    pub(crate) structured: Option<String>,
    pub(crate) is_error: bool,
    pub(crate) meta: ResultMeta,
}

/// The content of a result. Most results are one text, which needs no `Vec`.
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
    /// A result with these content blocks.
    pub fn new(content: impl IntoIterator<Item = Content>) -> Self {
        ToolResult { content: Blocks::List(content.into_iter().collect()), ..Self::default() }
    }

    /// A result with one text block.
    pub fn text(text: impl Into<String>) -> Self {
        ToolResult { content: Blocks::Text(text.into()), ..Self::default() }
    }

    /// A failed result (`isError: true`). The text should tell the model what to do about it.
    pub fn error(text: impl Into<String>) -> Self {
        ToolResult { is_error: true, ..Self::text(text) }
    }

    /// The texts of its content blocks. Structured content without blocks of its own is its text.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (one, list): (Option<&str>, &[Content]) = match &self.content {
            Blocks::Text(text) => (Some(text), &[]),
            Blocks::Mirror => (self.structured.as_deref(), &[]),
            Blocks::List(list) => (None, list),
        };
        one.into_iter().chain(list.iter().filter_map(Content::as_text))
    }

    /// The text of a result that is nothing but one text, to be changed in place.
    pub(crate) fn only_text_mut(&mut self) -> Option<&mut String> {
        match &mut self.content {
            Blocks::Text(text) => Some(text),
            Blocks::List(list) if list.len() == 1 => match &mut list[0].kind {
                ContentKind::Text(text) => Some(text),
                _ => None,
            },
            Blocks::Mirror | Blocks::List(_) => None,
        }
    }

    /// The structured result, as JSON text.
    pub fn structured(&self) -> Option<&str> {
        self.structured.as_deref()
    }

    /// Whether the call failed (`isError`).
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Sets the structured result. A result without content blocks also gets it as text.
    ///
    /// # Errors
    ///
    /// If JSON cannot represent the value: a map key is not a string, or a number is not finite.
    pub fn with_structured(mut self, value: &impl Serialize) -> crate::Result<Self> {
        self.structured = Some(crate::handler::output::to_json(value)?);
        if matches!(&self.content, Blocks::List(list) if list.is_empty()) {
            self.content = Blocks::Mirror;
        }
        Ok(self)
    }

    /// Sets whether the call failed (`isError`).
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
