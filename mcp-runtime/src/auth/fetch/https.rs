//! [`HttpsFetcher`]: [`Fetch`] by hyper and rustls.
//!
//! Cryptography is ring's, passed to this client alone: no provider is installed for the process. Certificates are
//! verified with the roots of Mozilla, which are part of the binary and so in every container, and with those that are
//! added. Connections are kept for a moment: an introspection per call does not need a handshake per call.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{Request, Response};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::{Instant, timeout_at};

use super::{Fetch, FetchError, FetchForm, FetchFuture, FetchRequest, FetchResponse, MAX_BODY, TIMEOUT, check_url};

const MAX_REDIRECTS: usize = 3;
const IDLE: Duration = Duration::from_secs(30);
const MAX_IDLE: usize = 4;

/// The HTTPS client for authorization servers. Requires the feature `auth-fetch`.
///
/// It trusts the certificates of Mozilla's list; see [`with_root_certificates`](Self::with_root_certificates) for others.
#[derive(Debug, Clone)]
pub struct HttpsFetcher {
    client: Client<HttpsConnector<HttpConnector>, String>,
}

impl HttpsFetcher {
    /// A client that trusts the certificates of Mozilla's list.
    pub fn new() -> Self {
        Self::with_roots(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() })
    }

    /// A client that trusts the certificates of a PEM file, too: those of a company, or of a test.
    ///
    /// # Errors
    ///
    /// If there is no certificate in the file, or one cannot be read.
    pub fn with_root_certificates(pem: &[u8]) -> Result<Self, FetchError> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let known = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let added = certificate
                .map_err(|error| error.to_string())
                .and_then(|certificate| roots.add(certificate).map_err(|error| error.to_string()));
            added.map_err(|error| FetchError(format!("a root certificate cannot be read: {error}")))?;
        }
        if roots.len() == known {
            let why = "there is no certificate in this PEM text: it needs `-----BEGIN CERTIFICATE-----`";
            return Err(FetchError(why.to_owned()));
        }
        Ok(Self::with_roots(roots))
    }

    fn with_roots(roots: RootCertStore) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has the cipher suites of TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        // Not https only: `check_url` allows http on loopback addresses.
        let connector = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(MAX_IDLE)
            .build(connector);
        HttpsFetcher { client }
    }

    /// Sends one request as it is, and returns the response with its headers. Redirects are not followed. A body that is
    /// too long, or does not end in time, is cut off: what has come says who answers.
    pub(crate) async fn probe(&self, request: Request<String>) -> Result<Response<Vec<u8>>, FetchError> {
        check_url(&request.uri().to_string())?;
        let until = Instant::now() + TIMEOUT;
        let response = match timeout_at(until, self.client.request(request)).await {
            Ok(response) => response.map_err(|error| FetchError(chain(&error)))?,
            Err(_) => return Err(FetchError(format!("no answer within {} seconds", TIMEOUT.as_secs()))),
        };
        let (head, mut incoming) = response.into_parts();
        let mut body = Vec::new();
        while let Ok(Some(Ok(frame))) = timeout_at(until, poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx))).await {
            // One byte more shows that it is too long.
            let data = frame.data_ref().map(|data| &data[..data.len().min(MAX_BODY + 1 - body.len())]);
            body.extend_from_slice(data.unwrap_or_default());
            if body.len() > MAX_BODY {
                break;
            }
        }
        Ok(Response::from_parts(head, body))
    }

    async fn follow(&self, request: FetchRequest) -> Result<FetchResponse, FetchError> {
        let FetchRequest { mut url, form } = request;
        for _ in 0..=MAX_REDIRECTS {
            check_url(&url)?;
            let request = build(&url, form.as_ref())?;
            let response = self.client.request(request).await.map_err(|error| FetchError(chain(&error)))?;
            if !response.status().is_redirection() {
                return read(response).await;
            }
            if form.is_some() {
                return Err(FetchError("it redirects; configure the URL that it redirects to".to_owned()));
            }
            url = target(&url, &response)?;
        }
        Err(FetchError(format!("it redirects more than {MAX_REDIRECTS} times")))
    }
}

impl Default for HttpsFetcher {
    fn default() -> Self {
        HttpsFetcher::new()
    }
}

impl Fetch for HttpsFetcher {
    fn fetch(&self, request: FetchRequest) -> FetchFuture<'_> {
        Box::pin(self.follow(request))
    }
}

fn build(url: &str, form: Option<&FetchForm>) -> Result<Request<String>, FetchError> {
    let agent = concat!("mcp-runtime/", env!("CARGO_PKG_VERSION"));
    let mut request = Request::builder().uri(url).header(USER_AGENT, agent).header(ACCEPT, "application/json");
    let mut body = String::new();
    if let Some(form) = form {
        request = request.method("POST").header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(authorization) = &form.authorization {
            let mut value = http::HeaderValue::try_from(authorization)
                .map_err(|_| FetchError("the client's credentials cannot be sent in a header".to_owned()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        body.clone_from(&form.body);
    }
    request.body(body).map_err(|error| FetchError(error.to_string()))
}

async fn read(response: Response<Incoming>) -> Result<FetchResponse, FetchError> {
    let (head, mut incoming) = response.into_parts();
    let max_age = head.headers.get(CACHE_CONTROL).and_then(|value| max_age(value.to_str().ok()?));
    let mut body = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx)).await {
        let frame = frame.map_err(|error| FetchError(chain(&error)))?;
        let Some(data) = frame.data_ref() else { continue };
        if body.len() + data.len() > MAX_BODY {
            return Err(FetchError(format!("the response is longer than {} KiB", MAX_BODY / 1024)));
        }
        body.extend_from_slice(data);
    }
    Ok(FetchResponse { status: head.status.as_u16(), body, max_age })
}

/// The URL of a redirect on the same host. Any other would let whoever controls a redirect choose the keys.
fn target<B>(url: &str, response: &Response<B>) -> Result<String, FetchError> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let origin = origin_of(url);
    if location.starts_with('/') && !location.starts_with("//") {
        return Ok(format!("{origin}{location}"));
    }
    if origin_of(location).eq_ignore_ascii_case(origin) {
        return Ok(location.to_owned());
    }
    Err(FetchError(format!(
        "it redirects to another host, which is not followed; configure the URL itself if it is right: {:?}",
        location.chars().take(200).collect::<String>()
    )))
}

/// Scheme, host and port.
fn origin_of(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
}

/// `max-age` of `Cache-Control` (RFC 9111 §5.2.2).
fn max_age(value: &str) -> Option<Duration> {
    let directives = || value.split(',').map(str::trim);
    if directives().any(|name| name.eq_ignore_ascii_case("no-store") || name.eq_ignore_ascii_case("no-cache")) {
        return Some(Duration::ZERO);
    }
    let age = directives().find_map(|directive| {
        let (name, seconds) = directive.split_once('=')?;
        name.eq_ignore_ascii_case("max-age").then(|| seconds.trim_matches('"').parse().ok())?
    });
    age.map(Duration::from_secs)
}

/// An error with its causes: hyper's own texts are "client error" and the like.
fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
