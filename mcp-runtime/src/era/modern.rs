//! The modern era (2026-07-28): no session, every request says in its `_meta` what it needs to.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic>

use serde_json::json;

use super::{ClientSource, Envelope, HeaderCheck, Method};
use crate::era::Offers;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::{Object, required_string};
use crate::jsonrpc::raw::Raw;
use crate::protocol::Revision;

pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Whether a claimed version is one an `initialize` cannot mean: a date of this era.
pub(super) fn looks_modern(claim: Raw<'_>) -> bool {
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

/// The validation ladder; the first rung that fails answers.
pub(super) fn accept<'a>(
    method: &str,
    params: &Object<'a>,
    meta: Option<Raw<'a>>,
    entries: &Object<'a>,
    catalog: &impl Offers,
    witness: &impl HeaderCheck,
) -> Result<(Method, Envelope<'a>), RpcError> {
    let envelope = envelope(meta, entries, |claim| witness.version(claim, method, params))?;
    witness.call(method, params)?;
    Ok((Method::find(method, envelope.revision, catalog)?, envelope))
}

/// What a message of this era says of itself.
pub(super) fn envelope<'a>(
    meta: Option<Raw<'a>>,
    entries: &Object<'a>,
    contradicted: impl FnOnce(&str) -> Result<(), RpcError>,
) -> Result<Envelope<'a>, RpcError> {
    let claim = required_string(entries.get(VERSION), format_args!("_meta.{VERSION}"))?;
    let capabilities = entries.get(CAPABILITIES).ok_or_else(|| missing(CAPABILITIES, "object"))?;
    if capabilities.kind() != "object" {
        return Err(wrong(CAPABILITIES, "object", capabilities));
    }
    let client = entries.get(CLIENT);
    if let Some(client) = client {
        check_client(client)?;
    }
    let log_level =
        entries.get(LOG_LEVEL).map(|raw| super::log_level(raw, &format!("_meta.{LOG_LEVEL}"))).transpose()?;
    contradicted(&claim)?;
    let revision = Revision::MODERN
        .into_iter()
        .find(|revision| revision.as_str() == claim)
        .ok_or_else(|| unsupported_version(&claim))?;
    Ok(Envelope { revision, meta, log_level, peer: ClientSource::Request(client) })
}

fn check_client(client: Raw<'_>) -> Result<(), RpcError> {
    let info = Object::read(client).map_err(|_| wrong(CLIENT, "object", client))?;
    for key in ["name", "version"] {
        let actual = info.get(key).map_or("missing", Raw::kind);
        if actual != "string" {
            return Err(RpcError::wrong_field(&format!("_meta.{CLIENT}.{key}"), "string", actual));
        }
    }
    Ok(())
}

/// A request of this era without what makes it one.
pub(super) fn incomplete(meta: Option<Raw<'_>>) -> RpcError {
    match meta.map(Raw::kind) {
        None | Some("null" | "object") => missing(VERSION, "string"),
        Some(other) => RpcError::wrong_field("_meta", "object", other),
    }
}

fn missing(key: &str, expected: &str) -> RpcError {
    RpcError::wrong_field(&format!("_meta.{key}"), expected, "missing")
}

fn wrong(key: &str, expected: &str, raw: Raw<'_>) -> RpcError {
    RpcError::wrong_field(&format!("_meta.{key}"), expected, raw.kind())
}

/// The error for a version this server does not speak.
pub(crate) fn unsupported_version(claim: &str) -> RpcError {
    RpcError::new(RpcError::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(json!({"supported": Revision::MODERN, "requested": claim}))
}
