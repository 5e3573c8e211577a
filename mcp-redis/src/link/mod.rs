//! The connection to Redis: one, shared by all operations, made again when it is lost.
//!
//! A background task, the engine, owns it. Operations take the connection there is. While the first attempt to connect
//! is under way they wait for it; after a failed one they fail at once, so that a server that is away costs its callers
//! no time, and nothing piles up. A timed-out operation may only be slow itself, so the server is asked (`PING`) before
//! the connection is given up.
//!
//! In a cluster, each node has such a connection for requests, and one more carries changes ([`crate::cluster`]).

pub(crate) mod cluster_url;
mod engine;
mod failure;
pub(crate) mod handshake;
pub(crate) mod kept;
pub(crate) mod redirect;
pub(crate) mod replicated;
mod request;
pub(crate) mod seeds;
pub(crate) mod sentinel_url;
mod subscriptions;
mod target;
mod url;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_runtime::store::EventHints;
use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, PushKind, RedisError, RedisResult};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use self::engine::engine_of;
use self::failure::breaks_connection;
use self::handshake::{Dialed, Dialer, OnPush};
use self::kept::Kept;
use self::redirect::{Redirect, Refused};
use self::replicated::{Outcome, Writer};
use self::request::is_unknown_script;
pub(crate) use self::request::{Repeat, Request, Way};
use crate::changes::Changes;

#[derive(Clone)]
struct Connection {
    redis: MultiplexedConnection,
    /// Where it leads, unless that is a file.
    host: Option<Arc<str>>,
    /// Another connection to the same server, if writes wait for its replicas.
    writer: Option<Writer>,
    /// Counts connections, so that a late complaint about an old one is ignored.
    number: u64,
}

#[derive(Clone)]
enum State {
    /// For the first time, or at once after a loss.
    Connecting,
    Up(Connection),
    /// An attempt to connect failed; there will be others.
    Away(Arc<str>),
}

/// A complaint about a connection.
enum Complaint {
    /// An operation timed out.
    Slow,
    Broken(u64, String),
}

/// The connection, for as long as anybody holds this.
pub(crate) struct Link {
    shared: Arc<Shared>,
    engine: Mutex<Option<JoinHandle<()>>>,
}

/// What a connection is subscribed to.
pub(crate) struct Channels {
    /// The channel of changes.
    pub(crate) name: String,
    pub(crate) changes: Arc<Changes>,
    /// Readers of streams, by the channel of the stream.
    pub(crate) hints: EventHints,
}

struct Shared {
    dialer: Dialer,
    /// None, if another connection carries the changes.
    channels: Option<Channels>,
    kept: Arc<Kept>,
    state: watch::Sender<State>,
    complain: mpsc::Sender<Complaint>,
    /// Held by the engine while it runs.
    complaints: tokio::sync::Mutex<mpsc::Receiver<Complaint>>,
}

impl Link {
    /// A link that connects on first use.
    pub(crate) fn lazy(dialer: Dialer, channels: Option<Channels>, kept: Arc<Kept>) -> Self {
        let (complain, complaints) = mpsc::channel(16);
        let (state, complaints) = (watch::Sender::new(State::Connecting), tokio::sync::Mutex::new(complaints));
        let shared = Arc::new(Shared { dialer, channels, kept, state, complain, complaints });
        Link { shared, engine: Mutex::new(None) }
    }

    pub(crate) fn dialer(&self) -> &Dialer {
        &self.shared.dialer
    }

    /// Connects for the first time; the error says what to do.
    pub(crate) async fn connect(&self) -> io::Result<()> {
        let connection = self.shared.dial(1).await?;
        self.shared.up(connection.clone());
        self.start_with(Some(connection));
        Ok(())
    }

    /// Starts the engine, unless it is running. It runs in the runtime of the first caller that is in one, and again in
    /// another one when that has ended.
    pub(crate) fn start(&self) {
        self.start_with(None);
    }

    fn start_with(&self, first: Option<Connection>) {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        let running = engine.as_ref().is_some_and(|engine| !engine.is_finished());
        if let (false, Ok(runtime)) = (running, Handle::try_current()) {
            if first.is_none() {
                self.shared.state.send_replace(State::Connecting);
            }
            *engine = Some(runtime.spawn(engine_of(Arc::clone(&self.shared), first)));
        }
    }

