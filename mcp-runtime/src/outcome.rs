//! What comes of a request, in the newest revision's terms; `era::encode` writes it in the client's.

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::jsonrpc::error::RpcError;
use crate::protocol::{Meta, PromptResult, ReadResult, ToolResult};
use crate::store::TaskRecord;

/// The ordinary outcome of a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// `tools/call`
    Tool(ToolResult),
    /// `prompts/get`
    Prompt(PromptResult),
    /// `resources/read`
    Read(ReadResult),
    /// What the client is to answer before it calls again, by key, and what it is to bring along.
    InputRequired { asked: Vec<(String, Question)>, state: String },
    /// `tools/call`, of which a task was made.
    TaskCreated(Box<TaskRecord>),
    /// `tasks/get`, and `tasks/cancel` where it tells what became of it.
    Task(Box<TaskRecord>),
    /// `tasks/list`
    Tasks(Vec<TaskRecord>),
    /// `tasks/result`: what the call would have been answered.
    Rendered(Value),
    /// Something was taken note of.
    Acknowledged,
    /// `completion/complete`
    Completion(Vec<String>),
    /// A page of one of the four lists, rendered.
    List(Arc<str>),
    /// A method of the server's own: the members of its result.
    Custom(Meta),
    /// `initialize`, with the server's capabilities.
    Initialized(Value),
    /// `server/discover`, likewise.
    Discovered(Value),
    /// `subscriptions/listen`, when it is over.
    Listened,
    /// `ping`
    Empty,
}

/// What comes of a request.
pub(crate) type Outcome = Result<Reply, Failure>;

/// Why a call has no ordinary result; each revision says it in its own way (`era::encode`).
#[derive(Debug)]
pub(crate) enum Failure {
    /// The handler returned an error; its text.
    Handler(String),
    /// The caller's arguments do not fit the handler's types.
    Arguments(ArgumentError),
    /// Nothing is registered at, or matches, this URI.
    ResourceNotFound(String),
    /// The handler panicked; the details went to the log.
    Panicked,
    /// The handler took longer than it may.
    TimedOut(std::time::Duration),
    /// The client does not declare what the call needs of it.
    MissingCapability(MissingCapability),
    /// A JSON-RPC error as it is.
    Protocol(RpcError),
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        Failure::Protocol(error)
    }
}

/// An argument that is missing or of the wrong type.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArgumentError {
    /// The argument's name on the wire.
    pub(crate) field: Cow<'static, str>,
    /// The type its schema names.
    pub(crate) expected_type: Cow<'static, str>,
    /// The type that was sent, or `missing`.
    pub(crate) actual_type: Cow<'static, str>,
    #[serde(skip)]
    pub(crate) text: String,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A capability the client would need to have declared.
#[derive(Debug)]
pub(crate) struct MissingCapability {
    pub(crate) text: String,
    /// It, as the client would declare it.
    pub(crate) required: Value,
}

/// A request of the server's own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Question {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// A handler's future.
pub(crate) type Work = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What calling a handler amounts to.
pub(crate) enum Step {
    /// A sync function, already done.
    Ready(Outcome),
    /// An async function, not yet polled.
    Future(Work),
    /// A sync function for a thread of its own.
    Blocking(Box<dyn FnOnce() -> Outcome + Send>),
}
