//! Why a question has no answer.

use std::fmt;
use std::time::Duration;

use serde_json::json;

use super::ClientCapability;
use crate::error::{Error, Repr, chain};
use crate::jsonrpc::error::RpcError;
use crate::outcome::{Failure, MissingCapability};
use crate::protocol::Revision;

/// Why the client, or the person in front of it, did not answer.
///
/// A handler may tell these apart; `?` turns them into an error the model reads:
///
/// ```
/// use mcp_runtime::ask::AskError;
/// use mcp_runtime::prelude::*;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Confirm { /** Really delete it? */ sure: bool }
///
/// /// Delete a note, after asking.
/// #[tool(destructive)]
/// async fn delete(ctx: &Context, id: u64) -> Result<String> {
///     match ctx.elicit::<Confirm>(format!("Delete note {id}?")).await {
///         Ok(Confirm { sure: true }) => Ok(format!("deleted {id}")),
///         Ok(_) | Err(AskError::Declined | AskError::Cancelled) => Ok("kept".to_owned()),
///         Err(other) => Err(other.into()),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError {
    /// The person said no.
    Declined,
    /// The person closed the question without an answer.
    Cancelled,
    /// This client cannot be asked that, in this revision or on this connection.
    Unsupported(Unsupported),
    /// Nobody answered in time.
    TimedOut(Duration),
    /// The answer does not fit the question.
    Invalid(String),
    /// The client answered with an error.
    ClientError {
        /// Its code.
        code: i64,
        /// Its text.
        message: String,
    },
    /// The client is gone.
    Disconnected,
    /// The handler asks in a way that cannot be answered: a mistake of its author.
    Misused(String),
}

/// What a client cannot be asked, and what can be done instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    pub(super) capability: Option<ClientCapability>,
    pub(super) text: String,
    /// What has to be visited, where a client of 2025-11-25 can be told so by an error.
    pub(super) visit: Option<Visit>,
}

/// A page somebody has to visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Visit {
    pub(super) message: String,
    pub(super) url: String,
    pub(super) id: String,
}

impl Unsupported {
    /// The capability the client lacks. `None` if its connection rules out the question, whatever the
    /// client declares.
    pub fn capability(&self) -> Option<ClientCapability> {
        self.capability
    }

    /// The client does not say that it can.
    pub(super) fn lacks(capability: ClientCapability, revision: Revision) -> Self {
        let why = match capability.since() {
            since if since > revision => format!("that came with {since}, and it speaks {revision}"),
            _ => format!("it does not declare the capability `{capability}`"),
        };
        let text = format!("{}; {why}", capability.missing_text());
        Unsupported { capability: Some(capability), text, visit: None }
    }

    /// It cannot be asked here, whatever it declares.
    pub(super) fn here(text: impl Into<String>) -> Self {
        Unsupported { capability: None, text: text.into(), visit: None }
    }
}

impl AskError {
    /// What the dispatcher makes of it, where no handler did anything about it.
    pub(super) fn to_failure(&self) -> Failure {
        match self {
            AskError::Unsupported(Unsupported { visit: Some(Visit { message, url, id }), .. }) => {
                // <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error>
                let visit = json!({"mode": "url", "elicitationId": id, "url": url, "message": message});
                RpcError::new(RpcError::URL_REQUIRED, message.clone())
                    .with_data(json!({"elicitations": [visit]}))
                    .into()
            }
            AskError::Unsupported(Unsupported { capability: Some(capability), text, .. }) => {
                Failure::MissingCapability(MissingCapability { text: text.clone(), required: capability.required() })
            }
            AskError::Misused(why) => {
                // The model is told, too, but cannot mend it.
                tracing::error!(%why, "a handler asks in a way that cannot be answered");
                Failure::Handler(why.clone())
            }
            other => Failure::Handler(other.to_string()),
        }
    }
}

impl MissingCapability {
    pub(crate) fn of(capability: ClientCapability, revision: Revision) -> Self {
        MissingCapability { text: Unsupported::lacks(capability, revision).text, required: capability.required() }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Declined => f.write_str("the user declined"),
            AskError::Cancelled => f.write_str("the user closed the question without an answer"),
            AskError::Unsupported(unsupported) => fmt::Display::fmt(unsupported, f),
            AskError::TimedOut(limit) => write!(f, "nobody answered within {limit:?}"),
            AskError::Invalid(why) => write!(f, "the answer does not fit the question: {why}"),
            AskError::ClientError { code, message } => write!(f, "the client refused to ask: {message} ({code})"),
            AskError::Disconnected => f.write_str("the client is gone"),
            AskError::Misused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for AskError {}

/// How an error of a handler is answered. Here, because an [`AskError`] among them is told apart.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.into_repr() {
            Repr::Handler(source) => match source.downcast_ref::<AskError>() {
                Some(ask) => ask.to_failure(),
                None => Failure::Handler(chain(&*source)),
            },
            Repr::Protocol(error) => Failure::Protocol(error),
            Repr::ResourceNotFound(uri) => Failure::ResourceNotFound(uri),
        }
    }
}
