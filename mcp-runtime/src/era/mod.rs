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
pub(crate) use modern::{is_modern_date, unsupported_version};

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

impl RequestParams<'_> {
    /// Whether the request says that it is of the modern era.
    pub(crate) fn is_modern(&self) -> bool {
        self.entries.get(modern::VERSION).is_some()
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

/// Which rules a request over HTTP is served by.
#[cfg(feature = "http")]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Era<'a> {
    Modern,
    Legacy,
    /// An `initialize` under a header that knows none.
    Contradiction,
    /// A header with a version nobody knows.
    Unknown(&'a str),
}

/// The era of a request, by its body and the version its header names.
#[cfg(feature = "http")]
pub(crate) fn of<'a>(request: &Request<'_>, read: Option<&RequestParams<'_>>, header: Option<&'a str>) -> Era<'a> {
    let claim = read.and_then(|read| read.entries.get(modern::VERSION));
    let modern_header = header.is_some_and(is_modern_date);
    if request.method == "initialize" {
        return match claim {
            Some(claim) if modern::looks_modern(claim) => Era::Modern,
            None if modern_header => Era::Contradiction,
            _ => Era::Legacy,
        };
    }
    match header {
        _ if claim.is_some() || modern_header || Method::is_modern_only(&request.method) => Era::Modern,
        Some(version) if !Revision::LEGACY.iter().any(|known| known.as_str() == version) => Era::Unknown(version),
        _ => Era::Legacy,
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

/// Decides the era of a request and validates it by that era's rules.
pub(crate) fn accept<'a>(
    request: &Request<'a>,
    read: Result<RequestParams<'a>, RpcError>,
    session: &LegacySession,
    catalog: &impl Offers,
    witness: &impl HeaderCheck,
) -> Result<Accepted<'a>, RpcError> {
    let method = &*request.method;
    if method.starts_with("notifications/") {
        return Err(RpcError::invalid_request(&format!("`{}` is a notification; it carries no id", shorten(method))));
    }
    let is_list = |raw: Raw<'_>| raw.get().starts_with('[');
    let RequestParams { params, meta, entries } = match read {
        // The protocol's own methods take objects; others may do as they like.
        Err(_) if request.params.is_some_and(is_list) && Method::custom(method, catalog).is_some() => {
            RequestParams::default()
        }
        read => read?,
    };
    let (method, envelope) = match entries.get(modern::VERSION) {
        Some(claim) if method != "initialize" || modern::looks_modern(claim) => {
            modern::accept(method, &params, meta, &entries, catalog, witness)?
        }
        None if Method::is_modern_only(method) => return Err(modern::incomplete(params.get("_meta"))),
        _ => legacy::accept(method, &params, meta, session, catalog)?,
    };
    Ok(Accepted { method, params, raw_params: request.params, envelope })
}

/// Whether a request says that it is of the modern era.
pub(crate) fn is_modern(request: &Request<'_>) -> bool {
    read(request).is_ok_and(|read| read.is_modern())
}

/// What is wrong with a request that its headers say is modern, and that says nothing of it itself.
#[cfg(feature = "http")]
pub(crate) fn incomplete(request: &Request<'_>) -> RpcError {
    match optional_object("params", request.params) {
        Ok(params) => modern::incomplete(params.get("_meta")),
        Err(error) => error,
    }
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
