//! What observers are told: [`Finished`], [`Asked`], [`SessionEnded`]. All of it is borrowed, and bounded where it comes
//! from the wire.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use super::{Outcome, SessionHash};
use crate::jsonrpc::error::{RpcError, beginning};
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;
use crate::protocol::Revision;

/// What stands for a name that only clients know.
pub(crate) const OTHER: &str = "_OTHER";

/// The codes of which OpenTelemetry's conventions say that they are the caller's fault, not the server's.
const OF_CALLER: [i32; 5] = [
    RpcError::PARSE,
    RpcError::INVALID_REQUEST,
    RpcError::METHOD_NOT_FOUND,
    RpcError::INVALID_PARAMS,
    RpcError::RESOURCE_NOT_FOUND,
];

/// Other codes that are no failure of the server's: the caller lacks scopes, the user says no or has to open a URL first,
/// a header or a capability is missing, a revision is not spoken.
const NOT_OF_SERVER: [i32; 6] = [
    RpcError::FORBIDDEN,
    RpcError::USER_DECLINED,
    RpcError::URL_REQUIRED,
    RpcError::HEADER_MISMATCH,
    RpcError::MISSING_CAPABILITY,
    RpcError::UNSUPPORTED_VERSION,
];

/// A request that is over. The argument of [`Observer::finished`](super::Observer::finished).
///
/// `method`, `target` and `outcome` have few values, whatever clients send, and can be labels of metrics. The others
/// cannot.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Finished<'a> {
    /// The method: of the protocol, or one of the server's own. `_OTHER` for every other, and for a message that could
    /// not be read.
    pub method: &'a str,
    /// The name of the tool or prompt, also of one whose arguments are completed, or the URI or URI template of the resource, as the server has it. `_OTHER` if it
    /// has none of that name. `None` if the method names nothing.
    pub target: Option<&'a str>,
    /// The URI of the resource, as the client sent it; at most 300 bytes of it.
    pub uri: Option<&'a str>,
    /// The revision the request was served by; of one that was refused, the revision it names. `None` if that is not known.
    pub revision: Option<Revision>,
    /// The transport it arrived on.
    pub transport: Transport,
    /// The version of HTTP, as OpenTelemetry's `network.protocol.version`: `1.1`, `2`. `None` on stdio and HTTP+SSE.
    pub http_version: Option<&'static str>,
    /// Whether it came over a Unix socket of the server's own.
    pub is_unix_socket: bool,
    /// From the complete message to its answer, or to its end without one.
    pub duration: Duration,
    /// How the request ended.
    pub outcome: Outcome,
    /// The code of the JSON-RPC error it was answered with.
    pub code: Option<i32>,
    /// The status of the HTTP response. 202 over HTTP+SSE, whose answers are on the stream. In rare cases a 503 is sent
    /// instead of an answer that has been told: if a store fails then, or memory for a long response.
    pub status: Option<u16>,
    /// The length of its message, in bytes.
    pub bytes_in: usize,
    /// The length of its answer in bytes, without notifications.
    pub bytes_out: usize,
    /// The authenticated caller: the issuer, the subject and the client of the token, separated by `|`, in which `|` and `\\` are
    /// escaped; or what [`HttpService::principal`](crate::http::HttpService::principal) returns.
    pub user: Option<&'a str>,
    /// The address it came from, over HTTP.
    pub peer: Option<IpAddr>,
    /// The HTTP session it belongs to, by a digest of its id.
    pub session: Option<SessionHash>,
    /// The id of the HTTP request, with [`HttpService::request_ids`](crate::http::HttpService::request_ids): at most 128 bytes,
    /// letters, digits and a few signs.
    pub http_request_id: Option<&'a str>,
    pub(crate) client: ClientField<'a>,
}

