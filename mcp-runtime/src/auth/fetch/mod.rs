//! [`Fetch`]: requests to an authorization server. They are few and small, so they are bounded here, whoever sends them.

#[cfg(feature = "auth-fetch")]
pub(crate) mod https;
#[cfg(all(test, feature = "auth-fetch"))]
mod tests;
#[cfg(all(test, feature = "auth-fetch"))]
mod tls_tests;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::timeout;

/// Enough for the metadata and the keys of every issuer.
pub(crate) const MAX_BODY: usize = 64 * 1024;
/// How long the keys of an issuer, or an introspection, may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// The future that [`Fetch::fetch`] returns: boxed, so that a client can be a trait object.
pub type FetchFuture<'a> = Pin<Box<dyn Future<Output = Result<FetchResponse, FetchError>> + Send + 'a>>;

/// Sends requests to an authorization server.
///
/// For a client of your own, with a proxy or client certificates: [`Auth::fetch_with`](super::Auth::fetch_with). It must
/// not follow redirects to another host: whoever answers there would choose the keys that are trusted. Requests are given up
/// after ten seconds, and bodies over 64 KiB are rejected.
///
/// ```
/// use http::Request;
/// use mcp_runtime::Server;
/// use mcp_runtime::auth::{Auth, Fetch, FetchError, FetchFuture, FetchRequest, FetchResponse};
/// use tower_service::Service as _;
///
/// /// Answers like an authorization server that has issued one token: for tests without a network.
/// struct OneToken;
///
/// impl Fetch for OneToken {
///     fn fetch(&self, request: FetchRequest) -> FetchFuture<'_> {
///         Box::pin(async move {
///             let Some(form) = request.form else { return Err(FetchError::new("only tokens are known here")) };
///             let is_active = form.body.starts_with("token=good&");
///             let answer =
///                 serde_json::json!({"active": is_active, "sub": "alice", "aud": "https://mcp.example.com/mcp"});
///             Ok(FetchResponse::new(200, answer.to_string()))
///         })
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() {
/// let auth = Auth::introspect("https://auth.example.com/introspect", "notes", "the secret of notes")
///     .fetch_with(OneToken)
///     .resource("https://mcp.example.com/mcp");
/// let mut service = Server::new("notes", "1.0.0").into_service().authorize(auth);
/// for token in ["good", "bad"] {
///     let request = Request::get("/mcp").header("host", "mcp.example.com");
///     let request = request.header("authorization", format!("Bearer {token}")).body(String::new()).unwrap();
///     let response = service.call(request).await.unwrap();
///     assert_eq!(response.status() == 401, token == "bad");
/// }
/// # }
/// ```
pub trait Fetch: Send + Sync {
    /// Sends a request, and returns the response, whatever its status.
    fn fetch(&self, request: FetchRequest) -> FetchFuture<'_>;
}

/// A request to an authorization server: a GET, or a POST of a form.
#[derive(Debug)]
#[non_exhaustive]
pub struct FetchRequest {
    /// The URL: https, or on this machine.
    pub url: String,
    /// The form to be posted, if it is a POST.
    pub form: Option<FetchForm>,
}

/// A form, `application/x-www-form-urlencoded`, and the `Authorization` header it is sent with.
#[non_exhaustive]
pub struct FetchForm {
    /// The fields, URL-encoded: the body of the POST.
    pub body: String,
    /// The value of the `Authorization` header, if there is one.
    pub authorization: Option<String>,
}

/// Without its contents: they are credentials.
impl fmt::Debug for FetchForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchForm").finish_non_exhaustive()
    }
}

/// The response of an authorization server.
#[derive(Debug)]
#[non_exhaustive]
pub struct FetchResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The body of the response.
    pub body: Vec<u8>,
    /// `max-age` of `Cache-Control`; zero for `no-store` and `no-cache`.
    pub max_age: Option<Duration>,
}

impl FetchResponse {
    /// A response that does not say how long it may be cached.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        FetchResponse { status, body: body.into(), max_age: None }
    }
}

/// Why an authorization server did not respond. It is logged for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchError(pub(crate) String);

impl FetchError {
    /// An error with this text, which the log quotes after the URL.
    pub fn new(why: impl Into<String>) -> Self {
        FetchError(why.into())
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FetchError {}

/// Sends a request to a URL that may be asked, and returns a body that is not too long, or an error after a while.
pub(crate) async fn send(fetch: &dyn Fetch, request: FetchRequest) -> Result<FetchResponse, FetchError> {
    check_url(&request.url)?;
    let url = request.url.clone();
    let response = match timeout(TIMEOUT, fetch.fetch(request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(FetchError(why))) => return Err(FetchError(format!("{url}: {why}"))),
        Err(_) => return Err(FetchError(format!("{url}: no answer within {} seconds", TIMEOUT.as_secs()))),
    };
    if response.body.len() > MAX_BODY {
        return Err(FetchError(format!("{url}: the response is longer than {} KiB", MAX_BODY / 1024)));
    }
    Ok(response)
}

/// HTTPS, or a server on this machine: keys that anybody on the way could replace are worth nothing.
pub(crate) fn check_url(url: &str) -> Result<(), FetchError> {
    let is_allowed = match url.split_once("://") {
        Some(("https", rest)) => is_host(&host(rest)),
        Some(("http", rest)) => is_host(&host(rest)) && is_loopback(&host(rest)),
        _ => false,
    };
    if is_allowed && url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(FetchError(format!("{url:?}: not an https URL (http is for loopback addresses only)")))
}

/// Whether a URL is that of a server on this machine.
#[cfg(feature = "auth-fetch")]
pub(crate) fn is_of_this_machine(url: &str) -> bool {
    url.split_once("://").is_some_and(|(_, rest)| is_loopback(&host(rest)))
}

/// The host, with its port, of a URL without its scheme.
fn host(rest: &str) -> String {
    rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase()
}

fn is_host(host: &str) -> bool {
    !host.is_empty() && !host.contains('@')
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod url_tests {
    use super::*;

    #[test]
    fn only_https_and_loopback_are_asked() {
        for url in [
            "https://issuer.example/jwks",
            "https://issuer.example:8443",
            "http://127.0.0.1:9000/jwks",
            "http://localhost/jwks",
            "http://LOCALHOST:1",
            "http://[::1]:9000/jwks",
        ] {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        for url in [
            "http://issuer.example/jwks",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example/",
            "http://localhost@evil.example/",
            "https://user@issuer.example/",
            "http://10.0.0.1/",
            "http://[::2]/",
            "file:///etc/passwd",
            "https://",
            "https:///x",
            "https://issuer.example/a b",
            "https://issuer.example/\r\nx",
            "issuer.example",
            "",
        ] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }
}
