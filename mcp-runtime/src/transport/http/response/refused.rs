//! The response to a call that was refused when it had waited, and of which nothing was sent before.

#[cfg(feature = "auth")]
use super::denied;
use super::{Body, given_up, throttled};
use crate::call::outbox::refused::{Refusal, RefusedCall};
use http::{Response, StatusCode};

/// The response, of which who watches the call is told.
#[cold]
pub(crate) fn call(refused: RefusedCall) -> Response<Body> {
    let status = status(&refused.refusal).as_u16();
    let (refusal, line) = refused.into_response(status);
    response(line, &refusal)
}

/// The response, whose status is [`status`]. `line` is the JSON-RPC error.
#[cold]
pub(crate) fn response(line: Vec<u8>, refusal: &Refusal) -> Response<Body> {
    match refusal {
        #[cfg(feature = "auth")]
        Refusal::Denied(denied) => denied::denied(line, denied),
        Refusal::Throttled(refusal) => throttled(line, refusal),
        Refusal::ShutDown => given_up(line),
    }
}

pub(crate) fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        #[cfg(feature = "auth")]
        Refusal::Denied(denied) => denied::status(denied),
        Refusal::Throttled(throttled) if !throttled.is_busy => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Throttled(_) | Refusal::ShutDown => StatusCode::SERVICE_UNAVAILABLE,
    }
}
