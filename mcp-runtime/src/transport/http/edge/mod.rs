//! The edge: what browsers and operators need around the endpoint. CORS, health probes, request ids.
//!
//! A service that has none of it has no edge, and asks that once or twice per request.

mod aside;
mod cors;
mod health;
mod options;
mod request_ids;

use std::sync::Arc;

use http::Response;
use http::request::Parts;

use self::cors::Cors;
use self::health::Health;
use self::request_ids::RequestIds;
use super::request::headers::Headers;
use super::request::origin::OriginPolicy;
use super::response::body::Body;

/// What is switched on.
#[derive(Debug, Default)]
pub(super) struct Edge {
    cors: Option<Cors>,
    health: Option<Health>,
    request_ids: Option<RequestIds>,
}

impl Edge {
    /// Gives a request its id.
    #[cold]
    pub(super) fn receive(&self, parts: &mut Arc<Parts>) {
        if let Some(ids) = &self.request_ids {
            let id = ids.of(&parts.headers);
            Arc::make_mut(parts).extensions.insert(id);
        }
    }

    /// The answer to a preflight request. Its host and origin are allowed, and it has no token.
    #[cold]
    pub(super) fn preflight(&self, parts: &Parts) -> Option<Response<Body>> {
        self.cors.as_ref()?.preflight(parts)
    }

    /// Adds what every response has, whatever it says.
    #[cold]
    pub(super) fn dress(
        &self,
        response: &mut Response<Body>,
        headers: &Headers<'_>,
        parts: &Parts,
        policy: &OriginPolicy,
    ) {
        if self.cors.is_some() {
            cors::dress(response, policy.allowed_origin(headers));
        }
        if self.request_ids.is_some() {
            request_ids::dress(response, parts);
        }
    }
}
