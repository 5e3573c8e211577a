//! The features of each revision, as named questions: nothing outside of `era` compares revisions.
//!
//! A new revision has to answer each of them. The table in `encode` says how it writes its messages.

use crate::protocol::Revision;

/// How calls become tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskNegotiation {
    /// The revision has no tasks.
    None,
    /// The client asks for a task with each call.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
    ByClient,
    /// The client declares the extension, and the server decides.
    ByServer,
}

impl Revision {
    /// The revision of a request over HTTP without a version header and without a session.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header>
    #[cfg(feature = "http")]
    pub(crate) const WITHOUT_HEADER: Self = Self::V2025_03_26;

    /// Whether requests are self-contained: each describes itself in `_meta`, and there are no sessions.
    pub(crate) fn is_stateless(self) -> bool {
        self.is_modern()
    }

    /// The revision named `date`, if it is one with sessions.
    pub(crate) fn with_sessions(date: &str) -> Option<Self> {
        Self::LEGACY.into_iter().find(|revision| revision.as_str() == date)
    }

    /// The newest revision with sessions: what a client asks a server for that knows no newer one.
    pub(crate) const fn newest_with_sessions() -> Self {
        Self::LEGACY[0]
    }

    /// Whether a server asks by returning its questions as the result, instead of sending requests of its own.
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
    pub(crate) fn asks_by_rounds(self) -> bool {
        self.is_modern()
    }

    /// Whether a frame may contain a batch of messages.
    /// <https://modelcontextprotocol.io/specification/2025-03-26/basic#batching>
    pub(crate) fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether `completion/complete` has a `context` with the values of other arguments.
    pub(crate) fn has_completion_context(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether a server can ask the user to fill in a form.
    pub(crate) fn has_forms(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether forms can have multiple choice, titled choices, and defaults of every type.
    pub(crate) fn has_rich_forms(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether clients declare their modes of elicitation: form, URL or both.
    pub(crate) fn has_elicitation_modes(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether an elicitation with a form names its mode.
    pub(crate) fn names_form_mode(self) -> bool {
        self.is_modern()
    }

    /// Whether a URL elicitation has an id, so that the server can notify the client of its completion.
    pub(crate) fn has_elicitation_ids(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether an error can ask the client to open a URL.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error>
    pub(crate) fn has_url_required_error(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether sampling can offer tools to the client's model.
    pub(crate) fn has_sampling_tools(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// How calls become tasks.
    pub(crate) fn task_negotiation(self) -> TaskNegotiation {
        match self {
            Self::V2026_07_28 => TaskNegotiation::ByServer,
            Self::V2025_11_25 => TaskNegotiation::ByClient,
            _ => TaskNegotiation::None,
        }
    }

    /// Whether messages that belong to a task name it in their `_meta`.
    pub(crate) fn relates_task_messages(self) -> bool {
        !self.is_modern()
    }

    /// Whether a stream begins with an empty event, so that a client that loses it at once can resume it, and
    /// whether the server may close a stream for the client to resume later.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server>
    #[cfg(feature = "http")]
    pub(crate) fn has_event_priming(self) -> bool {
        self >= Self::V2025_11_25
    }
}
