//! The connection to Redis: one, shared by all operations, made again when it is lost.
//!
//! A background task, the engine, owns it. Operations take the connection there is. While the first attempt to connect
//! is under way they wait for it; after a failed one they fail at once, so that a server that is away costs its callers
//! no time, and nothing piles up. A timed-out operation may only be slow itself, so the server is asked (`PING`) before
//! the connection is given up.

mod failure;
pub(crate) mod handshake;
mod kept;
pub(crate) mod replicated;
mod request;
pub(crate) mod sentinel_url;
mod subscriptions;
mod target;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_runtime::store::EventHints;
use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, PushKind, RedisError, RedisResult};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use self::failure::breaks_connection;
use self::handshake::{Dialer, OnPush};
use self::kept::Kept;
use self::replicated::{Outcome, Writer};
use self::request::is_unknown_script;
pub(crate) use self::request::{Repeat, Request};
use self::subscriptions::Subscriptions;
use crate::changes::Changes;

/// How often a server that is not used is asked whether it is there: nobody else would notice that changes stay away.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long publishing pauses after a failure.
const PUBLISH_PAUSE: Duration = Duration::from_millis(250);

#[derive(Clone)]
struct Connection {
    redis: MultiplexedConnection,
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

struct Shared {
    dialer: Dialer,
    channel: String,
    changes: Arc<Changes>,
    hints: EventHints,
    kept: Kept,
    state: watch::Sender<State>,
    complain: mpsc::Sender<Complaint>,
    /// Held by the engine while it runs.
    complaints: tokio::sync::Mutex<mpsc::Receiver<Complaint>>,
}

impl Link {
    /// A link that connects on first use.
    pub(crate) fn lazy(dialer: Dialer, channel: String, changes: Arc<Changes>, hints: EventHints) -> Self {
        let (complain, complaints) = mpsc::channel(16);
        let (state, complaints) = (watch::Sender::new(State::Connecting), tokio::sync::Mutex::new(complaints));
        let shared =
            Arc::new(Shared { dialer, channel, changes, hints, kept: Kept::default(), state, complain, complaints });
        Link { shared, engine: Mutex::new(None) }
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
    pub(crate) async fn run<T: FromRedisValue>(&self, request: &Request, repeat: Repeat) -> io::Result<T> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut connection = self.connection().await?;
            match request.send(&mut connection.redis).await {
                Ok(value) => return Ok(value),
                Err(error) => self.failed(&error, &connection, attempt == 1 && repeat == Repeat::Safe)?,
            }
        }
    }

    /// Keeps a secret for a server that forgets it.
    pub(crate) fn keep(&self, key: &str, agreed: &[u8]) {
        self.shared.kept.add(key, agreed);
    }

    /// Runs a write that has to survive a failover: if replicas have to have it, it waits for them.
    pub(crate) async fn write<T: FromRedisValue>(&self, request: &Request, repeat: Repeat) -> io::Result<T> {
        let Some(replication) = self.shared.dialer.replication else { return self.run(request, repeat).await };
        let mut attempt = 0;
        loop {
            attempt += 1;
            let connection = self.connection().await?;
            let error = match written(request, &connection).await {
                Ok(Outcome::Replicated(value)) => match redis::from_redis_value(value) {
                    Ok(value) => return Ok(value),
                    Err(error) => error.into(),
                },
                Ok(Outcome::TooFew(count)) => return Err(self.shared.dialer.failures.too_few(count, replication)),
                Err(error) => error,
            };
            if error.is_timeout() {
                // The other connection, which is asked whether the server is there, may be well.
                self.shared.lost(connection.number, "the connection for writes does not answer");
            }
            self.failed(&error, &connection, attempt == 1 && repeat == Repeat::Safe)?;
        }
    }

