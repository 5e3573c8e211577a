//! Making a connection: what the server must be able to do is found out before the connection is used.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ErrorKind, IntoConnectionInfo as _, ProtocolVersion, PushInfo,
    RedisError, RedisResult,
};

use super::endpoint::Endpoint;
use super::endpoint::seeds::{Address, Seeds, check_cluster};
use super::failure::{Failures, first};
use super::replicated::{Replication, Writer};
use crate::script;

/// The oldest version with streams that are trimmed by id, and with exclusive ranges.
const OLDEST: (u64, u64) = (6, 2);

/// Receives what Redis sends unasked: messages on subscribed channels, and that the connection is lost.
pub(crate) type OnPush = Arc<dyn Fn(PushInfo) + Send + Sync>;

/// Makes connections to one server.
#[derive(Debug)]
pub(crate) struct Dialer {
    endpoint: Endpoint,
    pub(crate) failures: Failures,
    pub(crate) database: i64,
    pub(crate) response_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    /// The replicas that writes wait for, if they do.
    pub(crate) replication: Option<Replication>,
}

/// A connection that was made.
pub(crate) struct Dialed {
    pub(crate) redis: MultiplexedConnection,
    /// Where it leads, unless that is a file.
    pub(crate) host: Option<Arc<str>>,
    /// The connection for writes that wait for replicas.
    pub(crate) writer: Option<Writer>,
}

/// Where to connect to, and how.
pub(crate) struct Options {
    pub(crate) url: String,
    /// The URLs of Sentinels that know the server. The host of `url` is its name, then.
    pub(crate) sentinels: Vec<String>,
    /// The URLs of nodes of a cluster, of which `url` is one. Empty: it is no cluster.
    pub(crate) nodes: Vec<String>,
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
        let seeds = seeds_of(&options.nodes)?;
        let address = seeds.as_ref().map_or(address, ToString::to_string);
        let endpoint = Endpoint::new(&info, &options.sentinels, seeds, options.root_certificate);
        let endpoint = endpoint.map_err(|error| invalid_url(&error))?;
        let (response_timeout, connect_timeout) = (options.response_timeout, options.connect_timeout);
        let (failures, replication) = (Failures { address }, options.replication);
        Ok(Dialer { endpoint, failures, database, response_timeout, connect_timeout, replication })
    }

    /// For one node of the cluster that this is for any node of.
    pub(crate) fn at(&self, address: &Address) -> io::Result<Self> {
        let failures = Failures { address: address.to_string() };
        let not_one = || failures.error(io::ErrorKind::InvalidInput, "it is not in a cluster");
        let endpoint = self.endpoint.node(address).map_err(|error| invalid_url(&error))?.ok_or_else(not_one)?;
        let Dialer { database, response_timeout, connect_timeout, replication, .. } = *self;
        Ok(Dialer { endpoint, failures, database, response_timeout, connect_timeout, replication })
    }

    /// The nodes to ask about the cluster, if it is one.
    pub(crate) fn seeds(&self) -> Option<&Arc<Seeds>> {
        if let Endpoint::AnyNode { seeds, .. } = &self.endpoint { Some(seeds) } else { None }
    }

    /// Connects, checks the server, loads the scripts and subscribes to the channel. If writes wait for replicas, they have
    /// a connection of their own.
    pub(crate) async fn dial(&self, channel: Option<&str>, on_push: OnPush) -> io::Result<Dialed> {
        let all = async {
            let client = self.endpoint.client(&self.failures).await?;
            let mut redis = self.connect(&client, &on_push, self.response_timeout).await?;
            self.check(&mut redis).await?;
            if let Some(channel) = channel {
                redis.subscribe(channel).await.map_err(|error| self.failures.of(&error))?;
            }
            let waits = self.replication.filter(|_| self.seeds().is_none());
            let host = host_of(client.get_connection_info().addr()).map(Arc::from);
            let Some(replication) = waits else { return Ok(Dialed { redis, host, writer: None }) };
            let limit = self.response_timeout.saturating_add(replication.timeout);
            let writes = self.connect(&client, &on_push, limit).await?;
            Ok(Dialed { redis, host, writer: Some(Writer::new(writes, replication)) })
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

    /// Asks whether the server is there, and the cluster, if it is for any node of it.
    pub(super) async fn ping(&self, connection: &mut MultiplexedConnection) -> io::Result<()> {
        if self.seeds().is_some() {
            return check_cluster(connection, &self.failures).await;
        }
        redis::cmd("PING").exec_async(connection).await.map_err(|error| self.failures.of(&error))
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
            // In a cluster, a replica says where its primary is, and receives all messages.
            _ if matches!(self.endpoint, Endpoint::Node(_) | Endpoint::AnyNode { .. }) => Ok(()),
            _ if replication.lines().any(|line| line.trim() == "role:slave") => {
                let text = "it is a replica, which cannot be written; connect to the primary";
                Err(self.failures.error(io::ErrorKind::NotConnected, text))
            }
            _ => Ok(()),
        }
    }
}

fn host_of(address: &ConnectionAddr) -> Option<&str> {
    match address {
        ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => Some(host),
        _ => None,
    }
}

/// The addresses in the URLs of nodes.
fn seeds_of(nodes: &[String]) -> io::Result<Option<Arc<Seeds>>> {
    if nodes.is_empty() {
        return Ok(None);
    }
    let address = |url: &String| match url.as_str().into_connection_info()?.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Ok(Address { host: host.clone(), port: *port })
        }
        _ => Err((ErrorKind::InvalidClientConfig, "a node of a cluster has a host and a port").into()),
    };
    let addresses: RedisResult<_> = nodes.iter().map(address).collect();
    Ok(Some(Arc::new(Seeds::new(addresses.map_err(|error| invalid_url(&error))?)?)))
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
