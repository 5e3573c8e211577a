//! Sessions, events, tasks and changes of MCP servers in Redis or Valkey, so that several replicas serve as one.
//!
//! A load balancer sends each request of a client to any replica. What a replica needs to serve it is in the
//! [`Backend`] of its server, and this crate implements one for Redis 6.2 and newer and for Valkey:
//!
//! ```no_run
//! use mcp_redis::Redis;
//! use mcp_runtime::prelude::*;
//!
//! /// Add two integers.
//! #[tool(read_only)]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # async fn example() -> std::io::Result<()> {
//! let redis = Redis::connect("redis://127.0.0.1/").await?;
//! let server = Server::new("calculator", "1.0.0").tools(tools![add]).backend(redis);
//! # drop(server);
//! # Ok(())
//! # }
//! ```
//!
//! # Connecting
//!
//! [`Redis::connect`] fails if the server cannot be used, and says what to do. [`Redis::connect_lazy`] starts without it.
//! [`Redis::builder`] has options:
//!
//! ```no_run
//! # async fn example(key: [u8; 32]) -> std::io::Result<()> {
//! use mcp_redis::Redis;
//!
//! let redis = Redis::builder("redis://user:password@redis.internal:6379/0")
//!     .prefix("calculator")
//!     .seal_key(&key)
//!     .connect()
//!     .await?;
//! redis.ping().await?; // for a readiness check
//! # Ok(())
//! # }
//! ```
//!
//! `rediss://` URLs need the feature `tls`. Each `Redis` has one connection, which its clones and all stores share. A lost
//! connection is made again in the background, with one line in the log when it is lost and one when it is back.
//! Meanwhile operations fail at once, and a slow server makes them fail after 500 ms: nothing waits for Redis for longer
//! than a second. Errors tell the cases apart by their kind:
//! [`TimedOut`](std::io::ErrorKind::TimedOut) and [`NotConnected`](std::io::ErrorKind::NotConnected) pass,
//! [`InvalidData`](std::io::ErrorKind::InvalidData) is a record that cannot be read.
//!
//! # What is stored
//!
//! Names of keys begin with the [prefix](RedisBuilder::prefix) and have the SHA-256 of an id, never the id: ids of
//! sessions, streams and tasks are credentials. Records are JSON, or sealed with
//! [`seal_key`](RedisBuilder::seal_key), as are the messages between replicas. All keys but [secrets](Redis::secret)
//! expire by themselves, so that nothing has to be swept.
//!
//! Redis must not evict keys on its own: set `maxmemory-policy noeviction`. A replica of Redis that is promoted after a
//! failure may lack the last writes, since Redis replicates asynchronously;
//! [`sentinels`](RedisBuilder::sentinels) finds it, and [`wait_for_replicas`](RedisBuilder::wait_for_replicas) waits for
//! replicas with every write of sessions and tasks.
//!
//! # Redis Cluster
//!
//! `redis+cluster://` URLs name some nodes; the others are found, and have to be reachable at the addresses that they
//! announce. There is one connection to each primary, all of which [`Redis::connect`] makes, and one more for the changes.
//! Requests follow slots that move, and primaries that fail over: while a primary is away, what is in its slots fails at
//! once, and nothing else. Sessions, streams, inboxes and leases are spread over the nodes by their ids. All tasks of a
//! server are in one slot, because one quota holds for all of them, and while that slot is being moved to another node,
//! operations on tasks may fail with [`ResourceBusy`](std::io::ErrorKind::ResourceBusy).

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod changes;
mod cluster;
mod link;
mod names;
mod script;
mod seal;
mod store;

use std::sync::Arc;
use std::{fmt, io};

use mcp_runtime::store::{Backend, ChangeBus, EventStore, Inbox, LeaseStore, SessionStore, TaskStore};

use crate::link::{Repeat, Request};
use crate::store::Inner;

pub use builder::RedisBuilder;
pub use store::bus::RedisBus;
pub use store::events::RedisEvents;
pub use store::inbox::RedisInbox;
pub use store::leases::RedisLeases;
pub use store::sessions::RedisSessions;
pub use store::tasks::RedisTasks;

