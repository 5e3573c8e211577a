//! The session store. A session is a hash of its version and its record, which expires by itself.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use mcp_runtime::store::{SessionRecord, SessionStore};

use super::{Inner, millis};
use crate::link::{Repeat, Request};
use crate::script;

/// A [`SessionStore`] in Redis. Each operation is one round trip.
#[derive(Clone)]
pub struct RedisSessions(pub(crate) Arc<Inner>);

impl SessionStore for RedisSessions {
    async fn create(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<()> {
        let key = self.0.names.session(id);
        let stored = self.0.encode(record, &key)?;
        let mut both = redis::pipe();
        both.atomic();
        both.cmd("HSET").arg(&key).arg("v").arg(record.version).arg("r").arg(stored).ignore();
        both.cmd("PEXPIRE").arg(&key).arg(millis(ttl)).ignore();
        self.0.link.write(&Request::Transaction(both), Repeat::Safe).await
    }

    async fn load(&self, id: &str) -> io::Result<Option<SessionRecord>> {
        let key = self.0.names.session(id);
        let mut read = redis::cmd("HGET");
        read.arg(&key).arg("r");
        let stored: Option<Vec<u8>> = self.0.link.run(&Request::Command(read), Repeat::Safe).await?;
        stored.map(|stored| self.0.decode(stored, &key)).transpose()
    }

    async fn update(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<bool> {
        let Some(before) = record.version.checked_sub(1) else { return Ok(false) };
        let key = self.0.names.session(id);
        let mut update = script::SESSION_UPDATE.key(&key);
        update.arg(before).arg(record.version).arg(self.0.encode(record, &key)?).arg(millis(ttl));
        self.0.link.write(&Request::Script(update), Repeat::Never).await
    }

    async fn touch(&self, id: &str, ttl: Duration) -> io::Result<bool> {
        let mut touch = redis::cmd("PEXPIRE");
        touch.arg(self.0.names.session(id)).arg(millis(ttl));
        self.0.link.run(&Request::Command(touch), Repeat::Safe).await
    }

    async fn remove(&self, id: &str) -> io::Result<()> {
        let mut remove = redis::cmd("DEL");
        remove.arg(self.0.names.session(id));
        self.0.link.write(&Request::Command(remove), Repeat::Safe).await
    }
}

impl fmt::Debug for RedisSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSessions").finish_non_exhaustive()
    }
}
