//! Which era a message belongs to, and what that makes of it.
//!
//! The era is a property of each message, not of the connection: a request that carries modern
//! `_meta` is served by the rules of 2026-07-28, whatever was sent before; every other request
//! belongs to the session that `initialize` opened. Beyond this module nothing asks for versions.
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
pub(crate) use method::{Method, Offers, unknown as unknown_method};
pub(crate) use modern::CAPABILITIES;
#[cfg(feature = "http")]
pub(crate) use modern::{is_modern_date, unsupported};

/// What surrounds a call: computed here, at the edge, and the same for both eras.
#[derive(Debug)]
pub(crate) struct Envelope<'a> {
    pub(crate) revision: Revision,
    pub(crate) meta: Option<Raw<'a>>,
    /// The least grave messages the client wants, if it wants any.
    pub(crate) log_level: Option<LogLevel>,
    peer: ClientSource<'a>,
}

/// Who asks.
#[derive(Debug)]
enum ClientSource<'a> {
    /// Whoever opened the session.
    LegacySession(Arc<ClientInfo>),
    /// Whoever the request says, if it says so.
    Request(Option<Raw<'a>>),
}

impl Envelope<'_> {
    pub(crate) fn client(&self) -> Arc<ClientInfo> {
        match &self.peer {
            ClientSource::LegacySession(client) => Arc::clone(client),
            ClientSource::Request(info) => Arc::new(ClientInfo::new(*info)),
        }
    }

    /// What a `completion/complete` tells of the other arguments. The member is one of 2025-06-18; to
    /// older revisions it means nothing, whatever it is.
    pub(crate) fn completion_context<'a>(&self, params: &Object<'a>) -> Option<Raw<'a>> {
        params.get("context").filter(|_| self.revision >= Revision::V2025_06_18)
    }
}

/// A request that passed the gate.
#[derive(Debug)]
pub(crate) struct Accepted<'a> {
    pub(crate) method: Method,
    pub(crate) params: Object<'a>,
    /// The parameters as they came, for a method that takes them as it likes.
    pub(crate) raw_params: Option<Raw<'a>>,
    pub(crate) envelope: Envelope<'a>,
}

/// The parameters of a request and what their `_meta` says, read once for everybody who asks.
#[derive(Debug, Default)]
pub(crate) struct RequestParams<'a> {
    params: Object<'a>,
    /// The `_meta`, if it is an object: to older revisions another one means nothing; nor does null to any.
    meta: Option<Raw<'a>>,
    entries: Object<'a>,
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
        Some(claim) => request.method != "initialize" || modern::looks_modern(claim),
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

/// What a transport says of a request besides its body, which must not contradict it.
pub(crate) trait HeaderCheck {
    /// The revision.
    fn version(&self, claim: &str, method: &str, params: &Object<'_>) -> Result<(), RpcError>;
    /// The method, and what it is called on.
    fn call(&self, method: &str, params: &Object<'_>) -> Result<(), RpcError>;
}

/// A transport that says nothing.
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
        // The protocol's own methods take objects; others may do as they like.
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

/// Whether a request says that it is of the modern era.
pub(crate) fn is_modern(request: &Request<'_>) -> bool {
    read(request).is_ok_and(|params| params.entries.get(modern::VERSION).is_some())
}

/// What surrounds a notification: what its `_meta` says, or else the session.
pub(crate) fn envelope<'a>(params: &Object<'a>, session: &LegacySession) -> Envelope<'a> {
    let meta = params.get("_meta").filter(|raw| raw.kind() == "object");
    let entries = optional_object("_meta", meta).unwrap_or_default();
    modern::envelope(meta, &entries, |_| Ok(())).unwrap_or_else(|_| session.envelope(meta))
}

/// A log level, or an error that names them all.
fn log_level(raw: Raw<'_>, field: &str) -> Result<LogLevel, RpcError> {
    serde_json::from_str(raw.get()).map_err(|_| match raw.kind() {
        "string" => RpcError::invalid_params(format!("Invalid params: `{field}` is no log level"))
            .with_data(json!({"field": field, "allowed": LogLevel::ALL})),
        other => RpcError::wrong_field(field, "string", other),
    })
}
