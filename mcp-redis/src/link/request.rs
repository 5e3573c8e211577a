//! Something to run in Redis, in one round trip.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, ServerErrorKind};

use super::failure::first;
use crate::script::Call;

pub(crate) enum Request {
    Command(Cmd),
    Transaction(redis::Pipeline),
    Script(Call),
}

/// Whether a request may be sent again when the connection was lost before its reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// A second time has the same effect and the same reply.
    Safe,
    Never,
}

impl Request {
    pub(super) async fn send<T: FromRedisValue>(&self, redis: &mut MultiplexedConnection) -> RedisResult<T> {
        match self {
            Request::Command(command) => command.query_async(redis).await,
            Request::Transaction(pipeline) => pipeline.query_async(redis).await.map_err(first),
            Request::Script(call) => match call.command().query_async(redis).await {
                Err(error) if is_unknown_script(&error) => {
                    self.load(redis).await?;
                    call.command().query_async(redis).await
                }
                reply => reply,
            },
        }
    }

    /// Loads the script, if it is a call of one.
    pub(super) async fn load(&self, redis: &mut MultiplexedConnection) -> RedisResult<()> {
        match self {
            Request::Script(call) => redis::cmd("SCRIPT").arg("LOAD").arg(call.script.text).exec_async(redis).await,
            _ => Ok(()),
        }
    }

    /// The commands, of which the last one has the reply.
    pub(super) fn commands(&self) -> Vec<Cmd> {
        match self {
            Request::Command(command) => vec![command.clone()],
            Request::Script(call) => vec![call.command()],
            Request::Transaction(pipeline) => {
                let inner = pipeline.cmd_iter().cloned();
                std::iter::once(redis::cmd("MULTI")).chain(inner).chain([redis::cmd("EXEC")]).collect()
            }
        }
    }
}

pub(super) fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}
