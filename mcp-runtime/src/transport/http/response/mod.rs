//! Responses, with the headers every one of them has.

pub(super) mod body;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use self::body::Body;
use super::request::accept::ResponseFormat;
use crate::era::encode;
use crate::jsonrpc::Id;
use crate::jsonrpc::error::RpcError;

static JSON: HeaderValue = HeaderValue::from_static("application/json");
static EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Room for the answer of most calls.
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
    // Some proxies collect what they forward, unless told not to.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// An answer with nothing told before it, in a form the client takes.
pub(super) fn answer(form: ResponseFormat, line: Vec<u8>) -> Response<Body> {
    match form {
        ResponseFormat::Either | ResponseFormat::Json => json(StatusCode::OK, line),
        ResponseFormat::Events => events(Body::full(body::events(&line))),
    }
}

/// Nothing, with a status.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A refusal of the transport's: a JSON-RPC error without a request.
pub(super) fn refuse(status: StatusCode, code: i32, text: &str) -> Response<Body> {
    error(status, Id::NULL, &RpcError::new(code, text.to_owned()))
}

/// An error, as the answer to a request.
pub(super) fn error(status: StatusCode, id: Id<'_>, error: &RpcError) -> Response<Body> {
    let mut line = Vec::new();
    encode::error(id, error, &mut line);
    json(status, line)
}

/// A method the endpoint does not have.
pub(super) fn not_allowed(methods: &'static str) -> Response<Body> {
    let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// Too much for now.
pub(super) fn later(status: StatusCode, text: &str) -> Response<Body> {
    later_to(Id::NULL, status, text)
}

/// Too much for now, as the answer to a request.
pub(super) fn later_to(id: Id<'_>, status: StatusCode, text: &str) -> Response<Body> {
    let mut response = error(status, id, &RpcError::new(RpcError::INTERNAL, text.to_owned()));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn with(status: StatusCode, kind: &HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind.clone());
    response
}
