//! What comes of a request, in the newest revision's terms; `era::encode` writes it in the client's.

use std::sync::Arc;

use serde_json::Value;

use crate::ask::Question;
use crate::error::Failure;
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
pub(crate) type Answer = Result<Reply, Failure>;
