//! The session store: HTTP sessions of clients of 2025-03-26 to 2025-11-25, shared by all replicas.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::StoreFuture;
use crate::protocol::{LogLevel, Revision};

/// Stores HTTP sessions, so that any replica can serve them.
///
/// The server loads the session for each of its requests, with a [`Backend`](super::Backend) five times a second at most; a
/// session removed by one replica is thereby closed at all of them. Session ids are secrets: an id and the session's principal suffice to use it.
///
/// ```
/// use std::collections::HashMap;
/// use std::io::{Error, Result};
/// use std::sync::Mutex;
/// use std::time::Duration;
/// use mcp_runtime::store::{SessionRecord, SessionStore};
/// use tokio::time::Instant;
///
/// /// Sessions as JSON, as in a database.
/// #[derive(Debug, Default)]
/// struct JsonSessions(Mutex<HashMap<String, (String, Instant)>>);
///
/// impl SessionStore for JsonSessions {
///     async fn create(&self, id: &str, record: &SessionRecord, ttl: Duration) -> Result<()> {
///         let text = serde_json::to_string(record)?;
///         self.0.lock().unwrap().insert(id.into(), (text, Instant::now() + ttl));
///         Ok(())
///     }
///
///     async fn load(&self, id: &str) -> Result<Option<SessionRecord>> {
///         match self.0.lock().unwrap().get(id) {
///             Some((text, end)) if *end > Instant::now() => Ok(Some(serde_json::from_str(text)?)),
///             _ => Ok(None),
///         }
///     }
///
///     async fn update(&self, id: &str, record: &SessionRecord, ttl: Duration) -> Result<bool> {
///         let mut all = self.0.lock().unwrap(); // the transaction
///         let Some((text, end)) = all.get_mut(id).filter(|(_, end)| *end > Instant::now()) else { return Ok(false) };
///         let before: SessionRecord = serde_json::from_str(text)?;
///         if before.version + 1 != record.version {
///             return Ok(false);
///         }
///         (*text, *end) = (serde_json::to_string(record)?, Instant::now() + ttl);
///         Ok(true)
///     }
///
///     async fn touch(&self, id: &str, ttl: Duration) -> Result<bool> {
///         let mut all = self.0.lock().unwrap();
///         let there = all.get_mut(id).filter(|(_, end)| *end > Instant::now());
///         Ok(there.map(|(_, end)| *end = Instant::now() + ttl).is_some())
///     }
///
///     async fn remove(&self, id: &str) -> Result<()> {
///         self.0.lock().unwrap().remove(id);
///         Ok(())
///     }
/// }
///
/// # // In paused time nothing expires too early on a busy machine.
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// mcp_runtime::testing::contract::sessions(JsonSessions::default).await;
/// # }
/// ```
pub trait SessionStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a new session, which expires `ttl` from now.
    fn create(&self, id: &str, record: &SessionRecord, ttl: Duration) -> impl Future<Output = io::Result<()>> + Send;

    /// Loads a session. Returns `None` if it is unknown or expired.
    fn load(&self, id: &str) -> impl Future<Output = io::Result<Option<SessionRecord>>> + Send;

    /// Replaces the stored record if its [version](SessionRecord::version) is the one before
    /// `record.version`, and resets the expiry to `ttl` from now (optimistic concurrency). Returns
    /// `false` and changes nothing if another replica updated the record first, or if the session is
    /// unknown or expired.
    ///
    /// Compare and replace atomically, for example with `WHERE version = …` or a Redis script: two
    /// replicas may update at the same time.
    fn update(&self, id: &str, record: &SessionRecord, ttl: Duration) -> impl Future<Output = io::Result<bool>> + Send;

    /// Resets the expiry of a session to `ttl` from now. Returns `false` if it is unknown or expired.
    fn touch(&self, id: &str, ttl: Duration) -> impl Future<Output = io::Result<bool>> + Send;

    /// Removes a session. Removing an unknown session succeeds.
    fn remove(&self, id: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// Removes expired sessions, and returns how long it is until the next one expires, if there is one. The server
    /// calls it then, and every half a minute; a store that expires records itself need not implement it.
    fn sweep(&self) -> impl Future<Output = io::Result<Option<Duration>>> + Send {
        async { Ok(None) }
    }
}

