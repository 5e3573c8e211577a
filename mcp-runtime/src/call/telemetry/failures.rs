//! The log of failed calls: which handler failed, and how. What went wrong is for the client, and may quote it; the log
//! names the handler, and the panic hook has told of a panic by then.

use crate::era::{Accepted, Method};
use crate::error::PAGE;
use crate::jsonrpc::error::shorten;
use crate::jsonrpc::raw::Raw;
use crate::outcome::{Failure, Outcome, Reply};

/// The handler a call names, kept for the log of a call that is not over yet.
pub(crate) type Target = Option<Box<str>>;

/// The tool, prompt or resource that a call names.
pub(crate) fn target(call: &Accepted<'_>) -> Target {
    let name = match call.method {
        Method::ToolsCall | Method::PromptsGet => "name",
        Method::ResourcesRead => "uri",
        _ => return None,
    };
    call.params.get(name).and_then(Raw::text).map(|text| shorten(&text).into())
}

/// Logs a failure. `target` is asked only if there is one.
#[inline]
pub(crate) fn report(method: Method, outcome: &Outcome, target: impl FnOnce() -> Target) {
    match outcome {
        Ok(Reply::Tool(result)) if result.is_error => failed(method, target().as_deref(), "the tool returned an error"),
        Err(Failure::Panicked) => panicked(method, target().as_deref()),
        Err(Failure::TimedOut(_)) => failed(method, target().as_deref(), "the handler timed out"),
        Err(Failure::Handler(_)) => failed(method, target().as_deref(), "the handler returned an error"),
        _ => {}
    }
}

// A name that a client sent is logged in quotes, with control characters escaped.

#[cold]
fn failed(method: Method, target: Option<&str>, why: &'static str) {
    tracing::debug!(method = method.name(), target_name = ?target.unwrap_or_default(), why, "a call failed");
}

#[cold]
fn panicked(method: Method, target: Option<&str>) {
    tracing::error!(
        method = method.name(),
        target_name = ?target.unwrap_or_default(),
        "a handler panicked; see {PAGE}#the-handler-failed"
    );
}