impl<'a> Finished<'a> {
    /// The client's name and version, as it reports them: labels for logs, not an identity. Each has at most 300 bytes;
    /// control characters are as they were sent.
    pub fn client(&self) -> Option<ClientName<'a>> {
        match self.client {
            ClientField::Unknown => None,
            ClientField::Known(name, version) => Some(ClientName::bounded(name.into(), version.into())),
            ClientField::Json(json) => {
                let info = Object::read(Raw::new_unchecked(json)).ok()?;
                let text = |key: &str| info.get(key).and_then(Raw::text);
                text("name").zip(text("version")).map(|(name, version)| ClientName::bounded(name, version))
            }
        }
    }

    /// Why it failed, as OpenTelemetry's `error.type`: the code of an error (`-32603`), `tool_error`, `timeout`,
    /// `cancelled`, `client_gone` or `shutdown`. `None` if it succeeded, or failed by the caller's fault. A client ends a
    /// `subscriptions/listen` by leaving or cancelling it, which is no failure.
    pub fn error_type(&self) -> Option<Cow<'static, str>> {
        match self.outcome {
            Outcome::Answered | Outcome::InputRequired | Outcome::TaskCreated => None,
            Outcome::ToolError => Some("tool_error".into()),
            Outcome::TimedOut => Some("timeout".into()),
            Outcome::Shutdown => Some("shutdown".into()),
            Outcome::Cancelled | Outcome::ClientGone if self.method == "subscriptions/listen" => None,
            Outcome::Cancelled => Some("cancelled".into()),
            Outcome::ClientGone => Some("client_gone".into()),
            Outcome::Error | Outcome::Refused | Outcome::Panicked => match self.code {
                Some(code) => error_type_of(code),
                None if self.outcome == Outcome::Panicked => Some("tool_error".into()),
                None => self.status.filter(|status| *status >= 500).map(|status| status.to_string().into()),
            },
        }
    }

    /// OpenTelemetry's `network.transport`: `pipe`, `tcp` or `unix`.
    pub fn network_transport(&self) -> &'static str {
        if self.is_unix_socket { "unix" } else { self.transport.network() }
    }

    /// Whether the server failed, so that its operator should look: [`error_type`](Self::error_type) is there, neither the
    /// client nor its connection ended the request, and the code is none that callers or their users cause: missing
    /// scopes (-31403), a limit on calls (-32000), a user who declines (-1) or has to open a URL first (-32042), -32020,
    /// -32021 and -32022.
    pub fn is_server_error(&self) -> bool {
        let is_rate = self.outcome == Outcome::Refused && self.code == Some(RpcError::THROTTLED);
        self.is_span_error() && !is_rate && !self.code.is_some_and(|code| NOT_OF_SERVER.contains(&code))
    }

    /// Whether its span has the status of an error, by the conventions.
    pub(crate) fn is_span_error(&self) -> bool {
        !matches!(self.outcome, Outcome::Cancelled | Outcome::ClientGone) && self.error_type().is_some()
    }
}

/// The `error.type` of a code. Most codes are known, and cost no allocation.
fn error_type_of(code: i32) -> Option<Cow<'static, str>> {
    match code {
        code if OF_CALLER.contains(&code) => None,
        RpcError::INTERNAL => Some("-32603".into()),
        code => Some(code.to_string().into()),
    }
}

/// The transport a request arrived on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// Lines over two streams: those of the process, or a [`TestClient`](crate::testing::TestClient).
    Stdio,
    /// HTTP without a session.
    Http,
    /// HTTP in a session.
    HttpSession,
    /// HTTP+SSE, of 2024-11-05.
    Sse,
}

impl Transport {
    /// The transport as a label: `stdio`, `http`, `http_session`, `sse`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::HttpSession => "http_session",
            Self::Sse => "sse",
        }
    }

    /// OpenTelemetry's `network.transport`: `pipe` or `tcp`.
    pub fn network(self) -> &'static str {
        match self {
            Self::Stdio => "pipe",
            Self::Http | Self::HttpSession | Self::Sse => "tcp",
        }
    }

    /// OpenTelemetry's `network.protocol.name`: `http`, or nothing.
    pub fn protocol(self) -> Option<&'static str> {
        (self != Self::Stdio).then_some("http")
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The client's name and version, as it reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientName<'a> {
    /// The `name` in its `clientInfo`.
    pub name: Cow<'a, str>,
    /// The `version` in its `clientInfo`.
    pub version: Cow<'a, str>,
}

