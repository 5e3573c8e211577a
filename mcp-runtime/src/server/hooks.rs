//! The `on_…` hooks: callbacks for connection events, and their arguments.

use std::fmt;

use crate::era::client_info::ClientInfo;
use crate::error::ServerError;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::protocol::Revision;

/// The callbacks that are set.
#[derive(Default)]
#[expect(clippy::type_complexity, reason = "each type is written once")]
pub(crate) struct Hooks {
    pub(crate) initialized: Option<Box<dyn Fn(&ConnectedClient<'_>) + Send + Sync>>,
    pub(crate) disconnected: Option<Box<dyn Fn(&DisconnectReason) + Send + Sync>>,
    pub(crate) transport_error: Option<Box<dyn Fn(&ServerError) + Send + Sync>>,
    pub(crate) protocol_error: Option<Box<dyn Fn(&ProtocolError<'_>) + Send + Sync>>,
}

/// A client that has initialized a session. The argument of
/// [`Server::on_initialized`](crate::Server::on_initialized).
#[derive(Debug)]
pub struct ConnectedClient<'a> {
    pub(crate) client: &'a ClientInfo,
    pub(crate) revision: Revision,
}

impl ConnectedClient<'_> {
    /// The client's name, as it reports it. A label for logs, not an identity.
    pub fn name(&self) -> Option<&str> {
        self.client.name()
    }

    /// The client's version, as it reports it.
    pub fn version(&self) -> Option<&str> {
        self.client.version()
    }

    /// The negotiated protocol revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

/// Why a connection ended. The argument of [`Server::on_disconnected`](crate::Server::on_disconnected).
#[derive(Debug)]
#[non_exhaustive]
pub enum DisconnectReason {
    /// The client closed its writing end.
    Eof,
    /// The client closed its reading end.
    ClientClosed,
    /// The server shut down: through a [`ServerHandle`](crate::ServerHandle), a signal, or the client's `exit`.
    Shutdown,
    /// Reading or writing failed. [`Server::on_transport_error`](crate::Server::on_transport_error) gets the error.
    Error,
}

/// A message that could not be handled: malformed JSON or JSON-RPC, an unsolicited response, or a notification
/// whose handler failed. The argument of [`Server::on_protocol_error`](crate::Server::on_protocol_error).
#[derive(Debug)]
pub struct ProtocolError<'a> {
    /// The beginning of the message.
    raw: &'a [u8],
    error: &'a RpcError,
}

impl ProtocolError<'_> {
    /// The message as received. Long messages are shortened in the middle.
    pub fn received(&self) -> String {
        shorten(&String::from_utf8_lossy(self.raw)).into_owned()
    }

    /// The JSON-RPC error code.
    pub fn code(&self) -> i32 {
        self.error.code
    }

    /// The error message.
    pub fn message(&self) -> &str {
        &self.error.message
    }
}

impl Hooks {
    pub(crate) fn initialized(&self, client: &ConnectedClient<'_>) {
        if let Some(hook) = &self.initialized {
            run("on_initialized", || hook(client));
        }
    }

    pub(crate) fn disconnected(&self, reason: &DisconnectReason) {
        if let Some(hook) = &self.disconnected {
            run("on_disconnected", || hook(reason));
        }
    }

    pub(crate) fn transport_error(&self, error: &ServerError) {
        tracing::error!(%error, "the connection failed");
        if let Some(hook) = &self.transport_error {
            run("on_transport_error", || hook(error));
        }
    }

    pub(crate) fn protocol_error(&self, raw: &[u8], error: &RpcError) {
        tracing::debug!(code = error.code, message = %error.message, "a message could not be handled");
        if let Some(hook) = &self.protocol_error {
            run("on_protocol_error", || hook(&ProtocolError { raw, error }));
        }
    }
}

/// Runs a hook. A panic is logged and goes no further.
fn run(name: &str, hook: impl FnOnce()) {
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
