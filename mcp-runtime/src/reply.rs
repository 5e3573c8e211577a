//! What comes of a request, in the newest revision's terms; `era::encode` writes it in the client's.

use crate::error::Failure;
use crate::protocol::{PromptResult, ReadResult, ToolResult};

/// The ordinary outcome of a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// `tools/call`
    Tool(ToolResult),
    /// `prompts/get`
    Prompt(PromptResult),
    /// `resources/read`
    Read(ReadResult),
    /// `completion/complete`
    Completion(Vec<String>),
    /// The four lists.
    List(List),
    /// `initialize`
    Initialized,
    /// `server/discover`
    Discovered,
    /// `ping`
    Empty,
}

/// A list the server can give.
#[derive(Debug, Clone, Copy)]
pub(crate) enum List {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

/// What comes of a request.
pub(crate) type Answer = Result<Reply, Failure>;
