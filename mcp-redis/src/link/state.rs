//! The connection there is, or is not, and what was said about it: shared by those who use it and the engine.

use std::io;
use std::sync::Arc;

use mcp_runtime::store::EventHints;
use redis::PushKind;
use redis::aio::MultiplexedConnection;
use tokio::sync::{mpsc, watch};

use super::handshake::{Dialed, Dialer, OnPush};
use super::kept::Kept;
use super::replicated::Writer;
use crate::changes::Changes;

/// A connection there is.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) redis: MultiplexedConnection,
    /// Where it leads, unless that is a file.
    pub(super) host: Option<Arc<str>>,
    /// Another connection to the same server, if writes wait for its replicas.
    pub(super) writer: Option<Writer>,
    /// Counts connections, so that a late complaint about an old one is ignored.
    pub(super) number: u64,
}

/// Whether there is a connection.
#[derive(Clone)]
pub(super) enum State {
    /// For the first time, or at once after a loss.
    Connecting,
    Up(Connection),
    /// An attempt to connect failed; there will be others.
    Away(Arc<str>),
}

/// A complaint about a connection.
pub(super) enum Complaint {
    /// An operation timed out.
    Slow,
    Broken(u64, String),
}

/// What a connection is subscribed to.
pub(crate) struct Channels {
    /// The channel of changes.
    pub(crate) name: String,
    pub(crate) changes: Arc<Changes>,
    /// Readers of streams, by the channel of the stream.
    pub(crate) hints: EventHints,
}

/// What the users of a connection and its engine share.
pub(super) struct Shared {
    pub(super) dialer: Dialer,
    /// None, if another connection carries the changes.
    pub(super) channels: Option<Channels>,
    pub(super) kept: Arc<Kept>,
    pub(super) state: watch::Sender<State>,
    pub(super) complain: mpsc::Sender<Complaint>,
    /// Held by the engine while it runs.
    pub(super) complaints: tokio::sync::Mutex<mpsc::Receiver<Complaint>>,
}

impl Shared {
    pub(super) fn new(dialer: Dialer, channels: Option<Channels>, kept: Arc<Kept>) -> Self {
        let (complain, complaints) = mpsc::channel(16);
        let (state, complaints) = (watch::Sender::new(State::Connecting), tokio::sync::Mutex::new(complaints));
        Shared { dialer, channels, kept, state, complain, complaints }
    }

    pub(super) async fn dial(self: &Arc<Self>, number: u64) -> io::Result<Connection> {
        let weak = Arc::downgrade(self);
        let on_push: OnPush = Arc::new(move |push| {
            let Some(shared) = weak.upgrade() else { return };
            match push.kind {
                PushKind::Message => shared.arrived(push.data),
                PushKind::Disconnection => shared.lost(number, "the server closed the connection"),
                _ => {}
            }
        });
        let channel = self.channels.as_ref().map(|channels| channels.name.as_str());
        let Dialed { mut redis, host, writer } = self.dialer.dial(channel, on_push).await?;
        self.kept.propose(&mut redis).await.map_err(|error| self.dialer.failures.of(&error))?;
        Ok(Connection { redis, host, writer, number })
    }

    /// A message arrived: on the channel of changes, or on that of a stream.
    fn arrived(&self, mut message: Vec<redis::Value>) {
        let (Some(channels), [redis::Value::BulkString(name), _]) = (&self.channels, &message[..]) else { return };
        if *name == channels.name.as_bytes() {
            channels.changes.arrived(message.pop());
        } else if let Ok(name) = std::str::from_utf8(name) {
            channels.hints.tell(name);
        }
    }

    /// Changes may have been missed until now. Listeners look again before anybody uses the connection.
    pub(super) fn up(&self, connection: Connection) {
        if let Some(channels) = &self.channels {
            channels.changes.resync();
        }
        self.state.send_replace(State::Up(connection));
    }

    /// A connection is lost: nobody uses it again, and the engine makes another.
    pub(super) fn lost(&self, number: u64, reason: &str) {
        let was_current = self.state.send_if_modified(|state| {
            let is_current = matches!(state, State::Up(connection) if connection.number == number);
            if is_current {
                *state = State::Connecting;
            }
            is_current
        });
        if was_current {
            // If there is no room, the engine has complaints about timeouts to read, and asks the server because of those.
            let _ = self.complain.try_send(Complaint::Broken(number, reason.to_owned()));
        }
    }
}
