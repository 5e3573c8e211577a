//! Writes that wait until replicas of Redis have them: `WAIT` in the same round trip.
//!
//! `WAIT` blocks its connection, and with it whatever is sent after it, so these writes have a connection of their own, and
//! reads never stand behind them. A write that comes while others wait is sent with the next batch: there is one `WAIT` for
//! all writes of a batch, so that a replica that is slow or away delays each of them by two timeouts at most, however many
//! there are.
//!
//! If too few replicas acknowledge, a write fails, though the primary has made it: whoever asks for replicas must not be told
//! that something is safe when it is not. Requests that need it get 503, and come again.
//! <https://redis.io/docs/latest/commands/wait/>

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, Value};
use tokio::sync::{mpsc, oneshot};

/// Writes that wait for a batch. More of them wait for room here.
const QUEUED: usize = 256;
/// Writes in a batch.
const BATCH: usize = 64;

/// How many replicas have to have a write, and how long it may take them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replication {
    pub(crate) replicas: u32,
    pub(crate) timeout: Duration,
}

/// A write on its way.
struct Write {
    commands: Vec<Cmd>,
    reply: oneshot::Sender<RedisResult<Outcome>>,
}

/// What became of a write that was made.
pub(crate) enum Outcome {
    Replicated(Value),
    /// Only this many replicas have it.
    TooFew(u32),
}

/// The connection for writes that wait. Clones share it; its task ends with the last of them.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Write>,
}

impl Writer {
    pub(super) fn new(connection: MultiplexedConnection, replication: Replication) -> Self {
        let (queue, writes) = mpsc::channel(QUEUED);
        tokio::spawn(send_batches(connection, replication, writes));
        Writer { queue }
    }

    pub(super) async fn write(&self, commands: Vec<Cmd>) -> RedisResult<Outcome> {
        let (reply, replied) = oneshot::channel();
        if self.queue.send(Write { commands, reply }).await.is_err() {
            return Err(hung_up());
        }
        replied.await.unwrap_or_else(|_| Err(hung_up()))
    }
}

fn hung_up() -> RedisError {
    (ErrorKind::Io, "the connection for writes is closed").into()
}

async fn send_batches(
    mut connection: MultiplexedConnection,
    replication: Replication,
    mut writes: mpsc::Receiver<Write>,
) {
    let mut batch = Vec::with_capacity(BATCH);
    while writes.recv_many(&mut batch, BATCH).await > 0 {
        let mut pipeline = redis::pipe();
        for command in batch.iter().flat_map(|write| &write.commands) {
            pipeline.add_command(command.clone());
        }
        let timeout = u64::try_from(replication.timeout.as_millis()).unwrap_or(u64::MAX).max(1);
        pipeline.cmd("WAIT").arg(replication.replicas).arg(timeout);
        let replies = pipeline.ignore_errors().query_async::<Vec<RedisResult<Value>>>(&mut connection).await;
        answer(batch.drain(..), replies, replication);
    }
}

/// Tells each write of a batch what became of it.
fn answer(batch: impl Iterator<Item = Write>, replies: RedisResult<Vec<RedisResult<Value>>>, replication: Replication) {
    let (mut replies, acknowledged) = match replies {
        Ok(mut replies) => {
            let last = replies.pop().unwrap_or_else(|| Err(hung_up()));
            (Ok(replies.into_iter()), last.and_then(|count| Ok(redis::from_redis_value::<u32>(count)?)))
        }
        Err(error) => (Err(error.clone()), Err(error)),
    };
    for write in batch {
        let made = match &mut replies {
            Ok(replies) => {
                // The reply is that of the last command. Of a transaction that fails, the first error says why.
                let own = replies.by_ref().take(write.commands.len());
                own.reduce(Result::and).unwrap_or_else(|| Err(hung_up()))
            }
            Err(error) => Err(error.clone()),
        };
        let outcome = made.and_then(|value| match &acknowledged {
            Ok(count) if *count >= replication.replicas => Ok(Outcome::Replicated(value)),
            Ok(count) => Ok(Outcome::TooFew(*count)),
            Err(error) => Err(error.clone()),
        });
        // The caller may have given up.
        let _ = write.reply.send(outcome);
    }
}