    /// What an error means for the connection, and whether the request may be sent `again` on the next one.
    fn failed(&self, error: &RedisError, connection: &Connection, again: bool) -> io::Result<()> {
        if error.is_timeout() {
            let _ = self.shared.complain.try_send(Complaint::Slow);
        } else if breaks_connection(error) {
            self.shared.lost(connection.number, &error.to_string());
            if again {
                return Ok(());
            }
        }
        Err(self.shared.dialer.failures.of(error))
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
async fn written(request: &Request, connection: &Connection) -> RedisResult<Outcome> {
    let Some(writer) = &connection.writer else {
        return Ok(Outcome::Replicated(request.send(&mut connection.redis.clone()).await?));
    };
    match writer.write(request.commands()).await {
        Err(error) if is_unknown_script(&error) => {
            request.load(&mut connection.redis.clone()).await?;
            writer.write(request.commands()).await
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
        let (mut redis, writer) = self.dialer.dial(&self.channel, on_push).await?;
        self.kept.propose(&mut redis).await;
        Ok(Connection { redis, writer, number })
    }

    /// A message arrived: on the channel of changes, or on that of a stream.
    fn arrived(&self, mut message: Vec<redis::Value>) {
        match &message[..] {
            [redis::Value::BulkString(channel), _] if *channel == self.channel.as_bytes() => {
                self.changes.arrived(message.pop());
            }
            [redis::Value::BulkString(channel), _] => {
                if let Ok(channel) = std::str::from_utf8(channel) {
                    self.hints.tell(channel);
                }
            }
            _ => {}
        }
    }

    /// Changes may have been missed until now. Listeners look again before anybody uses the connection.
    fn up(&self, connection: Connection) {
        self.changes.resync();
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

    /// Waits until the connection is lost, and returns why.
    async fn watch(&self, connection: &mut Connection, complaints: &mut mpsc::Receiver<Complaint>) -> String {
        loop {
            match tokio::time::timeout(PING_INTERVAL, complaints.recv()).await {
                Ok(Some(Complaint::Broken(number, reason))) if number == connection.number => return reason,
                Ok(Some(Complaint::Broken(..))) => continue,
                Ok(Some(Complaint::Slow)) | Err(_) => {}
                Ok(None) => std::future::pending().await,
            }
            let pong: redis::RedisResult<()> = redis::cmd("PING").exec_async(&mut connection.redis).await;
            if let Err(error) = pong {
                return self.dialer.failures.of(&error).to_string();
            }
        }
    }
}

/// Keeps the connection, and carries changes over it.
async fn engine_of(shared: Arc<Shared>, first: Option<Connection>) {
    tokio::join!(supervise(&shared, first), shared.changes.deliver(), publish(&shared), listen(&shared));
}

/// Publishes changes as they are queued.
async fn publish(shared: &Shared) {
    let (mut state, mut warned) = (shared.state.subscribe(), false);
    loop {
        shared.changes.queued().await;
        let is_up = state.wait_for(|state| matches!(state, State::Up(_))).await.map(|up| up.clone());
        let Ok(State::Up(mut connection)) = is_up else { return };
        let Some((changes, message)) = shared.changes.next_message() else { continue };
        let sent = redis::cmd("PUBLISH").arg(&shared.channel).arg(message).exec_async(&mut connection.redis).await;
        let Err(error) = sent else {
            warned = false;
            continue;
        };
        match () {
            () if error.is_timeout() => drop(shared.complain.try_send(Complaint::Slow)),
            () if breaks_connection(&error) => shared.lost(connection.number, &error.to_string()),
            () if warned => {}
            () => {
                warned = true;
                tracing::warn!(%error, "Redis rejects changes; other replicas are told of them later");
            }
        }
        shared.changes.restore(&changes);
        tokio::time::sleep(PUBLISH_PAUSE).await;
    }
}

/// Keeps the connection subscribed to the streams that are watched.
async fn listen(shared: &Shared) {
    let (mut state, mut subscriptions) = (shared.state.subscribe(), Subscriptions::default());
    loop {
        let is_up = state.wait_for(|state| matches!(state, State::Up(_))).await.map(|up| up.clone());
        let Ok(State::Up(mut connection)) = is_up else { return };
        if let Err(error) = subscriptions.adjust(&shared.hints, &mut connection.redis, connection.number).await {
            if breaks_connection(&error) {
                shared.lost(connection.number, &error.to_string());
            }
            tokio::time::sleep(PUBLISH_PAUSE).await;
            continue;
        }
        tokio::select! {
            () = shared.hints.watched_changed() => {}
            _ = state.changed() => {}
        }
    }
}

/// Connects, and connects again when the connection is lost. One line in the log when the server goes away, and one when
/// it is back.
async fn supervise(shared: &Arc<Shared>, first: Option<Connection>) {
    let mut complaints = shared.complaints.lock().await;
    let address = &shared.dialer.failures.address;
    let mut number = first.as_ref().map_or(0, |first| first.number);
    let (mut current, mut away_since, mut pause) = (first, None::<Instant>, SHORTEST_PAUSE);
    loop {
        if let Some(connection) = &mut current {
            let begun = Instant::now();
            let reason = shared.watch(connection, &mut complaints).await;
            tracing::warn!(%address, %reason, "Redis is away; connecting again");
            shared.state.send_replace(State::Connecting);
            (current, away_since) = (None, Some(Instant::now()));
            // A server that hangs up on everybody is not asked without end.
            pause = if begun.elapsed() > LONGEST_PAUSE { SHORTEST_PAUSE } else { grown(pause) };
            if pause > SHORTEST_PAUSE * 4 {
                shared.state.send_replace(State::Away(reason.into()));
                tokio::time::sleep(pause).await;
            }
        }
        number += 1;
        match shared.dial(number).await {
            Ok(connection) => {
                if let Some(since) = away_since.take() {
                    tracing::info!(%address, after = ?since.elapsed(), "Redis is back");
                }
                shared.up(connection.clone());
                current = Some(connection);
            }
            Err(error) => {
                if away_since.is_none() {
                    tracing::warn!(%address, reason = %error, "Redis is away; connecting again");
                }
                away_since.get_or_insert_with(Instant::now);
                shared.state.send_replace(State::Away(error.to_string().into()));
                tokio::time::sleep(pause).await;
                pause = grown(pause);
            }
        }
    }
}

fn grown(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST_PAUSE)
}
