//! Options of a connection.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::store::EventHints;

use crate::Redis;
use crate::changes::Changes;
use crate::cluster::router::Router;
use crate::link::Channels;
use crate::link::endpoint::{cluster_url, sentinel_url};
use crate::link::handshake::{Dialer, Options};
use crate::link::replicated::Replication;
use crate::names::Names;
use crate::seal::Sealer;
use crate::store::Inner;

/// Options of a [`Redis`], by [`Redis::builder`].
///
/// ```
/// use std::time::Duration;
///
/// use mcp_redis::Redis;
///
/// # #[tokio::main]
/// # async fn main() -> std::io::Result<()> {
/// let redis = Redis::builder("redis://127.0.0.1:1/")
///     .prefix("calculator") // other servers in the same database have another
///     .response_timeout(Duration::from_millis(200))
///     .connect_lazy()?;
/// // No server listens on this port. With `connect`, the builder would have failed.
/// assert!(redis.ping().await.is_err());
///
/// let mistake = Redis::builder("redis://127.0.0.1/").prefix("two words").connect_lazy().unwrap_err();
/// assert!(mistake.to_string().contains("prefix"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisBuilder {
    url: String,
    sentinels: Vec<String>,
    prefix: String,
    secrets: Vec<[u8; 32]>,
    response_timeout: Duration,
    connect_timeout: Duration,
    replication: Option<Replication>,
    #[cfg(feature = "tls")]
    root_certificate: Option<Vec<u8>>,
}

impl RedisBuilder {
    pub(crate) fn new(url: &str) -> Self {
        RedisBuilder {
            url: url.to_owned(),
            sentinels: Vec::new(),
            prefix: "mcp".to_owned(),
            secrets: Vec::new(),
            response_timeout: Duration::from_millis(500),
            connect_timeout: Duration::from_secs(1),
            replication: None,
            #[cfg(feature = "tls")]
            root_certificate: None,
        }
    }

    /// What the names of all keys begin with, `mcp` by default. Servers that share a database need different ones;
    /// replicas of one server need the same. Letters, digits and `-_.:` are allowed.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Seals records with this key: authenticated encryption, so that whoever reads the database or a backup learns
    /// nothing of clients and results. All replicas need the same key. Without one, records are stored as JSON.
    ///
    /// Call it again to add older keys: the first one seals, all of them open. To replace a key, first deploy the new
    /// one as the second everywhere, then as the first, then without the old one.
    pub fn seal_key(mut self, key: &[u8; 32]) -> Self {
        self.secrets.push(*key);
        self
    }

    /// Asks these Sentinels for the server, whenever a connection is made: after a failover, that is another one. The
    /// host of the URL is the name of the primary, `mymaster` for example, and its user, password and database are
    /// those of the server. URLs of Sentinels have passwords of their own, if they need one.
    ///
    /// `redis+sentinel://user:password@host:port,host:port/mymaster/0` says the same in one URL, for Sentinels without a
    /// password.
    pub fn sentinels<U: Into<String>>(mut self, urls: impl IntoIterator<Item = U>) -> Self {
        self.sentinels.extend(urls.into_iter().map(Into::into));
        self
    }

    /// How long an operation may take, 500 ms by default.
    pub fn response_timeout(mut self, limit: Duration) -> Self {
        self.response_timeout = limit;
        self
    }

    /// How long connecting may take, including the handshake, 1 s by default.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Makes writes of sessions and tasks wait until this many replicas of Redis have them (`WAIT`), for this long at most:
    /// a failover loses none of them if the replica that is promoted is one of those. Redis replicates asynchronously, and
    /// without this, the writes of the last moment may be lost. Reads, events, leases and TTLs do not wait.
    ///
    /// If fewer have acknowledged when the time is over, the write fails, though the primary has made it: the client gets 503
    /// and comes again. So ask for fewer replicas than there are, or one that is away stops new sessions and tasks. A hundred
    /// milliseconds are much for replicas in one region.
    ///
    /// A write is still one round trip, which takes as long as the replicas need. These writes have a connection of their own,
    /// because `WAIT` blocks it; writes that arrive meanwhile share the next `WAIT`.
    pub fn wait_for_replicas(mut self, replicas: u32, timeout: Duration) -> Self {
        self.replication = (replicas > 0).then_some(Replication { replicas, timeout });
        self
    }

    /// Trusts servers with a certificate by this authority, in PEM, instead of those that the system trusts. For
    /// `rediss://` URLs.
    #[cfg(feature = "tls")]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificate = Some(pem.into());
        self
    }

    /// Connects. Fails if the server is away, too old or not Redis, or rejects the password; the error says what to do.
    pub async fn connect(self) -> io::Result<Redis> {
        let redis = self.connect_lazy()?;
        redis.0.link.connect().await?;
        Ok(redis)
    }

    /// Connects in the background, on first use. Operations fail while the server is away. Fails only if an option is
    /// invalid.
    pub fn connect_lazy(self) -> io::Result<Redis> {
        let is_valid = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
        if self.prefix.is_empty() || !self.prefix.chars().all(is_valid) {
            let text =
                format!("the prefix {:?} of keys may have letters, digits and `-_.:`, at least one", self.prefix);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        #[cfg(feature = "tls")]
        let root_certificate = self.root_certificate;
        #[cfg(not(feature = "tls"))]
        let root_certificate = None;
        let (mut url, mut sentinels) = (self.url, self.sentinels);
        if let Some(named) = sentinel_url::parse(&url)? {
            url = named.url;
            sentinels.extend(named.sentinels);
        }
        let nodes = cluster_url::parse(&url)?.unwrap_or_default();
        if let Some(first) = nodes.first() {
            url.clone_from(first);
        }
        if !nodes.is_empty() && !sentinels.is_empty() {
            let text = "a cluster has no Sentinels; remove them, or use the URL of a server that they know";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let dialer = Dialer::new(Options {
            url,
            sentinels,
            nodes,
            root_certificate,
            response_timeout: self.response_timeout,
            connect_timeout: self.connect_timeout,
            replication: self.replication,
        })?;
        let (names, sealer) = (Names::new(self.prefix, dialer.database), Arc::new(Sealer::new(&self.secrets)));
        let channel = names.channel();
        let changes = Arc::new(Changes::new(Arc::clone(&sealer), channel.clone())?);
        let hints = EventHints::new();
        let channels = Channels { name: channel, changes: Arc::clone(&changes), hints: hints.clone() };
        let link = Router::lazy(dialer, channels);
        Ok(Redis(Arc::new(Inner { link, names, sealer, changes, hints, has_left_out: false.into() })))
    }
}

/// Omits the URL, which may have a password, and the keys.
impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBuilder")
            .field("prefix", &self.prefix)
            .field("seal_keys", &self.secrets.len())
            .field("response_timeout", &self.response_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("replication", &self.replication)
            .finish_non_exhaustive()
    }
}
