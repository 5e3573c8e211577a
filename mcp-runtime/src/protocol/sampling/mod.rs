//! Sampling: requests to the client's model, and its results.
//! <https://modelcontextprotocol.io/specification/2026-07-28/client/sampling>

mod answer;
mod message;

use serde::Serialize;
use serde_json::Value;

use super::ToolDescriptor;

pub use answer::SampleResult;
pub use message::{SampleMessage, ToolUse};

/// A request to the client's model. A text suffices; everything else has defaults.
///
/// ```
/// use mcp_runtime::sampling::{SampleMessage, SampleRequest};
///
/// let short = SampleRequest::from("What is the capital of France?");
/// let more = SampleRequest::new([
///     SampleMessage::user("What is the capital of France?"),
///     SampleMessage::assistant("Paris."),
///     SampleMessage::user("And of Peru?"),
/// ])
/// .system("Answer with one word.")
/// .max_tokens(20)
/// .temperature(0.0)
/// .model_hint("sonnet");
/// ```
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is passed to `Context::sample`"]
pub struct SampleRequest {
    pub(crate) messages: Vec<SampleMessage>,
    pub(crate) max_tokens: u32,
    pub(crate) system: Option<String>,
    pub(crate) temperature: Option<f64>,
    pub(crate) stop: Vec<String>,
    pub(crate) hints: Vec<String>,
    pub(crate) cost: Option<f64>,
    pub(crate) speed: Option<f64>,
    pub(crate) intelligence: Option<f64>,
    pub(crate) include_context: Option<IncludeContext>,
    pub(crate) metadata: Option<Value>,
    pub(crate) tools: Vec<SampleTool>,
    pub(crate) tool_choice: Option<ToolChoice>,
}

impl SampleRequest {
    /// Whether the request offers tools.
    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.is_empty() || self.tool_choice.is_some()
    }

    /// A request that continues this conversation.
    pub fn new(messages: impl IntoIterator<Item = SampleMessage>) -> Self {
        SampleRequest {
            messages: messages.into_iter().collect(),
            max_tokens: 1000,
            system: None,
            temperature: None,
            stop: Vec::new(),
            hints: Vec::new(),
            cost: None,
            speed: None,
            intelligence: None,
            include_context: None,
            metadata: None,
            tools: Vec::new(),
            tool_choice: None,
        }
    }

    /// Appends a message to the conversation: the model's result, or the results of its tool calls.
    pub fn message(mut self, message: impl Into<SampleMessage>) -> Self {
        self.messages.push(message.into());
        self
    }

    /// Limits the length of the result in tokens. Default: 1000.
    pub fn max_tokens(mut self, count: u32) -> Self {
        self.max_tokens = count;
        self
    }

    /// Sets the system prompt. The client may change or omit it.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Sets the sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Adds stop sequences: texts that end the result.
    pub fn stop(mut self, texts: impl IntoIterator<Item: Into<String>>) -> Self {
        self.stop.extend(texts.into_iter().map(Into::into));
        self
    }

    /// Adds a preferred model, by name or part of a name. Earlier hints take precedence.
    pub fn model_hint(mut self, name: impl Into<String>) -> Self {
        self.hints.push(name.into());
        self
    }

    /// Sets how important low cost, speed and intelligence of the model are, each from 0 to 1.
    pub fn priorities(mut self, cost: f64, speed: f64, intelligence: f64) -> Self {
        (self.cost, self.speed, self.intelligence) = (Some(cost), Some(speed), Some(intelligence));
        self
    }

    /// Sets which context from servers the client should add. Omitted for clients without the
    /// `sampling.context` capability.
    pub fn include_context(mut self, context: IncludeContext) -> Self {
        self.include_context = Some(context);
        self
    }

    /// Sets metadata for the provider of the model, an object.
    pub fn metadata(mut self, metadata: impl Into<Value>) -> Self {
        self.metadata = Some(metadata.into());
        self
    }

    /// Adds tools the model may use. The client does not call them: the result says
    /// [which](SampleResult::tool_uses) the model wants, and the server samples again with their
    /// [results](SampleMessage::tool_results). Requires 2025-11-25 or later, and the `sampling.tools`
    /// capability.
    ///
    /// ```
    /// use mcp_runtime::sampling::{SampleRequest, SampleTool};
    /// use mcp_runtime::prelude::*;
    ///
    /// /// The weather in a city.
    /// #[tool]
    /// fn weather(city: String) -> String {
    ///     format!("fine in {city}")
    /// }
    ///
    /// let request = SampleRequest::from("Is it raining in Rome?").tools(&tools![weather]);
    /// let other = SampleRequest::from("What time is it?")
    ///     .tools([SampleTool::new("clock", "The time of day.", json!({"type": "object"}))]);
    /// ```
    pub fn tools(mut self, tools: impl IntoIterator<Item: Into<SampleTool>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets whether the model must, may or must not use tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }
}

impl From<SampleMessage> for SampleRequest {
    fn from(message: SampleMessage) -> Self {
        SampleRequest::new([message])
    }
}

impl From<String> for SampleRequest {
    fn from(text: String) -> Self {
        SampleMessage::user(text).into()
    }
}

impl From<&str> for SampleRequest {
    fn from(text: &str) -> Self {
        SampleMessage::user(text).into()
    }
}

/// The context from servers a client may add to a conversation. All but `None` are deprecated by the
/// specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IncludeContext {
    /// No context, the default.
    None,
    /// Context from this server.
    ThisServer,
    /// Context from all servers.
    AllServers,
}

/// Whether the model uses the offered tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "mode", rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides, the default.
    Auto,
    /// The model must use at least one tool.
    Required,
    /// The model must not use tools.
    None,
}

/// A tool offered to the client's model: one of the server's own, or one defined for the request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SampleTool {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    input_schema: Value,
}

impl SampleTool {
    /// A tool with the JSON Schema of its arguments, which must describe an object.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: impl Into<Value>) -> Self {
        let (name, description) = (name.into(), Some(description.into()));
        SampleTool { name, title: None, description, input_schema: input_schema.into() }
    }
}

impl From<&ToolDescriptor> for SampleTool {
    fn from(tool: &ToolDescriptor) -> Self {
        SampleTool {
            name: tool.name.clone(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
        }
    }
}

impl From<ToolDescriptor> for SampleTool {
    fn from(tool: ToolDescriptor) -> Self {
        SampleTool::from(&tool)
    }
}
