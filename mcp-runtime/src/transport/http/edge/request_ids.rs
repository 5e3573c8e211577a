//! Request ids: by which a line of the proxy's log, of the server's and of the client's are about one request.

use std::sync::atomic::{AtomicU64, Ordering};

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response};

use crate::call::context::Context;
use crate::call::telemetry::request_id::RequestId;
use crate::random;
use crate::transport::http::response::body::Body;

const NAME: HeaderName = HeaderName::from_static("x-request-id");

/// Makes ids for requests that have none.
#[derive(Debug)]
pub(super) struct RequestIds {
    /// Tells the ids of this process from those of others.
    process: u64,
    next: AtomicU64,
}

impl RequestIds {
    pub(super) fn new() -> Self {
        let mut process = [0; 8];
        // Without randomness the ids of two processes may be equal, which is a nuisance in a log and no more.
        let _ = random::fill(&mut process);
        RequestIds { process: u64::from_ne_bytes(process), next: AtomicU64::new(1) }
    }

    /// The id of a request with these headers.
    pub(super) fn of(&self, headers: &HeaderMap) -> RequestId {
        let mut values = headers.get_all(NAME).iter();
        let sent = match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok().and_then(RequestId::parse),
            _ => None,
        };
        sent.unwrap_or_else(|| RequestId::new(self.process, self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Sends the id of a request back.
pub(super) fn dress(response: &mut Response<Body>, parts: &Parts) {
    let id = parts.extensions.get::<RequestId>().and_then(|id| HeaderValue::from_str(id.as_str()).ok());
    if let Some(id) = id {
        response.headers_mut().insert(NAME, id);
    }
}

impl Context {
    /// The id of the HTTP request, as clients, proxies and the log of the server name it. `None` without
    /// [`HttpService::request_ids`](crate::http::HttpService::request_ids), and on stdio. Requires the feature `http`.
    ///
    /// Not to be confused with [`request_id`](Self::request_id), which is JSON-RPC's, and unique in one connection only.
    pub fn http_request_id(&self) -> Option<&str> {
        self.http.extensions()?.get().map(RequestId::as_str)
    }
}
