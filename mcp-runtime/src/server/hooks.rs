//! What a server's author can have called when something happens to a connection.

use std::fmt;

use crate::era::client_info::ClientInfo;
use crate::error::ServerError;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::protocol::Revision;

/// The functions, as far as they were given.
#[derive(Default)]
#[expect(clippy::type_complexity, reason = "each is said once")]
pub(crate) struct Hooks {
    pub(crate) initialized: Option<Box<dyn Fn(&ConnectedClient<'_>) + Send + Sync>>,
    pub(crate) disconnected: Option<Box<dyn Fn(&DisconnectReason) + Send + Sync>>,
    pub(crate) transport_error: Option<Box<dyn Fn(&ServerError) + Send + Sync>>,
    pub(crate) protocol_error: Option<Box<dyn Fn(&ProtocolError<'_>) + Send + Sync>>,
}

/// A client that has opened a session.
#[derive(Debug)]
pub struct ConnectedClient<'a> {
    pub(crate) client: &'a ClientInfo,
    pub(crate) revision: Revision,
}

impl ConnectedClient<'_> {
    /// The client's name for itself. A label, not an identity.
    pub fn name(&self) -> Option<&str> {
        self.client.name()
    }

    /// The client's version.
    pub fn version(&self) -> Option<&str> {
        self.client.version()
    }

    /// The revision that was settled.
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

/// Why a connection ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum DisconnectReason {
    /// The client closed its side.
    Eof,
    /// The client stopped reading answers.
    ClientClosed,
    /// The server was told to end: by its handle, a signal or the client's `exit`.
    Shutdown,
    /// Reading or writing failed; the other hook was told the error.
    Error,
}

/// A message that could not be served: no JSON, no JSON-RPC, or a notification whose handling failed.
#[derive(Debug)]
pub struct ProtocolError<'a> {
    /// The beginning of what was received.
    raw: &'a [u8],
    error: &'a RpcError,
}

impl ProtocolError<'_> {
    /// What was received, without the middle of what is long.
    pub fn received(&self) -> String {
        shorten(&String::from_utf8_lossy(self.raw)).into_owned()
    }

    /// The JSON-RPC code.
    pub fn code(&self) -> i32 {
        self.error.code
    }

    /// What is wrong with it.
    pub fn message(&self) -> &str {
        &self.error.message
    }
}

impl Hooks {
    pub(crate) fn initialized(&self, peer: &ConnectedClient<'_>) {
        if let Some(hook) = &self.initialized {
            guarded("on_initialized", || hook(peer));
        }
    }

    pub(crate) fn disconnected(&self, reason: &DisconnectReason) {
        if let Some(hook) = &self.disconnected {
            guarded("on_disconnected", || hook(reason));
        }
    }

    pub(crate) fn transport_error(&self, error: &ServerError) {
        tracing::error!(%error, "the connection failed");
        if let Some(hook) = &self.transport_error {
            guarded("on_transport_error", || hook(error));
        }
    }

    pub(crate) fn protocol_error(&self, raw: &[u8], error: &RpcError) {
        tracing::debug!(code = error.code, message = %error.message, "a message could not be served");
        if let Some(hook) = &self.protocol_error {
            guarded("on_protocol_error", || hook(&ProtocolError { raw, error }));
        }
    }
}

/// Runs a hook; what it throws stays here.
fn guarded(name: &str, hook: impl FnOnce()) {
    if crate::panic::catch(hook).is_none() {
        tracing::error!(hook = name, "a hook panicked");
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("initialized", &self.initialized.is_some())
            .field("disconnected", &self.disconnected.is_some())
            .field("transport_error", &self.transport_error.is_some())
            .field("protocol_error", &self.protocol_error.is_some())
            .finish()
    }
}
