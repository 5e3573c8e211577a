//! Protocol revisions: which rules a request is served by, and how its outcome is written for the client.
//!
//! There are two eras. In the *legacy* era (2024-11-05 to 2025-11-25) `initialize` opens a session and settles
//! its revision. In the *modern* era (2026-07-28) there are no sessions; each request names its revision and the
//! client's capabilities in `_meta`.
//!
//! The era is a property of each request, not of the connection, so one connection can serve both:
//!
//! 1. A request whose `_meta` has `io.modelcontextprotocol/protocolVersion` is modern. `initialize` is the
//!    exception: it is modern only if that version is a date of the modern era.
//! 2. A method that only the modern era has (`server/discover`, `subscriptions/listen`) is rejected without it.
//! 3. Every other request is legacy: it belongs to the session, and before `initialize` it is rejected.
//!
//! It is decided once: by [`of`], or over HTTP by `of_http`, where the `MCP-Protocol-Version` header counts, too,
//! and must not contradict the body.
//!
//! [`accept`] turns a request of either era into the same [`Accepted`] call, and [`encode`] writes the outcome in
//! the revision of the request. Nothing outside of this folder compares revisions; it asks `features`.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning>

pub(crate) mod batch;
mod capability;
pub(crate) mod client_info;
pub(crate) mod encode;
mod features;
mod legacy;
mod method;
mod modern;
pub(crate) mod server_info;

use std::sync::Arc;

use serde_json::json;

use crate::era::client_info::ClientInfo;
use crate::jsonrpc::Request;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::jsonrpc::object::{Object, invalid_object, optional, optional_object};
use crate::jsonrpc::raw::Raw;
use crate::protocol::{LogLevel, Revision};

pub(crate) use encode::sampling::SamplingCan;
pub(crate) use features::TaskNegotiation;
pub(crate) use legacy::LegacySession;
pub(crate) use method::{Method, Names, Offers, unknown as unknown_method};
pub(crate) use modern::CAPABILITIES;
#[cfg(feature = "http")]
pub(crate) use modern::{is_modern_date, unsupported_version};

/// The context of a call, the same for both eras.
#[derive(Debug)]
pub(crate) struct Envelope<'a> {
    pub(crate) revision: Revision,
    pub(crate) meta: Option<Raw<'a>>,
    /// The lowest level of log messages the client wants, if it wants any.
    pub(crate) log_level: Option<LogLevel>,
    client: ClientSource<'a>,
}

/// Where the client's name and version come from.
#[derive(Debug)]
enum ClientSource<'a> {
    /// The `initialize` of the session.
    Session(Arc<ClientInfo>),
    /// The `_meta` of the request, where it is optional.
    Request(Option<Raw<'a>>),
}

impl Envelope<'_> {
    pub(crate) fn client(&self) -> Arc<ClientInfo> {
        match &self.client {
            ClientSource::Session(client) => Arc::clone(client),
            ClientSource::Request(info) => Arc::new(ClientInfo::new(*info)),
        }
    }

    /// The client of the session, or else what the request says of it.
    pub(crate) fn client_source(&self) -> Result<Arc<ClientInfo>, Option<Raw<'_>>> {
        match &self.client {
            ClientSource::Session(client) => Ok(Arc::clone(client)),
            ClientSource::Request(info) => Err(*info),
        }
    }

    /// The `context` of `completion/complete`: the values of other arguments. Ignored where the revision does not
    /// have it.
    pub(crate) fn completion_context<'a>(&self, params: &Object<'a>) -> Option<Raw<'a>> {
        if self.revision.has_completion_context() { params.get("context") } else { None }
    }
}

/// A valid request: a known method of its revision, with its parameters and context.
#[derive(Debug)]
pub(crate) struct Accepted<'a> {
    pub(crate) method: Method,
    pub(crate) params: Object<'a>,
    /// The parameters as the client sent them, for custom methods.
    pub(crate) raw_params: Option<Raw<'a>>,
    pub(crate) envelope: Envelope<'a>,
}

/// The parameters of a request and the entries of their `_meta`, read once.
#[derive(Debug, Default)]
pub(crate) struct RequestParams<'a> {
    params: Object<'a>,
    /// The `_meta`, if it is an object. Legacy requests may have anything there, and null counts as absent.
    meta: Option<Raw<'a>>,
    entries: Object<'a>,
}

impl RequestParams<'_> {
    /// The parameters themselves.
    #[cfg(feature = "http")]
    pub(crate) fn params(&self) -> &Object<'_> {
        &self.params
    }
}

/// Reads the parameters of a request.
pub(crate) fn read<'a>(request: &Request<'a>) -> Result<RequestParams<'a>, RpcError> {
    let (params, meta) = optional("params", request.params, |raw| Object::read_with(raw, "_meta"))?;
    let (meta, entries) = match meta {
        Some((meta, entries)) => (Some(meta), entries.map_err(|why| invalid_object("_meta", &why))?),
        None => (None, Object::default()),
    };
    Ok(RequestParams { params, meta, entries })
}