    /// Runs a request.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        request: &Request,
        repeat: Repeat,
        way: Way,
    ) -> Result<T, Refused> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut connection = self.connection().await?;
            match request.send(&mut connection.redis, way).await {
                Ok(value) => return Ok(value),
                Err(error) => self.failed(&error, &connection, attempt == 1 && repeat == Repeat::Safe)?,
            }
        }
    }

    /// Runs a write that has to survive a failover: if replicas have to have it, it waits for them.
    pub(crate) async fn write<T: FromRedisValue>(
        &self,
        request: &Request,
        repeat: Repeat,
        way: Way,
    ) -> Result<T, Refused> {
        let Some(replication) = self.shared.dialer.replication else { return self.run(request, repeat, way).await };
        let mut attempt = 0;
        loop {
            attempt += 1;
            let connection = self.connection().await?;
            let error = match written(request, &connection, way).await {
                Ok(Outcome::Replicated(value)) => match redis::from_redis_value(value) {
                    Ok(value) => return Ok(value),
                    Err(error) => error.into(),
                },
                Ok(Outcome::TooFew(count)) => {
                    return Err(self.shared.dialer.failures.too_few(count, replication).into());
                }
                Err(error) => error,
            };
            if error.is_timeout() {
                // The other connection, which is asked whether the server is there, may be well.
                self.shared.lost(connection.number, "the connection for writes does not answer");
            }
            self.failed(&error, &connection, attempt == 1 && repeat == Repeat::Safe)?;
        }
    }

    /// The host that this is connected to.
    pub(crate) fn host(&self) -> Option<String> {
        let State::Up(connection) = &*self.shared.state.borrow() else { return None };
        connection.host.as_deref().map(str::to_owned)
    }

    /// Has the server asked whether it is well.
    pub(crate) fn doubt(&self) {
        let _ = self.shared.complain.try_send(Complaint::Slow);
    }

    /// What an error means for the connection, and whether the request may be sent `again` on the next one.
    fn failed(&self, error: &RedisError, connection: &Connection, again: bool) -> Result<(), Refused> {
        if error.is_timeout() {
            self.doubt();
        } else if breaks_connection(error) {
            self.shared.lost(connection.number, &error.to_string());
            if again {
                return Ok(());
            }
        }
        Err(Refused { error: self.shared.dialer.failures.of(error), redirect: Redirect::of(error) })
    }

    /// The connection. Waits for the first attempt to make it, and not for others.
    async fn connection(&self) -> io::Result<Connection> {
        if let State::Up(connection) = &*self.shared.state.borrow() {
            return Ok(connection.clone());
        }
        self.start();
        let mut state = self.shared.state.subscribe();
        let decided = state.wait_for(|state| !matches!(state, State::Connecting));
        let failures = &self.shared.dialer.failures;
        let limit = self.shared.dialer.response_timeout;
        match tokio::time::timeout(limit, decided).await {
            Ok(Ok(state)) => match &*state {
                State::Up(connection) => Ok(connection.clone()),
                State::Away(reason) => Err(failures.away(reason)),
                State::Connecting => Err(failures.away("not yet connected")),
            },
            _ => Err(failures.timed_out(limit)),
        }
    }
}

/// Makes a write on the connection that waits for replicas.
async fn written(request: &Request, connection: &Connection, way: Way) -> RedisResult<Outcome> {
    let Some(writer) = &connection.writer else {
        return Ok(Outcome::Replicated(request.send(&mut connection.redis.clone(), way).await?));
    };
    match writer.write(request.commands(way)).await {
        Err(error) if is_unknown_script(&error) => {
            request.load(&mut connection.redis.clone()).await?;
            writer.write(request.commands(way)).await
        }
        outcome => outcome,
    }
}

/// Nobody can use the connection any more.
impl Drop for Link {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.get_mut().unwrap_or_else(PoisonError::into_inner) {
            engine.abort();
        }
    }
}

impl Shared {
    async fn dial(self: &Arc<Self>, number: u64) -> io::Result<Connection> {
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
    fn up(&self, connection: Connection) {
        if let Some(channels) = &self.channels {
            channels.changes.resync();
        }
        self.state.send_replace(State::Up(connection));
    }

    /// A connection is lost: nobody uses it again, and the engine makes another.
    fn lost(&self, number: u64, reason: &str) {
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
