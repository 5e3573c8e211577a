//! The log of refusals: which requests were refused, why, and what to change. A flood of them is a few lines.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use http::{Response, StatusCode};
use tracing::field::display;

use crate::call::telemetry::request_id::RequestId;
use crate::jsonrpc::error::RpcError;
use crate::server::peer::Peer;
use crate::sync::lock;

/// Each kind of refusal is logged once in this time; the others are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// Why a request was refused, as an extension of its response, until the response leaves the service.
#[derive(Debug, Clone)]
pub(super) struct Reason {
    pub(super) code: i32,
    pub(super) text: Box<str>,
}

/// What was refused of late. Statuses and codes are few, so the table is small.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<HashMap<(StatusCode, i32), Kind>>);

#[derive(Debug)]
struct Kind {
    logged: Instant,
    /// Refusals that were not logged since.
    more: u64,
}

impl Refusals {
    fn kinds(&self) -> MutexGuard<'_, HashMap<(StatusCode, i32), Kind>> {
        lock(&self.0)
    }

    /// Logs a response that is a refusal, with the id of its request if it has one.
    pub(super) fn report<B>(&self, response: &mut Response<B>, peer: Option<Peer>, id: Option<&RequestId>) {
        let status = response.status();
        let Reason { code, text } = response.extensions_mut().remove().unwrap_or(Reason { code: 0, text: "".into() });
        let Some(more) = self.is_due(status, code) else { return };
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

    /// Whether a refusal of this kind is to be logged now, with how many that were not.
    fn is_due(&self, status: StatusCode, code: i32) -> Option<u64> {
        let mut kinds = self.kinds();
        let now = Instant::now();
        match kinds.get_mut(&(status, code)) {
            Some(kind) if now - kind.logged < INTERVAL => {
                kind.more += 1;
                None
            }
            Some(kind) => {
                kind.logged = now;
                Some(std::mem::take(&mut kind.more))
            }
            None => {
                kinds.insert((status, code), Kind { logged: now, more: 0 });
                Some(0)
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

    #[test]
    fn flood_is_counted() {
        let refusals = Refusals::default();
        let due = || refusals.is_due(StatusCode::SERVICE_UNAVAILABLE, -32603);
        assert_eq!(due(), Some(0));
        assert_eq!((due(), due()), (None, None));
        assert_eq!(refusals.is_due(StatusCode::FORBIDDEN, -32600), Some(0), "another kind");
        let begun = Instant::now();
        while begun.elapsed() < INTERVAL {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(due(), Some(2));
    }
}
