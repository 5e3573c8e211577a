//! `AskError`: why an ask has no answer, and what the client gets if the handler returns the error.

use std::fmt;
use std::time::Duration;

use serde_json::json;

use super::ClientCapability;
#[cfg(feature = "auth")]
use crate::auth::access::Denied;
use crate::error::{Error, PAGE, Repr};
use crate::jsonrpc::error::RpcError;
use crate::outcome::{Failure, MissingCapability};
use crate::protocol::Revision;

/// Why an ask has no answer.
///
/// Match on it where a handler can continue without an answer. With `?`, the model reads the error's text;
/// `Unsupported` is answered with the protocol's error `-32021` in 2026-07-28.
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
    /// The user said no. Do not ask again.
    Declined,
    /// The user dismissed the question without an answer. Asking again later is fine.
    Cancelled,
    /// The client cannot be asked this: it does not declare the capability, its revision has no such request,
    /// or its connection does not carry requests.
    Unsupported(Unsupported),
    /// The client did not answer within this time: [`Ask::timeout`](super::Ask::timeout) or
    /// [`Limits::answer_timeout`](crate::Limits::answer_timeout).
    TimedOut(Duration),
    /// The answer does not fit the question, and how: a field of the form is missing or out of range, or the
    /// response is malformed.
    Invalid(String),
    /// The client responded with a JSON-RPC error. Clients do so when the user rejects a sampling request.
    ClientError {
        /// The error's code.
        code: i64,
        /// The error's message.
        message: String,
    },
    /// The client has disconnected, or the call is over: cancelled, timed out, or answered. A handler rarely
    /// sees this, because its future is dropped; a `blocking` handler can.
    Disconnected,
    /// A mistake in the handler, and how to fix it: two asks with one key, an ask inside of
    /// [`Context::once`](crate::Context::once), too many asks, a type that no form can have, or a URL that no user
    /// should open. It is logged as an error as well.
    Misused(String),
}

/// Why a client cannot be asked something, in [`AskError::Unsupported`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    pub(super) capability: Option<ClientCapability>,
    pub(super) text: String,
    /// The page to visit, for the error `URLElicitationRequired` of 2025-11-25.
    pub(super) visit: Option<Visit>,
}

/// A page that the user is asked to visit.
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

    /// The client does not declare the capability.
    pub(super) fn lacks(capability: ClientCapability, revision: Revision) -> Self {
        let why = match capability.since() {
            since if since > revision => format!("that came with {since}, and it speaks {revision}"),
            _ => format!("it does not declare the capability `{}`", capability.declared_as(revision)),
        };
        let text = format!("{}; {why}", capability.missing_text());
        Unsupported { capability: Some(capability), text, visit: None }
    }

    /// The client cannot be asked here, whatever it declares.
    pub(super) fn here(text: impl Into<String>) -> Self {
        Unsupported { capability: None, text: text.into(), visit: None }
    }
}

impl AskError {
    /// How the call fails, if the handler returns the error.
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
                Failure::MissingCapability(MissingCapability {
                    text: text.clone(),
                    required: Box::new(capability.required()),
                })
            }
            AskError::Declined | AskError::Cancelled => Failure::Declined(self.to_string()),
            AskError::Misused(why) => {
                // The model reads it too, but only the author of the handler can fix it.
                tracing::error!(%why, "a handler misuses an ask; see {PAGE}#a-handler-misuses-an-ask");
                Failure::Handler(why.clone().into())
            }
            other => Failure::Handler(other.to_string().into()),
        }
    }
}

impl MissingCapability {
    pub(crate) fn of(capability: ClientCapability, revision: Revision) -> Self {
        MissingCapability {
            text: Unsupported::lacks(capability, revision).text,
            required: Box::new(capability.required()),
        }
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
            AskError::Cancelled => f.write_str("the user dismissed the question without an answer"),
            AskError::Unsupported(unsupported) => fmt::Display::fmt(unsupported, f),
            AskError::TimedOut(limit) => write!(f, "the client did not answer within {limit:?}"),
            AskError::Invalid(why) => write!(f, "the answer does not fit the question: {why}"),
            AskError::ClientError { code, message } => {
                write!(f, "the client responded with an error: {message} ({code})")
            }
            AskError::Disconnected => f.write_str("the client has disconnected, or the call is over"),
            AskError::Misused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for AskError {}

/// How a call fails with the error of a handler. It is here because an [`AskError`] is a case of its own.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.into_repr() {
            Repr::Handler(source) => match source.downcast_ref::<AskError>() {
                Some(ask) => ask.to_failure(),
                #[cfg(feature = "auth")]
                None if source.is::<Denied>() => match source.downcast() {
                    Ok(denied) => Failure::Forbidden(denied),
                    Err(source) => Failure::Handler(source),
                },
                None => Failure::Handler(source),
            },
            Repr::Protocol(error) => Failure::Protocol(error),
            Repr::ResourceNotFound(uri) => Failure::ResourceNotFound(uri),
        }
    }
}
