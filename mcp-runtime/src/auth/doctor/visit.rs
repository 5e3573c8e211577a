//! [`Visit`]: requests as a client sends them, and [`Reply`]: what came back.

use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderName, LOCATION, ORIGIN, USER_AGENT, WWW_AUTHENTICATE,
};
use http::{HeaderValue, Method, Request, Response};
use serde_json::Value;

use super::date;
use super::report::{Check, Report};
use super::www_authenticate::{self, ReceivedChallenge};
use crate::auth::clock;
use crate::auth::fetch::https::HttpsFetcher;
use crate::auth::fetch::{FetchError, MAX_BODY, is_of_this_machine};
use crate::auth::resource::ResourceUrl;

/// A message that every server understands, if it lets it in.
const MESSAGE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"mcp-doctor","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}}}"#
);
/// A page that clients in browsers could be on.
const PAGE: &str = "https://client.example";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// How far clocks may be apart, in seconds: what tokens are granted.
const MAX_SKEW: u64 = 60;
/// No more of a text that others have chosen is repeated.
const MAX_QUOTE: usize = 200;

/// Sends requests to a deployment.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) client: HttpsFetcher,
}

impl Visit {
    /// Posts a message, with a token or without. A session that this opens is ended.
    pub(super) async fn post(&self, url: &str, token: Option<&str>) -> Result<Reply, FetchError> {
        let reply = self.send(Method::POST, url, token, &[(ACCEPT, "application/json, text/event-stream")]).await?;
        if let Some(session) = reply.0.headers().get(SESSION).and_then(|id| id.to_str().ok()) {
            // A courtesy: it would end by itself.
            let _ = self.send(Method::DELETE, url, token, &[(SESSION, session)]).await;
        }
        Ok(reply)
    }

    /// Reads a document.
    pub(super) async fn get(&self, url: &str) -> Result<Reply, FetchError> {
        self.send(Method::GET, url, None, &[(ACCEPT, "application/json")]).await
    }

    /// Reads a document, as a page of another origin would.
    pub(super) async fn get_from_page(&self, url: &str) -> Result<Reply, FetchError> {
        self.send(Method::GET, url, None, &[(ACCEPT, "application/json"), (ORIGIN, PAGE)]).await
    }

    /// Asks whether a page of another origin may read a document.
    pub(super) async fn preflight(&self, url: &str) -> Result<Reply, FetchError> {
        let method = HeaderName::from_static("access-control-request-method");
        let headers = HeaderName::from_static("access-control-request-headers");
        let wanted = [(ORIGIN, PAGE), (method, "GET"), (headers, "mcp-protocol-version")];
        self.send(Method::OPTIONS, url, None, &wanted).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        token: Option<&str>,
        headers: &[(HeaderName, &str)],
    ) -> Result<Reply, FetchError> {
        let has_body = method == Method::POST;
        let agent = concat!("mcp-runtime-doctor/", env!("CARGO_PKG_VERSION"));
        let mut request = Request::builder().method(method).uri(url).header(USER_AGENT, agent);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        if has_body {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(token) = token {
            let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| FetchError("the token has characters that no header can have".to_owned()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let body = if has_body { MESSAGE.to_owned() } else { String::new() };
        let request = request.body(body).map_err(|error| FetchError(error.to_string()))?;
        self.client.probe(request).await.map(Reply)
    }
}

/// A response, with as much of its body as is needed.
#[derive(Debug)]
pub(super) struct Reply(pub(super) Response<Vec<u8>>);

impl Reply {
    pub(super) fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    pub(super) fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.0.headers().get(name).and_then(|value| value.to_str().ok())
    }

    pub(super) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.0.body())
    }

    /// Whether the body is longer than what servers read.
    pub(super) fn is_too_long(&self) -> bool {
        self.0.body().len() > MAX_BODY
    }

    /// The body, if it is a JSON object.
    pub(super) fn json(&self) -> Option<Value> {
        if self.is_too_long() {
            return None;
        }
        serde_json::from_slice(self.0.body()).ok().filter(Value::is_object)
    }

    pub(super) fn is_html(&self) -> bool {
        self.header(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html"))
            || self.text().trim_start().get(..14).is_some_and(|start| start.eq_ignore_ascii_case("<!doctype html"))
    }

    pub(super) fn location(&self) -> &str {
        self.header(LOCATION).unwrap_or_default()
    }

    pub(super) fn is_redirect(&self) -> bool {
        self.0.status().is_redirection()
    }

    /// Whether a page of another origin may read it.
    pub(super) fn is_shared(&self) -> bool {
        self.header("access-control-allow-origin").is_some_and(|origin| origin == "*" || origin == PAGE)
    }

    /// All challenges.
    pub(super) fn challenges(&self) -> Vec<ReceivedChallenge> {
        let headers = self.0.headers().get_all(WWW_AUTHENTICATE).iter();
        headers.filter_map(|header| header.to_str().ok()).flat_map(www_authenticate::parse).collect()
    }

    /// The challenge that asks for a token.
    pub(super) fn challenge(&self) -> Option<ReceivedChallenge> {
        self.challenges().into_iter().find(ReceivedChallenge::is_for_tokens)
    }

    /// What a person would say of it.
    pub(super) fn summary(&self) -> String {
        let status = self.status();
        match self.is_redirect() {
            true => format!("status {status}, a redirect to {}", quote(self.location())),
            false if self.is_html() => format!("status {status}, with an HTML page"),
            false => format!("status {status}"),
        }
    }

    /// Compares the clock of whoever answered with this one.
    pub(super) fn check_clock(&self, whose: &str, report: &mut Report) {
        let Some(theirs) = self.header(DATE).and_then(date::parse) else { return };
        let ours = clock::now();
        let (apart, which) = if theirs < ours { (ours - theirs, "behind") } else { (theirs - ours, "ahead of") };
        if apart <= MAX_SKEW {
            return report.ok(Check::Clock, format!("{whose} has the same time"));
        }
        report.warn(
            Check::Clock,
            format!("the clock of {whose} is {apart} s {which} this one, so tokens may be rejected as expired or not yet valid"),
            "synchronize the clocks (NTP); `Auth::leeway` accepts more than a minute",
        );
    }
}

/// Whether a resource, or a document of it, may name this URL: one elsewhere must not choose whom this machine talks to in
/// its own network.
pub(super) fn may_name(resource: &ResourceUrl, url: &str) -> bool {
    is_of_this_machine(resource.as_str()) || !is_of_this_machine(url)
}

/// A text that others have chosen, in quotes and not too long.
pub(super) fn quote(text: &str) -> String {
    let shown: String = text.chars().take(MAX_QUOTE).collect();
    let more = if shown.len() < text.len() { " …" } else { "" };
    format!("{shown:?}{more}")
}

/// What to do about a host that does not answer.
pub(super) fn unreachable(why: &FetchError) -> &'static str {
    let why = why.0.to_ascii_lowercase();
    if why.contains("certificate") {
        "its certificate is not trusted: serve one with the whole chain, for this name, that has not expired; for a \
         certificate authority of your own, pass it on (`--ca-file`, `HttpsFetcher::with_root_certificates`)"
    } else if why.contains("dns error") || why.contains("lookup") {
        "its name does not resolve here: check the URL for a typo, and the DNS record"
    } else if why.contains("refused") {
        "nothing listens there: start the server or its proxy, and check the port"
    } else if why.contains("https url") {
        "use https; http is for this machine only"
    } else {
        "check that it runs, and that no firewall or proxy is in the way; the same request: `curl -i -X POST URL`"
    }
}