/// The state of a session, enough to serve it at any replica. Serializes to JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionRecord {
    /// The version of the record: 0 when the session is opened, incremented by each update.
    pub version: u64,
    /// The revision negotiated in `initialize`.
    pub revision: Revision,
    /// The `params` of the client's `initialize` request.
    pub initialize_params: Map<String, Value>,
    /// The principal that opened the session, if it was authenticated. Other principals get 404.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// When the session was opened, in milliseconds since the Unix epoch.
    pub opened_ms: u64,
    /// Whether the client has sent `notifications/initialized`.
    pub initialized: bool,
    /// The minimum level of log messages sent to the client.
    pub log_level: LogLevel,
    /// The URIs of the resources the client subscribed to.
    #[serde(default)]
    pub subscriptions: BTreeSet<String>,
}

impl SessionRecord {
    /// A session opened now, without a principal.
    pub fn new(revision: Revision) -> Self {
        let opened = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        SessionRecord {
            version: 0,
            revision,
            initialize_params: Map::new(),
            principal: None,
            opened_ms: u64::try_from(opened.as_millis()).unwrap_or(u64::MAX),
            initialized: false,
            log_level: LogLevel::Info,
            subscriptions: BTreeSet::new(),
        }
    }

    /// The age of the session, by the clock of this machine.
    pub(crate) fn age(&self) -> Duration {
        let opened = UNIX_EPOCH.checked_add(Duration::from_millis(self.opened_ms));
        opened.and_then(|opened| SystemTime::now().duration_since(opened).ok()).unwrap_or_default()
    }
}

/// The object-safe form of [`SessionStore`].
pub(crate) trait DynSessionStore: fmt::Debug + Send + Sync {
    fn create<'a>(&'a self, id: &'a str, record: &'a SessionRecord, ttl: Duration) -> StoreFuture<'a, ()>;
    fn load<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<SessionRecord>>;
    fn update<'a>(&'a self, id: &'a str, record: &'a SessionRecord, ttl: Duration) -> StoreFuture<'a, bool>;
    fn touch<'a>(&'a self, id: &'a str, ttl: Duration) -> StoreFuture<'a, bool>;
    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()>;
    fn sweep(&self) -> StoreFuture<'_, Option<Duration>>;
}

impl<T: SessionStore> DynSessionStore for T {
    fn create<'a>(&'a self, id: &'a str, record: &'a SessionRecord, ttl: Duration) -> StoreFuture<'a, ()> {
        Box::pin(async move { SessionStore::create(self, id, record, ttl).await })
    }

    fn load<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<SessionRecord>> {
        Box::pin(async move { SessionStore::load(self, id).await })
    }

    fn update<'a>(&'a self, id: &'a str, record: &'a SessionRecord, ttl: Duration) -> StoreFuture<'a, bool> {
        Box::pin(async move { SessionStore::update(self, id, record, ttl).await })
    }

    fn touch<'a>(&'a self, id: &'a str, ttl: Duration) -> StoreFuture<'a, bool> {
        Box::pin(async move { SessionStore::touch(self, id, ttl).await })
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move { SessionStore::remove(self, id).await })
    }

    fn sweep(&self) -> StoreFuture<'_, Option<Duration>> {
        Box::pin(async move { SessionStore::sweep(self).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_record_round_trips_as_json() {
        let mut record = SessionRecord::new(Revision::V2025_06_18);
        record.initialize_params.insert("clientInfo".into(), serde_json::json!({"name": "tester"}));
        record.subscriptions.insert("note://1".into());
        let text = serde_json::to_string(&record).unwrap();
        assert!(
            text.starts_with(r#"{"version":0,"revision":"2025-06-18","initializeParams":{"clientInfo":"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<SessionRecord>(&text).unwrap(), record);
        let unknown = text.replace("2025-06-18", "2019-01-01");
        assert!(serde_json::from_str::<SessionRecord>(&unknown).is_err());
    }
}
