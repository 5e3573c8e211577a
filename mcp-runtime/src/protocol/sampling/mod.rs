//! Sampling: what a server asks the client's model, and what the model answers.
//! <https://modelcontextprotocol.io/specification/2026-07-28/client/sampling>

mod answer;
mod message;

use serde::Serialize;
use serde_json::Value;

use super::ToolDescriptor;

pub use answer::SampleResult;
pub use message::{SampleMessage, ToolUse};

/// What the client's model is asked. A text is enough; the rest has defaults.
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
#[must_use = "it asks nothing until it is passed to `sample`"]
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
    /// Whether it gives the model tools.
    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.is_empty() || self.tool_choice.is_some()
    }

    /// Continues a conversation.
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

    /// Adds a message to the end of the conversation: the model's answer, or the results of the tools
    /// it used.
    pub fn message(mut self, message: impl Into<SampleMessage>) -> Self {
        self.messages.push(message.into());
        self
    }

    /// At most so many tokens are answered; without, 1000.
    pub fn max_tokens(mut self, count: u32) -> Self {
        self.max_tokens = count;
        self
    }

    /// What the model should be told before the conversation. The client may change or leave it out.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// How much chance there is in the answer.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Texts that end the answer.
    pub fn stop(mut self, texts: impl IntoIterator<Item: Into<String>>) -> Self {
        self.stop.extend(texts.into_iter().map(Into::into));
        self
    }

    /// The name of a model, or a part of it, that would do. The first of several is liked best.
    pub fn model_hint(mut self, name: impl Into<String>) -> Self {
        self.hints.push(name.into());
        self
    }

    /// How much low cost, speed and intelligence of the model matter, each from 0 to 1.
    pub fn priorities(mut self, cost: f64, speed: f64, intelligence: f64) -> Self {
        (self.cost, self.speed, self.intelligence) = (Some(cost), Some(speed), Some(intelligence));
        self
    }

    /// What the client should add of what it knows from servers. Left out where the client did not say
    /// that it can.
    pub fn include_context(mut self, context: IncludeContext) -> Self {
        self.include_context = Some(context);
        self
    }

    /// An object for the provider of the model.
    pub fn metadata(mut self, metadata: impl Into<Value>) -> Self {
        self.metadata = Some(metadata.into());
        self
    }

    /// Tools the model may use. The client calls none of them: the answer says
    /// [which](SampleResult::tool_uses), and the server asks again with their
    /// [results](SampleMessage::tool_results). From 2025-11-25, where the client says that it can.
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

    /// Whether the model has to use a tool, or must not.
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

/// What a client may add to a conversation of what it knows from servers. Deprecated by the
/// specification, all but `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IncludeContext {
    /// Nothing, which is what happens anyway.
    None,
    /// What it knows from this server.
    ThisServer,
    /// What it knows from every server.
    AllServers,
}

/// Whether the model uses tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "mode", rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes, which is what happens anyway.
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
}

/// A tool the client's model may use: one of the server's own, or one that exists only here.
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
    /// A tool with the JSON Schema of its arguments, which has to be that of an object.
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
