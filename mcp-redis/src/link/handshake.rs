//! Making a connection: what the server must be able to do is found out before the connection is used.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo as _, ProtocolVersion, PushInfo, RedisError};

use super::failure::{Failures, first};
use super::replicated::{Replication, Writer};
use super::target::Target;
use crate::script;

/// The oldest version with streams that are trimmed by id, and with exclusive ranges.
const OLDEST: (u64, u64) = (6, 2);

/// Receives what Redis sends unasked: messages on subscribed channels, and that the connection is lost.
pub(crate) type OnPush = Arc<dyn Fn(PushInfo) + Send + Sync>;

/// Makes connections to one server.
#[derive(Debug)]
pub(crate) struct Dialer {
    target: Target,
    pub(crate) failures: Failures,
    pub(crate) database: i64,
    pub(crate) response_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    /// The replicas that writes wait for, if they do.
    pub(crate) replication: Option<Replication>,
}

/// Where to connect to, and how.
pub(crate) struct Options {
    pub(crate) url: String,
    /// The URLs of Sentinels that know the server. The host of `url` is its name, then.
    pub(crate) sentinels: Vec<String>,
    pub(crate) root_certificate: Option<Vec<u8>>,
    pub(crate) response_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    /// The replicas that writes wait for, if they do.
    pub(crate) replication: Option<Replication>,
}

impl Dialer {
    pub(crate) fn new(options: Options) -> io::Result<Self> {
        let info = options.url.as_str().into_connection_info().map_err(|error| invalid_url(&error))?;
        // Changes arrive as push messages of RESP3, on the same connection.
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let (address, database) = (info.addr().to_string(), settings.db());
        let info = info.set_redis_settings(settings).set_tcp_settings(tcp);
        let target =
            Target::new(info, &options.sentinels, options.root_certificate).map_err(|error| invalid_url(&error))?;
        let (response_timeout, connect_timeout) = (options.response_timeout, options.connect_timeout);
        let (failures, replication) = (Failures { address }, options.replication);
        Ok(Dialer { target, failures, database, response_timeout, connect_timeout, replication })
    }

    /// Connects, checks the server, loads the scripts and subscribes to the channel. If writes wait for replicas, they have
    /// a connection of their own.
    pub(crate) async fn dial(
        &self,
        channel: &str,
        on_push: OnPush,
    ) -> io::Result<(MultiplexedConnection, Option<Writer>)> {
        let all = async {
            let client = self.target.client(&self.failures).await?;
            let mut connection = self.connect(&client, &on_push, self.response_timeout).await?;
            self.check(&mut connection).await?;
            connection.subscribe(channel).await.map_err(|error| self.failures.of(&error))?;
            let Some(replication) = self.replication else { return Ok((connection, None)) };
            let limit = self.response_timeout.saturating_add(replication.timeout);
            let writes = self.connect(&client, &on_push, limit).await?;
            Ok((connection, Some(Writer::new(writes, replication))))
        };
        let late = |_| Err(self.failures.timed_out(self.connect_timeout));
        tokio::time::timeout(self.connect_timeout, all).await.unwrap_or_else(late)
    }

    async fn connect(&self, client: &Client, on_push: &OnPush, limit: Duration) -> io::Result<MultiplexedConnection> {
        let on_push = Arc::clone(on_push);
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(Some(limit))
            .set_push_sender(move |push| {
                on_push(push);
                Ok::<(), ()>(())
            });
        let connected = client.get_multiplexed_async_connection_with_config(&config).await;
        connected.map_err(|error| self.failures.of(&error))
    }

    /// Checks the version and the role, and loads the scripts, in one round trip. What a Sentinel names may be a primary
    /// that was demoted a moment ago.
    /// <https://redis.io/docs/latest/develop/reference/sentinel-clients/#step-3-call-the-role-command-in-the-target-instance>
    async fn check(&self, connection: &mut MultiplexedConnection) -> io::Result<()> {
        let mut pipeline = redis::pipe();
        pipeline.cmd("INFO").arg("server");
        pipeline.cmd("INFO").arg("replication");
        for text in script::ALL {
            pipeline.cmd("SCRIPT").arg("LOAD").arg(*text).ignore();
        }
        let (info, replication): (String, String) =
            pipeline.query_async(connection).await.map_err(|error| self.failures.of(&first(error)))?;
        match version(&info) {
            Some((found, version)) if version < OLDEST => Err(self.failures.error(
                io::ErrorKind::Unsupported,
                &format!("version {found} is too old; install Redis {}.{} or newer, or Valkey", OLDEST.0, OLDEST.1),
            )),
            _ if replication.lines().any(|line| line.trim() == "role:slave") => {
                let text = "it is a replica, which cannot be written; connect to the primary";
                Err(self.failures.error(io::ErrorKind::NotConnected, text))
            }
            _ => Ok(()),
        }
    }
}

fn invalid_url(error: &RedisError) -> io::Error {
    let text = format!("not the URL of a Redis server, such as `redis://user:password@host:6379/0`: {error}");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// The version in a reply to `INFO server`. Valkey names the version of Redis it is compatible with.
fn version(info: &str) -> Option<(&str, (u64, u64))> {
    let found = info.lines().find_map(|line| line.strip_prefix("redis_version:"))?.trim();
    let mut numbers = found.split('.').map_while(|number| number.parse().ok());
    Some((found, (numbers.next()?, numbers.next()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let parsed = |text| version(text).map(|(_, version)| version);
        assert_eq!(parsed("# Server\r\nredis_version:7.0.15\r\nos:Linux\r\n"), Some((7, 0)));
        assert!(parsed("redis_version:6.0.16\r\n").unwrap() < OLDEST);
        assert!(parsed("redis_version:6.2.0\r\n").unwrap() >= OLDEST);
        assert!(parsed("redis_version:10.0.0\r\n").unwrap() >= OLDEST);
        assert_eq!(parsed("something else"), None);
    }
}
