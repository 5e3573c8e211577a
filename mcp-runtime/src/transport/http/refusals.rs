//! The log of refusals: which requests were refused, why, and what to change. A flood of them is a few lines.

use http::{Response, StatusCode};
use tracing::field::{debug, display};

use crate::call::telemetry::request_id::RequestId;
use crate::error::PAGE;
use crate::jsonrpc::error::RpcError;
use crate::observe::Repeated;
use crate::server::peer::Peer;

/// Why a request was refused, as an extension of its response, until the response leaves the service.
#[derive(Debug, Clone)]
pub(super) struct Reason {
    pub(super) code: i32,
    pub(super) text: Box<str>,
    /// What the operator can change, if it is known where the request was refused.
    pub(super) change: Option<&'static str>,
}

/// The response is no refusal to be logged, whatever its status: an extension of it, like [`Reason`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Unlogged;

/// What was refused of late. Statuses and codes are few.
#[derive(Debug, Default)]
pub(super) struct Refusals(Repeated<(StatusCode, i32)>);

impl Refusals {
    /// Logs a response that is a refusal, with the id of its request if it has one.
    pub(super) fn report<B>(&self, response: &mut Response<B>, peer: Option<Peer>, id: Option<&RequestId>) {
        if response.extensions_mut().remove::<Unlogged>().is_some() {
            return;
        }
        let status = response.status();
        let reason: Option<Reason> = response.extensions_mut().remove();
        let code = reason.as_ref().map_or(0, |reason| reason.code);
        let Some(more) = self.0.is_due((status, code)) else { return };
        let change = reason.as_ref().and_then(|reason| reason.change).or_else(|| remedy(status, code));
        let peer = peer.map(|peer| display(peer.ip()));
        let request = id.map(RequestId::as_str);
        let reason = reason.map(|reason| debug(reason.text));
        let status = status.as_u16();
        // A stranger's text may be in the reason: it is logged in quotes, with control characters escaped.
        match status {
            403 if code == RpcError::FORBIDDEN => {
                tracing::debug!(status, peer, request, reason, more, "request refused; see {PAGE}#{status}");
            }
            500.. | 403 | 429 => {
                tracing::warn!(status, peer, request, reason, change, more, "request refused; see {PAGE}#{status}");
            }
            408 | 413 | 415 => {
                tracing::info!(status, peer, request, reason, change, more, "request refused; see {PAGE}#{status}");
            }
            _ => {
                tracing::debug!(status, peer, request, reason, change, more, "request refused; see {PAGE}#{status}");
            }
        }
    }
}

/// What the operator can change, if that is it.
fn remedy(status: StatusCode, code: i32) -> Option<&'static str> {
    Some(match status.as_u16() {
        // The caller lacks scopes, which is between them and their authorization server.
        403 if code == RpcError::FORBIDDEN => return None,
        403 => "`HttpService::allow_hosts`, `allow_origins`",
        408 => "`Limits::request_timeout`",
        413 => "`Limits::message_bytes`",
        // Tokens cannot be verified, which no limit changes.
        503 if code == RpcError::INVALID_REQUEST => return None,
        503 => "`Limits::requests`, `sessions`, `memory_bytes`",
        _ => return None,
    })
}