impl<'a> ClientName<'a> {
    fn bounded(name: Cow<'a, str>, version: Cow<'a, str>) -> Self {
        ClientName { name: bounded(name), version: bounded(version) }
    }
}

fn bounded(text: Cow<'_, str>) -> Cow<'_, str> {
    let end = beginning(&text, 300).len();
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}

/// Where the client's name is. In 2026-07-28 every request has it as JSON, which is read only if an observer asks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClientField<'a> {
    Unknown,
    Known(&'a str, &'a str),
    /// An object that has been validated.
    Json(&'a str),
}

/// A request of the server's to a client that is over. The argument of [`Observer::asked`](super::Observer::asked).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Asked<'a> {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: &'a str,
    /// The revision of the session.
    pub revision: Revision,
    /// How the client is connected.
    pub transport: Transport,
    /// From the question to the response, or to the end of the wait for it.
    pub duration: Duration,
    /// [`Answered`](Outcome::Answered), [`Error`](Outcome::Error) if the client says so,
    /// [`TimedOut`](Outcome::TimedOut), [`ClientGone`](Outcome::ClientGone), or [`Cancelled`](Outcome::Cancelled) if the
    /// call that asked was dropped.
    pub outcome: Outcome,
    /// The code of the client's error. Clients choose it: not a label.
    pub code: Option<i64>,
}

impl Asked<'_> {
    /// Why it failed, as OpenTelemetry's `error.type`. On this side, every code is a failure. Codes that JSON-RPC does not
    /// reserve are `_OTHER`, except -1, by which users decline: a client may send any number, and this may be a label.
    pub fn error_type(&self) -> Option<Cow<'static, str>> {
        match (self.outcome, self.code) {
            (outcome, _) if outcome.is_success() => None,
            (Outcome::Error, Some(_)) => self.status_code(),
            (Outcome::TimedOut, _) => Some("timeout".into()),
            (outcome, _) => Some(outcome.as_str().into()),
        }
    }

    /// The code of the client's error as a label.
    pub(crate) fn status_code(&self) -> Option<Cow<'static, str>> {
        let known = |code: i64| matches!(code, -32768..=-32000 | -1);
        self.code.map(|code| if known(code) { code.to_string().into() } else { OTHER.into() })
    }
}

/// A notification of a client's that was handled. The argument of [`Observer::notified`](super::Observer::notified).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Notified<'a> {
    /// The method: one that clients of some revision send, or one of the server's own. `_OTHER` for every other.
    pub method: &'a str,
    /// The revision of the session. `None` without one.
    pub revision: Option<Revision>,
    /// The transport it arrived on.
    pub transport: Transport,
    /// The version of HTTP: `1.1`, `2`.
    pub http_version: Option<&'static str>,
    /// Whether it came over a Unix socket of the server's own.
    pub is_unix_socket: bool,
    /// How long it took to take it. A handler of the server's own may go on.
    pub duration: Duration,
    /// The length of its message, in bytes.
    pub bytes_in: usize,
    /// The HTTP session it belongs to, by a digest of its id.
    pub session: Option<SessionHash>,
}

impl Notified<'_> {
    /// OpenTelemetry's `network.transport`: `pipe`, `tcp` or `unix`.
    pub fn network_transport(&self) -> &'static str {
        if self.is_unix_socket { "unix" } else { self.transport.network() }
    }
}

/// A session that is over. The argument of [`Observer::session_ended`](super::Observer::session_ended).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SessionEnded {
    /// The revision of the session.
    pub revision: Revision,
    /// How the client was connected.
    pub transport: Transport,
    /// How long the session lasted, from `initialize` to its end.
    pub duration: Duration,
    /// The HTTP session, by a digest of its id. `None` on stdio.
    pub session: Option<SessionHash>,
}

#[cfg(test)]
mod tests;
