//! Responses to callers who are not let in, or lack scopes; and the end of streams whose token ends.

use std::time::{Duration, SystemTime};

use http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};

use super::body::Body;
use super::{json, refuse as refuse_request};
use crate::auth::access::{Access, Denied};
use crate::auth::gate::Closed;
use crate::era::encode;
use crate::jsonrpc::Id;
use crate::jsonrpc::error::RpcError;
use crate::transport::http::refusals::Reason;

/// How much longer than its token a stream may live, to end with a result.
const GRACE: Duration = Duration::from_secs(1);

/// A request that is not let in.
#[cold]
pub(crate) fn close(closed: &Closed) -> Response<Body> {
    let status = StatusCode::from_u16(closed.status).unwrap_or(StatusCode::UNAUTHORIZED);
    let mut response = refuse_request(status, RpcError::INVALID_REQUEST, &closed.text);
    challenge(&mut response, closed.challenge.as_deref());
    if let Some(seconds) = closed.retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(Ok(nonce)) = closed.nonce.as_deref().map(HeaderValue::from_str) {
        response.headers_mut().insert("dpop-nonce", nonce);
    }
    response
}

/// The refusal of a request whose caller lacks scopes.
pub(crate) fn refuse(id: Id<'_>, denied_for: &Denied) -> Response<Body> {
    let mut line = Vec::new();
    encode::error(id, &denied_for.to_error(), &mut line);
    denied(line, denied_for)
}

/// The status of such a refusal.
pub(crate) fn status(denied: &Denied) -> StatusCode {
    if denied.is_anonymous { StatusCode::UNAUTHORIZED } else { StatusCode::FORBIDDEN }
}

/// The response to a request whose caller lacks scopes. `line` is the JSON-RPC error.
#[cold]
pub(crate) fn denied(line: Vec<u8>, denied: &Denied) -> Response<Body> {
    let mut response = json(status(denied), line);
    response.extensions_mut().insert(Reason {
        code: RpcError::FORBIDDEN,
        text: denied.to_string().into(),
        change: None,
    });
    challenge(&mut response, denied.challenge.as_deref());
    response
}

fn challenge(response: &mut Response<Body>, challenge: Option<&str>) {
    if let Some(Ok(challenge)) = challenge.map(HeaderValue::from_str) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
}

/// Ends the stream of a response with the token it was opened with.
pub(crate) fn expire(response: &mut Response<Body>, access: Option<&Access>) {
    if let Some(left) = time_left(access) {
        response.body_mut().end_after(left + GRACE);
    }
}

/// Waits until the caller's token has expired, if it does.
pub(crate) fn expired(access: Option<&Access>) -> impl Future<Output = ()> + Send + use<> {
    let left = time_left(access);
    async move {
        match left {
            Some(left) => tokio::time::sleep(left).await,
            None => std::future::pending().await,
        }
    }
}

fn time_left(access: Option<&Access>) -> Option<Duration> {
    // Not before: as long as it is accepted, a client would open the stream again at once.
    let end = access?.user.as_ref()?.ends_at()?;
    Some(end.duration_since(SystemTime::now()).unwrap_or_default())
}