/// By which rules a message is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// By those of 2026-07-28: it describes itself.
    Stateless,
    /// By those of the session it belongs to.
    Session,
}

/// The era of a request, by its body.
pub(crate) fn of(request: &Request<'_>, params: Option<&RequestParams<'_>>) -> Era {
    let claim = params.and_then(|params| params.entries.get(modern::VERSION));
    let stateless = match claim {
        // An `initialize` may name an older revision there.
        Some(claim) => request.method != "initialize" || modern::is_modern_version(claim),
        None => Method::is_modern_only(&request.method),
    };
    if stateless { Era::Stateless } else { Era::Session }
}

/// Why the header of a request over HTTP rules out every era.
#[cfg(feature = "http")]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderConflict<'a> {
    /// An `initialize` under a revision that has none.
    Initialize,
    /// A version that is not known.
    Unknown(&'a str),
}

/// The era of a request over HTTP, by its body and the version its header names.
#[cfg(feature = "http")]
#[inline]
pub(crate) fn of_http<'a>(
    request: &Request<'_>,
    params: Option<&RequestParams<'_>>,
    header: Option<&'a str>,
) -> Result<Era, HeaderConflict<'a>> {
    let era = of(request, params);
    let modern_header = header.is_some_and(is_modern_date);
    match header {
        _ if era == Era::Stateless => Ok(era),
        _ if request.method == "initialize" => {
            let claims = params.is_some_and(|params| params.entries.get(modern::VERSION).is_some());
            if modern_header && !claims { Err(HeaderConflict::Initialize) } else { Ok(era) }
        }
        _ if modern_header => Ok(Era::Stateless),
        Some(version) if Revision::with_sessions(version).is_none() => Err(HeaderConflict::Unknown(version)),
        _ => Ok(era),
    }
}

/// Compares the body of a request with the headers of its transport, which must not contradict it.
pub(crate) trait HeaderCheck {
    /// Checks the version.
    fn version(&self, claim: &str, method: &str, params: &Object<'_>) -> Result<(), RpcError>;
    /// Checks the method, and the tool, prompt or resource it names.
    fn call(&self, method: &str, params: &Object<'_>) -> Result<(), RpcError>;
}

/// For transports without headers.
impl HeaderCheck for () {
    fn version(&self, _: &str, _: &str, _: &Object<'_>) -> Result<(), RpcError> {
        Ok(())
    }

    fn call(&self, _: &str, _: &Object<'_>) -> Result<(), RpcError> {
        Ok(())
    }
}

/// Validates a request by the rules of its era. What it asks for exists and is offered, if this succeeds.
pub(crate) fn accept<'a, O: Offers>(
    era: Era,
    request: &Request<'a>,
    params: Result<RequestParams<'a>, RpcError>,
    session: &LegacySession,
    offers: &O,
    headers: &impl HeaderCheck,
) -> Result<Accepted<'a>, RpcError> {
    let method = &*request.method;
    if method.starts_with("notifications/") {
        return Err(RpcError::invalid_request(&format!("`{}` is a notification; it carries no id", shorten(method))));
    }
    let is_list = |raw: Raw<'_>| raw.get().starts_with('[');
    let RequestParams { params, meta, entries } = match params {
        // The protocol's methods take objects only; a custom method may take a list.
        Err(_) if request.params.is_some_and(is_list) && Method::custom(method, offers).is_some() => {
            RequestParams::default()
        }
        params => params?,
    };
    let (method, envelope) = match era {
        Era::Stateless if entries.get(modern::VERSION).is_none() => {
            return Err(modern::incomplete(params.get("_meta")));
        }
        Era::Stateless => modern::accept(method, &params, meta, &entries, offers, headers)?,
        Era::Session => legacy::accept(method, &params, meta, session, offers)?,
    };
    Ok(Accepted { method, params, raw_params: request.params, envelope })
}

/// Whether a request names its revision in `_meta`.
pub(crate) fn is_modern(request: &Request<'_>) -> bool {
    read(request).is_ok_and(|params| params.entries.get(modern::VERSION).is_some())
}

/// The context of a notification: from its `_meta` if that is modern and valid, else from the session.
pub(crate) fn envelope<'a>(params: &Object<'a>, session: &LegacySession) -> Envelope<'a> {
    let meta = params.get("_meta").filter(|raw| raw.kind() == "object");
    let entries = optional_object("_meta", meta).unwrap_or_default();
    modern::envelope(meta, &entries, &|_| Ok(())).unwrap_or_else(|_| session.envelope(meta))
}

/// Reads a log level; the error lists the valid ones.
fn log_level(raw: Raw<'_>, field: &str) -> Result<LogLevel, RpcError> {
    raw.text().and_then(|text| text.parse().ok()).ok_or_else(|| match raw.kind() {
        "string" => RpcError::invalid_params(format!("Invalid params: `{field}` is not a log level"))
            .with_data(json!({"field": field, "allowed": LogLevel::ALL})),
        other => RpcError::wrong_field(field, "string", other),
    })
}
