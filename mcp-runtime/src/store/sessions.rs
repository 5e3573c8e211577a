//! Sessions of clients of 2025-03-26 to 2025-11-25 over HTTP, kept where every replica can find them.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::StoreFuture;
use crate::protocol::{LogLevel, Revision};

/// Keeps sessions, so that any replica can serve them.
///
/// A session is looked up for every request that belongs to it, so that one which was ended elsewhere is
/// over everywhere. Ids are secrets: whoever has one and is the principal of the session can use it.
///
/// ```
/// use std::collections::HashMap;
/// use std::io::{Error, Result};
/// use std::sync::Mutex;
/// use std::time::{Duration, Instant};
/// use mcp_runtime::store::{SessionRecord, SessionStore};
///
/// /// Sessions as texts, as a database would have them.
/// #[derive(Debug, Default)]
/// struct Texts(Mutex<HashMap<String, (String, Instant)>>);
///
/// impl SessionStore for Texts {
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
///         let mut all = self.0.lock().unwrap(); // as a transaction would
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
/// # #[tokio::main]
/// # async fn main() {
/// mcp_runtime::testing::contract::sessions(Texts::default).await;
/// # }
/// ```
pub trait SessionStore: fmt::Debug + Send + Sync + 'static {
    /// Keeps a new session, until it was left alone for as long as `ttl`.
    fn create(&self, id: &str, record: &SessionRecord, ttl: Duration) -> impl Future<Output = io::Result<()>> + Send;

    /// The session with this id, if there is one and its time is not over.
    fn load(&self, id: &str) -> impl Future<Output = io::Result<Option<SessionRecord>>> + Send;

    /// Puts a record in the place of the one before it, which has the [version](SessionRecord::version)
    /// before its own, and keeps it until it was left alone for as long as `ttl`. False, and nothing
    /// changes, if that one is not there: somebody else was faster, or the session is over.
    ///
    /// In one step, as a `WHERE version = …` or a script does it: two replicas may try at a time.
    fn update(&self, id: &str, record: &SessionRecord, ttl: Duration) -> impl Future<Output = io::Result<bool>> + Send;

    /// Keeps a session that is used, from now on until it was left alone for as long as `ttl`. False
    /// if there is none.
    fn touch(&self, id: &str, ttl: Duration) -> impl Future<Output = io::Result<bool>> + Send;

    /// Ends a session. One that is not there has been ended.
    fn remove(&self, id: &str) -> impl Future<Output = io::Result<()>> + Send;
}

/// What has to be known of a session to serve it. Made to be kept as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionRecord {
    /// Counts the changes: 0 when the session is opened, one more for each.
    pub version: u64,
    /// The revision `initialize` settled.
    pub revision: Revision,
    /// What the client said in `initialize`: the members of its `params`.
    pub initialize_params: Map<String, Value>,
    /// Who opened it, where that is known. For others it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// When that was, in milliseconds since 1970.
    pub opened_ms: u64,
    /// Whether the client has said that it is ready.
    pub initialized: bool,
    /// The least grave messages the client wants.
    pub log_level: LogLevel,
    /// The URIs of the resources it wants to hear of.
    #[serde(default)]
    pub subscriptions: BTreeSet<String>,
}

impl SessionRecord {
    /// A session that is opened now, by nobody in particular.
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

    /// How old the session is, by the clock of this machine.
    pub(crate) fn age(&self) -> Duration {
        let opened = UNIX_EPOCH.checked_add(Duration::from_millis(self.opened_ms));
        opened.and_then(|opened| SystemTime::now().duration_since(opened).ok()).unwrap_or_default()
    }
}

/// A [`SessionStore`], whichever it is.
pub(crate) trait DynSessionStore: fmt::Debug + Send + Sync {
    fn create<'a>(&'a self, id: &'a str, record: &'a SessionRecord, ttl: Duration) -> StoreFuture<'a, ()>;
    fn load<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<SessionRecord>>;
    fn update<'a>(&'a self, id: &'a str, record: &'a SessionRecord, ttl: Duration) -> StoreFuture<'a, bool>;
    fn touch<'a>(&'a self, id: &'a str, ttl: Duration) -> StoreFuture<'a, bool>;
    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()>;
}

impl<T: SessionStore> DynSessionStore for T {
    fn create<'a>(&'a self, id: &'a str, record: &'a SessionRecord, ttl: Duration) -> StoreFuture<'a, ()> {
        Box::pin(SessionStore::create(self, id, record, ttl))
    }

    fn load<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<SessionRecord>> {
        Box::pin(SessionStore::load(self, id))
    }

    fn update<'a>(&'a self, id: &'a str, record: &'a SessionRecord, ttl: Duration) -> StoreFuture<'a, bool> {
        Box::pin(SessionStore::update(self, id, record, ttl))
    }

    fn touch<'a>(&'a self, id: &'a str, ttl: Duration) -> StoreFuture<'a, bool> {
        Box::pin(SessionStore::touch(self, id, ttl))
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(SessionStore::remove(self, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_json_and_comes_back_as_it_was() {
        let mut record = SessionRecord::new(Revision::V2025_06_18);
        record.initialize_params.insert("clientInfo".into(), serde_json::json!({"name": "tester"}));
        record.subscriptions.insert("note://1".into());
        let text = serde_json::to_string(&record).unwrap();
        assert!(text.starts_with(r#"{"version":0,"revision":"2025-06-18","greeting":{"clientInfo":"#), "{text}");
        assert_eq!(serde_json::from_str::<SessionRecord>(&text).unwrap(), record);
        let unknown = text.replace("2025-06-18", "2019-01-01");
        assert!(serde_json::from_str::<SessionRecord>(&unknown).is_err());
    }
}
