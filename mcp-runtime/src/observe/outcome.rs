//! [`Outcome`]: what became of a request, in few words.

use std::fmt;

/// How a request ended. [`Finished::code`](crate::observe::Finished::code) has the code of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It was answered with a result.
    Answered,
    /// It was answered with questions, and the client is to retry with their answers.
    InputRequired,
    /// It became a task, which goes on.
    TaskCreated,
    /// A tool returned an error for the model: `isError` is true. Arguments that do not fit are [`Refused`](Self::Refused).
    ToolError,
    /// It was answered with a JSON-RPC error.
    Error,
    /// It was refused before its handler ran: a malformed message, an unknown method, name or session, arguments
    /// that do not fit, a missing token or scope, a limit.
    Refused,
    /// Its handler exceeded its timeout.
    TimedOut,
    /// Its handler panicked.
    Panicked,
    /// The client cancelled it.
    Cancelled,
    /// Its connection ended before it had an answer: the client has left.
    ClientGone,
    /// The server was shut down and did not wait for it: it was answered with an error, or not at all if the server was
    /// aborted.
    Shutdown,
}

impl Outcome {
    /// Every outcome, for example to create a metric of each in advance.
    pub const ALL: &'static [Outcome] = &[
        Self::Answered,
        Self::InputRequired,
        Self::TaskCreated,
        Self::ToolError,
        Self::Error,
        Self::Refused,
        Self::TimedOut,
        Self::Panicked,
        Self::Cancelled,
        Self::ClientGone,
        Self::Shutdown,
    ];

    /// The outcome as a label: `answered`, `tool_error`, ….
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::InputRequired => "input_required",
            Self::TaskCreated => "task_created",
            Self::ToolError => "tool_error",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Panicked => "panicked",
            Self::Cancelled => "cancelled",
            Self::ClientGone => "client_gone",
            Self::Shutdown => "shutdown",
        }
    }

    /// Whether the client got what it asked for, or the way to it.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Answered | Self::InputRequired | Self::TaskCreated)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
