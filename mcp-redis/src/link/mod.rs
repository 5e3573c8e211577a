//! The connection to Redis: one, shared by all operations, made again when it is lost.
//!
//! A background task, the engine, owns it. Operations take the connection there is. While the first attempt to connect
//! is under way they wait for it; after a failed one they fail at once, so that a server that is away costs its callers
//! no time, and nothing piles up. A timed-out operation may only be slow itself, so the server is asked (`PING`) before
//! the connection is given up.
//!
//! In a cluster, each node has such a connection for requests, and one more carries changes ([`crate::cluster`]).

pub(crate) mod endpoint;
mod engine;
mod failure;
pub(crate) mod handshake;
pub(crate) mod kept;
pub(crate) mod redirect;
pub(crate) mod replicated;
mod request;
mod state;
mod subscriptions;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use redis::{FromRedisValue, RedisError, RedisResult};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use self::engine::engine_of;
use self::failure::breaks_connection;
use self::handshake::Dialer;
use self::kept::Kept;
use self::redirect::{Redirect, Refused};
use self::replicated::Outcome;
use self::request::is_unknown_script;
pub(crate) use self::request::{Repeat, Request, Way};
pub(crate) use self::state::Channels;
use self::state::{Complaint, Connection, Shared, State};

/// The connection, for as long as anybody holds this.
pub(crate) struct Link {
    shared: Arc<Shared>,
    engine: Mutex<Option<JoinHandle<()>>>,
}

impl Link {
    /// A link that connects on first use.
    pub(crate) fn lazy(dialer: Dialer, channels: Option<Channels>, kept: Arc<Kept>) -> Self {
        Link { shared: Arc::new(Shared::new(dialer, channels, kept)), engine: Mutex::new(None) }
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
