//! The legacy era (2024-11-05 to 2025-11-25): `initialize` opens a session and settles its revision.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle>

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::client_info::{self, ClientInfo};
use super::{ClientSource, Envelope, Method};
use crate::era::Offers;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;
use crate::protocol::{LogLevel, Revision};

/// The state of a session, as far as the protocol's lifecycle goes.
#[derive(Debug, Default)]
pub(crate) struct LegacySession {
    negotiated: OnceLock<Negotiated>,
    log_level: AtomicLevel,
}

/// The level set by `logging/setLevel`, as an index into [`LogLevel::ALL`]. Before that, the server decides.
#[derive(Debug)]
struct AtomicLevel(AtomicU8);

impl Default for AtomicLevel {
    fn default() -> Self {
        AtomicLevel(AtomicU8::new(LogLevel::Info as u8))
    }
}

#[derive(Debug)]
struct Negotiated {
    revision: Revision,
    client: Arc<ClientInfo>,
}

impl LegacySession {
    /// Whether a frame may contain a batch of messages.
    pub(crate) fn has_batches(&self) -> bool {
        self.negotiated.get().is_some_and(|negotiated| negotiated.revision.has_batches())
    }

    pub(crate) fn log_level(&self) -> LogLevel {
        LogLevel::ALL[usize::from(self.log_level.0.load(Ordering::Relaxed))]
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.log_level.0.store(level as u8, Ordering::Relaxed);
    }

    /// A session without an `initialize`, for a server without sessions.
    #[cfg(feature = "http")]
    pub(crate) fn assumed(revision: Revision) -> Self {
        Self::restored(revision, ClientInfo::default())
    }

    /// A session from the session store, perhaps opened on another replica.
    #[cfg(feature = "http")]
    pub(crate) fn restored(revision: Revision, client: ClientInfo) -> Self {
        let session = LegacySession::default();
        let _ = session.negotiated.set(Negotiated { revision, client: Arc::new(client) });
        session
    }

    /// The client, once `initialize` named it.
    pub(crate) fn client(&self) -> Option<&ClientInfo> {
        self.negotiated.get().map(|negotiated| &*negotiated.client)
    }

    /// The context of the session's messages.
    #[inline]
    pub(super) fn envelope<'a>(&self, meta: Option<Raw<'a>>) -> Envelope<'a> {
        let client = self.negotiated.get().map(|negotiated| Arc::clone(&negotiated.client)).unwrap_or_default();
        let log_level = Some(self.log_level());
        Envelope { revision: self.revision(), meta, log_level, client: ClientSource::Session(client) }
    }

    /// The negotiated revision; before that, the newest of the era.
    pub(crate) fn revision(&self) -> Revision {
        self.negotiated.get().map_or(Revision::LEGACY[0], |negotiated| negotiated.revision)
    }
}

/// Validates a request by the lifecycle: only `ping` and `shutdown` may come before `initialize`.
#[inline]
pub(super) fn accept<'a>(
    method: &str,
    params: &Object<'a>,
    meta: Option<Raw<'a>>,
    session: &LegacySession,
    catalog: &impl Offers,
) -> Result<(Method, Envelope<'a>), RpcError> {
    match (session.negotiated.get(), method) {
        (None, "initialize") => open(session, params)?,
        (Some(_), "initialize") => {
            return Err(RpcError::invalid_request("this connection is initialized already"));
        }
        (None, "ping" | "shutdown") | (Some(_), _) => {}
        (None, _) => return Err(not_initialized(method)),
    }
    let method = Method::find(method, session.revision(), catalog)?;
    if method == Method::SetLevel {
        set_level(session, params)?;
    }
    Ok((method, session.envelope(meta)))
}

/// Negotiates the revision: the requested one if it is known, else the newest of the era. Nothing is negotiated with a
/// client whose description cannot be read: it would be taken for one without capabilities.
fn open(session: &LegacySession, params: &Object<'_>) -> Result<(), RpcError> {
    let requested = params.string("protocolVersion")?;
    // Null counts as absent, as elsewhere in these revisions.
    let given = |name: &str| params.get(name).filter(|raw| raw.get() != "null");
    if let Some(capabilities) = given("capabilities") {
        client_info::check_capabilities(capabilities, "capabilities")?;
    }
    if let Some(info) = given("clientInfo") {
        client_info::check_info(info, "clientInfo", false)?;
    }
    let revision = Revision::with_sessions(&requested).unwrap_or(Revision::LEGACY[0]);
    // Of two concurrent `initialize` the first wins.
    let _ = session.negotiated.set(Negotiated { revision, client: Arc::new(ClientInfo::initialize_params(params)) });
    Ok(())
}

fn set_level(session: &LegacySession, params: &Object<'_>) -> Result<(), RpcError> {
    let raw = params.get("level").ok_or_else(|| RpcError::wrong_field("level", "string", "missing"))?;
    let level = super::log_level(raw, "level")?;
    session.set_log_level(level);
    Ok(())
}

fn not_initialized(method: &str) -> RpcError {
    let message = format!(
        "Not initialized: send `initialize` before `{}`, or describe the request in its `_meta` ({})",
        shorten(method),
        super::modern::VERSION
    );
    let names = |revisions: &[Revision]| -> Value { revisions.iter().map(|revision| revision.as_str()).collect() };
    let mut data = json!({"supported": names(&Revision::MODERN)});
    data["legacy"] = names(&Revision::LEGACY);
    RpcError::invalid_params(message).with_data(data)
}
