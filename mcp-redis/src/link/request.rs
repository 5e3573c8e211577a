//! Something to run in Redis, in one round trip.

use redis::aio::MultiplexedConnection;
use redis::{Arg, Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, ServerErrorKind, Value};

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

/// How a request came to a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Straight,
    /// Another node of the cluster sent it here, for this once: the slot of its key is being moved.
    /// <https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#ask-redirection>
    Asked,
}

impl Request {
    pub(super) async fn send<T: FromRedisValue>(&self, redis: &mut MultiplexedConnection, way: Way) -> RedisResult<T> {
        match self.send_once(redis, way).await {
            Err(error) if is_unknown_script(&error) => {
                self.load(redis).await?;
                self.send_once(redis, way).await
            }
            reply => reply,
        }
    }

    async fn send_once<T: FromRedisValue>(&self, redis: &mut MultiplexedConnection, way: Way) -> RedisResult<T> {
        match self {
            _ if way == Way::Asked => self.send_asking(redis).await,
            Request::Command(command) => command.query_async(redis).await,
            Request::Transaction(pipeline) => pipeline.query_async(redis).await.map_err(first),
            Request::Script(call) => call.command().query_async(redis).await,
        }
    }

    /// Sends `ASKING` and the commands together, so that nothing comes in between.
    async fn send_asking<T: FromRedisValue>(&self, redis: &mut MultiplexedConnection) -> RedisResult<T> {
        let mut pipeline = redis::pipe();
        for command in self.commands(Way::Asked) {
            pipeline.add_command(command);
        }
        let replies = pipeline.ignore_errors().query_async::<Vec<RedisResult<Value>>>(redis).await?;
        let no_reply = || Err((ErrorKind::Parse, "the server does not answer all commands").into());
        // The reply is that of the last command. Of a transaction that fails, the first error says why.
        let last = replies.into_iter().reduce(Result::and).unwrap_or_else(no_reply)?;
        Ok(redis::from_redis_value(last)?)
    }

    /// Loads the script, if it is a call of one.
    pub(super) async fn load(&self, redis: &mut MultiplexedConnection) -> RedisResult<()> {
        match self {
            Request::Script(call) => redis::cmd("SCRIPT").arg("LOAD").arg(call.script.text).exec_async(redis).await,
            _ => Ok(()),
        }
    }

    /// The commands, of which the last one has the reply.
    pub(super) fn commands(&self, way: Way) -> Vec<Cmd> {
        let asking = (way == Way::Asked).then(|| redis::cmd("ASKING"));
        let commands = asking.into_iter();
        match self {
            Request::Command(command) => commands.chain([command.clone()]).collect(),
            Request::Script(call) => commands.chain([call.command()]).collect(),
            Request::Transaction(pipeline) => {
                let inner = pipeline.cmd_iter().cloned();
                commands.chain([redis::cmd("MULTI")]).chain(inner).chain([redis::cmd("EXEC")]).collect()
            }
        }
    }

    /// The first key, which says where in a cluster the request belongs. None: anywhere.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        let command = match self {
            Request::Script(call) => return call.first_key(),
            Request::Command(command) => command,
            Request::Transaction(pipeline) => pipeline.cmd_iter().next()?,
        };
        let mut words = command.args_iter();
        match (words.next()?, words.next()?) {
            // Channels are the same on all nodes.
            (Arg::Simple(b"PUBLISH"), _) => None,
            (_, Arg::Simple(key)) => Some(key),
            _ => None,
        }
    }
}

pub(super) fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}
