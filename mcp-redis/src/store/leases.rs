//! The lease store. A lease is a string, its holder, which expires by itself. Holders are random ids of replicas, and no
//! secrets, so that they are not sealed: scripts compare them.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use mcp_runtime::store::LeaseStore;

use super::{Inner, millis};
use crate::link::{Repeat, Request};
use crate::script;

/// A [`LeaseStore`] in Redis. Each operation is one round trip.
#[derive(Clone)]
pub struct RedisLeases(pub(crate) Arc<Inner>);

impl LeaseStore for RedisLeases {
    async fn acquire(&self, name: &str, holder: &str, take_from: Option<&str>, ttl: Duration) -> io::Result<String> {
        let key = self.0.names.lease(name);
        let mut acquire = script::LEASE_ACQUIRE.key(&key);
        acquire.arg(holder).arg(take_from.unwrap_or_default()).arg(millis(ttl));
        self.0.link.run(&Request::Script(acquire), Repeat::Safe).await
    }

    async fn release(&self, name: &str, holder: &str) -> io::Result<()> {
        let mut release = script::LEASE_RELEASE.key(self.0.names.lease(name));
        release.arg(holder);
        self.0.link.run(&Request::Script(release), Repeat::Safe).await
    }

    async fn holder(&self, name: &str) -> io::Result<Option<String>> {
        let mut read = redis::cmd("GET");
        read.arg(self.0.names.lease(name));
        self.0.link.run(&Request::Command(read), Repeat::Safe).await
    }
}

impl fmt::Debug for RedisLeases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLeases").finish_non_exhaustive()
    }
}
