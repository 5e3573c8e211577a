//! The outcome of a request, in the terms of the newest revision; `era::encode` writes it in the client's.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

#[cfg(feature = "auth")]
use crate::auth::access::Denied;
use crate::jsonrpc::error::RpcError;
use crate::protocol::{CacheHint, Meta, PromptResult, ReadResult, ToolResult};
use crate::store::TaskRecord;
use crate::throttle::refusal::Throttled;

/// The result of a successful request. It is moved several times, so what is rare and large is boxed.
#[derive(Debug)]
pub(crate) enum Reply {
    /// `tools/call`
    Tool(ToolResult),
    /// `prompts/get`
    Prompt(PromptResult),
    /// `resources/read`
    Read(ReadResult),
    /// Questions the client must answer before it retries, by key, and the state it must send along.
    InputRequired { asked: Vec<(String, Question)>, state: String },
    /// `tools/call` that became a task.
    TaskCreated(Box<TaskRecord>),
    /// `tasks/get`, and `tasks/cancel` in the revision where it returns the task.
    Task(Box<TaskRecord>),
    /// `tasks/list`
    Tasks(Vec<TaskRecord>),
    /// `tasks/result`: the result of the task's call.
    Rendered(Box<Value>),
    /// An acknowledgement without data.
    Acknowledged,
    /// `completion/complete`
    Completion(Vec<String>),
    /// A page of one of the four lists, already serialized.
    List(Arc<str>),
    /// A custom method: the members of its result.
    Custom(Box<Meta>),
    /// `initialize`, with the server's capabilities.
    Initialized(Box<Value>),
    /// `server/discover`, with the server's capabilities, and how long they may be cached.
    Discovered(Box<Value>, CacheHint),
    /// `subscriptions/listen`, when the stream ends.
    Listened,
    /// `ping`
    Empty,
}

/// The outcome of a request.
pub(crate) type Outcome = Result<Reply, Failure>;

/// Why a request failed; `era::encode` writes it as each revision expects.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The handler returned this error: the client gets its text, with those of its sources.
    Handler(Box<dyn StdError + Send + Sync>),
    /// The user was asked and said no, or dismissed the question. Nothing is wrong with the server.
    Declined(String),
    /// The arguments do not match the handler's schema: all that is wrong with them.
    Arguments(ArgumentErrors),
    /// No resource or template matches this URI.
    ResourceNotFound(String),
    /// The handler panicked; the details are in the log.
    Panicked,
    /// The handler exceeded this timeout.
    TimedOut(std::time::Duration),
    /// The call needs a capability the client has not declared.
    MissingCapability(MissingCapability),
    /// The caller lacks scopes; over HTTP 403, or 401 without a token.
    #[cfg(feature = "auth")]
    Forbidden(Box<Denied>),
    /// The call is over a rate limit, or finds no place to run; over HTTP 429 or 503.
    Throttled(Box<Throttled>),
    /// The server shuts down, and has waited for the call as long as it may; over HTTP 503.
    ShutDown,
    /// What the call needs is away for the moment, a store for example: this text, and over HTTP 503.
    Unavailable(&'static str),
    /// A JSON-RPC error, sent unchanged.
    Protocol(RpcError),
}

/// The answer to a call that a shutdown does not wait for.
pub(crate) fn shut_down() -> RpcError {
    let text = "The server has ended before the call was done. Part of it may have run: retry it if it may run twice.";
    RpcError::new(RpcError::INTERNAL, text).with_data(json!({"retryable": true, "retryAfterMs": 1000}))
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        Failure::Protocol(error)
    }
}

/// An argument that is missing or does not match its schema.
pub use crate::schema::validator::Problem as ArgumentError;

/// All that is wrong with the arguments of a call.
pub type ArgumentErrors = Vec<ArgumentError>;

/// A capability the client would have to declare.
#[derive(Debug)]
pub(crate) struct MissingCapability {
    pub(crate) text: String,
    /// The capability in the form of a client's declaration.
    pub(crate) required: Box<Value>,
}

/// A request from the server to the client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Question {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// A handler's future.
pub(crate) type Work = Pin<Box<dyn Future<Output = Outcome> + Send>>;
/// A synchronous function that may block.
pub(crate) type BlockingWork = Box<dyn FnOnce() -> Outcome + Send>;

/// A started call of a handler.
pub(crate) enum Step {
    /// A synchronous function that has returned.
    Ready(Outcome),
    /// An asynchronous function, not yet polled.
    Future(Work),
    /// A synchronous function to run on a thread of its own.
    Blocking(BlockingWork),
}