/// A connection to Redis, and the stores behind it. Clones share it; it is closed with the last clone and store.
#[derive(Clone)]
pub struct Redis(pub(crate) Arc<Inner>);

impl Redis {
    /// Connects to the server at a URL: `redis://user:password@host:port/database`, `rediss://` for TLS,
    /// `unix:///path` for a socket, `redis+sentinel://host:port,host:port/name/database` for the primary that Sentinels
    /// know by this name, `redis+cluster://user:password@host:port,host:port/` for a Redis Cluster, of which some nodes
    /// suffice, `rediss+cluster://` for one over TLS. Fails if it cannot be used; the error says what to do.
    pub async fn connect(url: &str) -> io::Result<Self> {
        Self::builder(url).connect().await
    }

    /// Connects in the background, on first use. Operations fail while the server is away. Fails only if the URL is
    /// invalid.
    pub fn connect_lazy(url: &str) -> io::Result<Self> {
        Self::builder(url).connect_lazy()
    }

    /// Options for the connection to the server at a URL.
    pub fn builder(url: &str) -> RedisBuilder {
        RedisBuilder::new(url)
    }

    /// The session store.
    pub fn sessions(&self) -> Arc<RedisSessions> {
        Arc::new(RedisSessions(Arc::clone(&self.0)))
    }

    /// The event store, for the streams of sessions.
    pub fn events(&self) -> Arc<RedisEvents> {
        Arc::new(RedisEvents(Arc::clone(&self.0)))
    }

    /// The inboxes: messages about calls that reached another replica than the one that runs the call.
    pub fn inbox(&self) -> Arc<RedisInbox> {
        Arc::new(RedisInbox(Arc::clone(&self.0)))
    }

    /// The lease store, by which replicas know which of them live.
    pub fn leases(&self) -> Arc<RedisLeases> {
        Arc::new(RedisLeases(Arc::clone(&self.0)))
    }

    /// The task store.
    pub fn tasks(&self) -> Arc<RedisTasks> {
        Arc::new(RedisTasks(Arc::clone(&self.0)))
    }

    /// The change bus between replicas.
    pub fn bus(&self) -> Arc<RedisBus> {
        Arc::new(RedisBus(Arc::clone(&self.0)))
    }

    /// Asks the server whether it is there, or a node whether the cluster works, for a readiness check. Takes a second at
    /// most.
    pub async fn ping(&self) -> io::Result<()> {
        self.0.link.ping().await
    }

    /// The secret of this name: 32 random bytes, the same for all replicas. Whoever asks first makes it up. It does not
    /// expire, and survives a server that comes back empty; delete its key, `PREFIX:secret:…`, and restart all replicas to
    /// replace it.
    ///
    /// Without [`seal_key`](RedisBuilder::seal_key), whoever can read the database can read it.
    pub async fn secret(&self, name: &str) -> io::Result<[u8; 32]> {
        let key = self.0.names.secret(name);
        let mut agree = script::SECRET.key(&key);
        let proposed: [u8; 32] = seal::random()?;
        agree.arg(self.0.encode(&proposed, &key)?);
        let agreed: Vec<u8> = self.0.link.run(&Request::Script(agree), Repeat::Safe).await?;
        self.0.link.keep(&key, &agreed);
        self.0.decode(agreed, &key)
    }
}

impl Backend for Redis {
    fn sessions(&self) -> Arc<impl SessionStore> {
        Redis::sessions(self)
    }

    fn events(&self) -> Arc<impl EventStore> {
        Redis::events(self)
    }

    fn inbox(&self) -> Arc<impl Inbox> {
        Redis::inbox(self)
    }

    fn leases(&self) -> Arc<impl LeaseStore> {
        Redis::leases(self)
    }

    fn tasks(&self) -> Arc<impl TaskStore> {
        Redis::tasks(self)
    }

    fn changes(&self) -> Arc<dyn ChangeBus> {
        self.bus()
    }

    async fn secret(&self) -> io::Result<Vec<u8>> {
        Ok(Redis::secret(self, "state").await?.to_vec())
    }

    async fn ping(&self) -> io::Result<()> {
        Redis::ping(self).await
    }
}

/// Omits the URL, which may have a password.
impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").finish_non_exhaustive()
    }
}
