//! The response half of an exchange: status, headers and body.
//!
//! The head of a response waits for the first message of its call. If that is the answer, the response is JSON
//! with the status of the answer; if it is a notification, the response is an event stream. So a call without
//! notifications costs no stream, and no handler has to declare which it is. `request::accept` has the clients that
//! accept only one of the two. A question is an event, too: a client that accepts only JSON is not asked.

pub(super) mod body;
#[cfg(feature = "auth")]
pub(super) mod denied;
pub(super) mod refused;
pub(super) mod sse;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use self::body::Body;
use super::refusals::{Reason, Unlogged};
use super::request::accept::ResponseFormat;
use crate::era::encode;
use crate::jsonrpc::Id;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::throttle::refusal::Throttled;

static JSON: HeaderValue = HeaderValue::from_static("application/json");
static EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Capacity that fits the answers of most calls.
pub(super) const ANSWER: usize = 256;

/// A JSON text.
pub(super) fn json(status: StatusCode, mut line: Vec<u8>) -> Response<Body> {
    line.pop_if(|byte| *byte == b'\n');
    with(status, &JSON, Body::full(line))
}

/// A stream of events.
pub(super) fn events(body: Body) -> Response<Body> {
    let mut response = with(StatusCode::OK, &EVENTS, body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // nginx buffers responses unless this header forbids it.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// An answer without notifications before it, in the format the client accepts.
pub(super) fn answer(form: ResponseFormat, line: Vec<u8>) -> Response<Body> {
    match form {
        ResponseFormat::Either | ResponseFormat::Json => json(StatusCode::OK, line),
        ResponseFormat::Events => events(Body::full(sse::events(&line))),
    }
}

/// A status without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// An error of the transport: a JSON-RPC error with a null id.
pub(super) fn refuse(status: StatusCode, code: i32, text: &str) -> Response<Body> {
    error(status, Id::NULL, &RpcError::new(code, text.to_owned()))
}

/// An error that answers a request.
pub(super) fn error(status: StatusCode, id: Id<'_>, error: &RpcError) -> Response<Body> {
    let mut line = Vec::new();
    encode::error(id, error, &mut line);
    let mut response = json(status, line);
    response.extensions_mut().insert(Reason { code: error.code, text: shorten(&error.message).into(), change: None });
    response
}

/// 405, with the methods the endpoint supports.
pub(super) fn not_allowed(methods: &'static str) -> Response<Body> {
    let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// There is no memory for a long response.
pub(super) fn no_memory() -> RpcError {
    RpcError::new(RpcError::INTERNAL, "too many long responses are still being read; retry later")
}

/// A limit is reached: the client may retry.
pub(super) fn later(status: StatusCode, text: &str) -> Response<Body> {
    later_to(Id::NULL, status, text)
}

/// A limit is reached, as the answer to a request: the client may retry.
pub(super) fn later_to(id: Id<'_>, status: StatusCode, text: &str) -> Response<Body> {
    retry_later(error(status, id, &RpcError::new(RpcError::INTERNAL, text.to_owned())))
}

/// The caller has as many calls, streams or sessions as they may have: they may retry.
#[cold]
pub(super) fn too_many_to(id: Id<'_>, text: &str) -> Response<Body> {
    let (mut line, refusal) = (Vec::new(), Throttled::too_many(text));
    encode::error(id, &refusal.to_error(), &mut line);
    throttled(line, &refusal)
}

/// Tells the client when to retry.
pub(super) fn retry_later(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// The response to a call that a shutdown does not wait for. `line` is the JSON-RPC error.
#[cold]
fn given_up(line: Vec<u8>) -> Response<Body> {
    let mut response = retry_later(json(StatusCode::SERVICE_UNAVAILABLE, line));
    // One line of the log tells of all of them.
    response.extensions_mut().insert(Unlogged);
    response
}

/// The response to a request over a limit. `line` is the JSON-RPC error.
#[cold]
pub(super) fn throttled(line: Vec<u8>, throttled: &Throttled) -> Response<Body> {
    let status = if throttled.is_busy { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::TOO_MANY_REQUESTS };
    let mut response = json(status, line);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(throttled.retry_after_seconds()));
    response.extensions_mut().insert(Reason {
        code: RpcError::THROTTLED,
        text: throttled.text().into(),
        change: Some(throttled.change),
    });
    response
}

fn with(status: StatusCode, kind: &HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind.clone());
    response
}
