//! What each revision has: questions with names, so that nothing outside of `era` compares revisions.
//!
//! A new revision answers each of them here first; `encode` has the table of what it drops or replaces on
//! the wire.

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
    /// The revision of a request over HTTP that names none and belongs to no session.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header>
    #[cfg(feature = "http")]
    pub(crate) const WITHOUT_HEADER: Self = Self::V2025_03_26;

    /// Whether requests stand alone: each describes itself in its `_meta`, and there is no session.
    pub(crate) fn is_stateless(self) -> bool {
        self.is_modern()
    }

    /// The revision with sessions that is called `date`.
    #[cfg(feature = "http")]
    pub(crate) fn with_sessions(date: &str) -> Option<Self> {
        Self::LEGACY.into_iter().find(|revision| revision.as_str() == date)
    }

    /// Whether a server asks by answering with its questions, rather than by requests of its own.
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
    pub(crate) fn asks_by_rounds(self) -> bool {
        self.is_modern()
    }

    /// Whether a server can ask for a form.
    pub(crate) fn has_forms(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether a form can have multiple choices, titles of choices, and defaults of every type.
    pub(crate) fn has_rich_forms(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether clients say which modes of elicitation they have: forms, pages or both.
    pub(crate) fn has_elicitation_modes(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether a request for a form names its mode.
    pub(crate) fn names_form_mode(self) -> bool {
        self.is_modern()
    }

    /// Whether a page to visit has an id, by which the server tells that the visit is over.
    pub(crate) fn has_elicitation_ids(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether an error can send the client to a page.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error>
    pub(crate) fn has_url_required_error(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether the client's model can be given tools.
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

    /// Whether a stream begins with an empty event, so that a client which loses it at once can resume it,
    /// and whether a server may close it for a client to come back to.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server>
    #[cfg(feature = "http")]
    pub(crate) fn has_event_priming(self) -> bool {
        self >= Self::V2025_11_25
    }
}
