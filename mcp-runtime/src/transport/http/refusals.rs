//! The log of refusals: which requests were refused, why, and what to change. A flood of them is a few lines.

use http::{Response, StatusCode};
use tracing::field::display;

use crate::call::telemetry::request_id::RequestId;
use crate::jsonrpc::error::RpcError;
use crate::observe::Repeated;
use crate::server::peer::Peer;

/// Why a request was refused, as an extension of its response, until the response leaves the service.
#[derive(Debug, Clone)]
pub(super) struct Reason {
    pub(super) code: i32,
    pub(super) text: Box<str>,
}

/// What was refused of late. Statuses and codes are few.
#[derive(Debug, Default)]
pub(super) struct Refusals(Repeated<(StatusCode, i32)>);

impl Refusals {
    /// Logs a response that is a refusal, with the id of its request if it has one.
    pub(super) fn report<B>(&self, response: &mut Response<B>, peer: Option<Peer>, id: Option<&RequestId>) {
        let status = response.status();
        let Reason { code, text } = response.extensions_mut().remove().unwrap_or(Reason { code: 0, text: "".into() });
        let Some(more) = self.0.is_due((status, code)) else { return };
        let (peer, change) = (peer.map(|peer| display(peer.ip())), remedy(status, code));
        let request = id.map(RequestId::as_str);
        // A stranger's text may be in the reason: it is logged in quotes, with control characters escaped.
        match status.as_u16() {
            403 if code == RpcError::FORBIDDEN => {
                tracing::debug!(status = status.as_u16(), peer, request, reason = ?text, more, "request refused");
            }
            500.. | 403 | 429 => {
                tracing::warn!(status = status.as_u16(), peer, request, reason = ?text, change, more, "request refused");
            }
            408 | 413 | 415 | 431 => {
                tracing::info!(status = status.as_u16(), peer, request, reason = ?text, change, more, "request refused");
            }
            _ => {
                tracing::debug!(status = status.as_u16(), peer, request, reason = ?text, change, more, "request refused");
            }
        }
    }
}

/// What the operator can change, if that is it.
fn remedy(status: StatusCode, code: i32) -> &'static str {
    match status.as_u16() {
        // The caller lacks scopes, which is between them and their authorization server.
        403 if code == RpcError::FORBIDDEN => "",
        403 => "`HttpService::allow_hosts`, `allow_origins`",
        408 => "`Limits::request_timeout`",
        413 => "`Limits::message_bytes`",
        429 if code == RpcError::THROTTLED => {
            "`Server::rate_limit`, the `rate` of handlers; `HttpService::principal`, `trust_proxies`"
        }
        429 => "`Limits::in_flight`, `streams`, `sessions_per_principal`; `HttpService::principal`, `trust_proxies`",
        // Tokens cannot be verified, which no limit changes.
        503 if code == RpcError::INVALID_REQUEST => "",
        503 if code == RpcError::THROTTLED => "the `max_concurrent` of the handler",
        503 => "`Limits::requests`, `sessions`, `memory_bytes`",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedy_of_a_throttled_request_is_its_own_limit() {
        let (many, busy) = (StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE);
        assert!(remedy(many, RpcError::THROTTLED).contains("`rate`"));
        assert!(remedy(busy, RpcError::THROTTLED).contains("`max_concurrent`"));
        assert!(remedy(many, RpcError::INTERNAL).contains("in_flight"));
        assert!(remedy(busy, RpcError::INTERNAL).contains("requests"));
    }
}
