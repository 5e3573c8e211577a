//! The modern era (2026-07-28): no sessions; every request describes itself in its `_meta`.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic>

use serde_json::json;

use super::client_info;
use super::{ClientSource, Envelope, HeaderCheck, Method};
use crate::era::Offers;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::{Object, required_string};
use crate::jsonrpc::raw::Raw;
use crate::protocol::Revision;

pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CAPABILITIES_PATH: &str = "_meta.io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_PATH: &str = "_meta.io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Whether a version in `_meta` is a date of this era. An `initialize` may carry another.
pub(super) fn is_modern_version(claim: Raw<'_>) -> bool {
    claim.text().is_some_and(|date| is_modern_date(&date))
}

/// Whether a version is a date of this era.
pub(crate) fn is_modern_date(date: &str) -> bool {
    let dated = date.len() == 10
        && date
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() });
    dated && date >= Revision::V2026_07_28.as_str()
}

/// Validates a request: its `_meta`, the version, the headers, then the method. The first failed check answers.
pub(super) fn accept<'a>(
    method: &str,
    params: &Object<'a>,
    meta: Option<Raw<'a>>,
    entries: &Object<'a>,
    catalog: &impl Offers,
    headers: &impl HeaderCheck,
) -> Result<(Method, Envelope<'a>), RpcError> {
    let envelope = envelope(meta, entries, &|claim| headers.version(claim, method, params))?;
    headers.call(method, params)?;
    Ok((Method::find(method, envelope.revision, catalog)?, envelope))
}

/// Reads the context of a message from its `_meta`. `check_version` may reject the version before it is looked up.
pub(super) fn envelope<'a>(
    meta: Option<Raw<'a>>,
    entries: &Object<'a>,
    check_version: &dyn Fn(&str) -> Result<(), RpcError>,
) -> Result<Envelope<'a>, RpcError> {
    let claim = required_string(entries.get(VERSION), format_args!("_meta.{VERSION}"))?;
    let capabilities = entries.get(CAPABILITIES).ok_or_else(|| missing(CAPABILITIES, "object"))?;
    client_info::check_capabilities(capabilities, CAPABILITIES_PATH)?;
    let client = entries.get(CLIENT);
    if let Some(client) = client {
        client_info::check_info(client, CLIENT_PATH, true)?;
    }
    let log_level =
        entries.get(LOG_LEVEL).map(|raw| super::log_level(raw, &format!("_meta.{LOG_LEVEL}"))).transpose()?;
    check_version(&claim)?;
    let revision = Revision::MODERN
        .into_iter()
        .find(|revision| revision.as_str() == claim)
        .ok_or_else(|| unsupported_version(&claim))?;
    Ok(Envelope { revision, meta, log_level, client: ClientSource::Request(client) })
}

/// The error for a modern request whose `_meta` does not name its revision.
pub(super) fn incomplete(meta: Option<Raw<'_>>) -> RpcError {
    match meta.map(Raw::kind) {
        None | Some("null" | "object") => missing(VERSION, "string"),
        Some(other) => RpcError::wrong_field("_meta", "object", other),
    }
}

fn missing(key: &str, expected: &str) -> RpcError {
    RpcError::wrong_field(&format!("_meta.{key}"), expected, "missing")
}

/// The error for a version this server does not speak.
pub(crate) fn unsupported_version(claim: &str) -> RpcError {
    RpcError::new(RpcError::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(json!({"supported": Revision::MODERN, "requested": claim}))
}
