//! CORS: what a browser asks before it lets a page of another origin send a request, and before the page may read the
//! response.
//!
//! Who may is decided by the origin policy, as for every request; this only tells the browser. Credentials are never
//! allowed: a token is a header, which the page sends by itself, and cookies mean nothing here.
//! <https://fetch.spec.whatwg.org/#http-cors-protocol>

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};

use crate::transport::http::response;
use crate::transport::http::response::body::Body;

/// The methods of all transports.
const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, DELETE");
/// The headers that clients of any revision send.
const SENT: &str = "Accept, Content-Type, Authorization, DPoP, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, \
                    Mcp-Method, Mcp-Name, X-Request-Id";
/// The headers of responses that clients of any revision read.
const READ: HeaderValue = HeaderValue::from_static(
    "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, DPoP-Nonce, Retry-After, X-Request-Id",
);
/// The headers of 2026-07-28 that repeat arguments begin with this, and go on with a name of the tool's.
const PARAM: &str = "mcp-param-";
/// The most such headers that a preflight is answered for. No tool has as many.
const MOST_PARAMS: usize = 64;
/// How long a browser may remember the answer, in seconds: two hours, which is the most that Chromium takes.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
const PRIVATE_NETWORK: &str = "access-control-request-private-network";
const ALLOW_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// The answer to preflight requests.
#[derive(Debug)]
pub(crate) struct Cors {
    /// The headers a page may send, as a list.
    sent: String,
}

impl Default for Cors {
    fn default() -> Self {
        Cors { sent: SENT.to_owned() }
    }
}

impl Cors {
    pub(super) fn allow(&mut self, name: &str) {
        self.sent.push_str(", ");
        self.sent.push_str(name);
    }

    /// The answer to a request, if it is a preflight request.
    pub(super) fn preflight(&self, parts: &Parts) -> Option<Response<Body>> {
        let asks = |name| parts.headers.contains_key(name);
        if parts.method != Method::OPTIONS || !asks(ORIGIN) || !asks(ACCESS_CONTROL_REQUEST_METHOD) {
            return None;
        }
        let mut response = response::empty(StatusCode::NO_CONTENT);
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        // Only names of headers are in it.
        if let Ok(sent) = HeaderValue::try_from(self.sent_with(parts)) {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, sent);
        }
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        // A page on the internet that asks for a server in a private network: its origin is allowed, and that is why.
        if parts.headers.contains_key(PRIVATE_NETWORK) {
            headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
        }
        Some(response)
    }

    /// The headers a page may send, with those it asks for that repeat arguments.
    fn sent_with(&self, parts: &Parts) -> String {
        let lines = parts.headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter();
        let names = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(',')).map(str::trim_ascii);
        let params = names.filter(|name| {
            let prefix = name.get(..PARAM.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(PARAM));
            prefix && HeaderName::try_from(*name).is_ok()
        });
        let mut sent = self.sent.clone();
        for name in params.take(MOST_PARAMS) {
            sent.push_str(", ");
            sent.push_str(name);
        }
        sent
    }
}

/// Tells the browser that a page of this origin may read the response, and caches that others may not.
pub(super) fn dress(response: &mut Response<Body>, origin: Option<&HeaderValue>) {
    let headers = response.headers_mut();
    // A document that everybody may read.
    if headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
        return;
    }
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    }
}
