//! The lease store: who holds what, and for how long. By it replicas know which of them live, and agree on who serves
//! the stream of a session, and on who does what is done once.

use std::time::Duration;
use std::{fmt, io};

use super::StoreFuture;

/// Stores leases: names with a holder, until they expire. At any time a lease has one holder at most.
///
/// Names and holders consist of letters, digits and `-_.`; a name may contain a session id, which is a secret. A holder is a
/// replica, or the sealed result of a `once` block, which may be some 100 KB long.
///
/// [`testing::contract::leases`](crate::testing::contract::leases()) checks an implementation:
///
/// ```
/// use std::collections::HashMap;
/// use std::io::Result;
/// use std::sync::Mutex;
/// use std::time::Duration;
/// use mcp_runtime::store::LeaseStore;
/// use tokio::time::Instant;
///
/// /// Leases in a table: their holders, and when they expire.
/// #[derive(Debug, Default)]
/// struct TableOfLeases(Mutex<HashMap<String, (String, Instant)>>);
///
/// impl LeaseStore for TableOfLeases {
///     async fn acquire(&self, name: &str, holder: &str, take_from: Option<&str>, ttl: Duration) -> Result<String> {
///         let mut all = self.0.lock().unwrap(); // the transaction
///         all.retain(|_, (_, end)| *end > Instant::now());
///         match all.get(name) {
///             Some((other, _)) if other != holder && Some(other.as_str()) != take_from => Ok(other.clone()),
///             _ => {
///                 all.insert(name.into(), (holder.into(), Instant::now() + ttl));
///                 Ok(holder.into())
///             }
///         }
///     }
///
///     async fn release(&self, name: &str, holder: &str) -> Result<()> {
///         self.0.lock().unwrap().retain(|held, (other, _)| held != name || other != holder);
///         Ok(())
///     }
///
///     async fn holder(&self, name: &str) -> Result<Option<String>> {
///         let all = self.0.lock().unwrap();
///         Ok(all.get(name).filter(|(_, end)| *end > Instant::now()).map(|(holder, _)| holder.clone()))
///     }
/// }
///
/// # // In paused time nothing expires too early on a busy machine.
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// mcp_runtime::testing::contract::leases(TableOfLeases::default).await;
/// # }
/// ```
pub trait LeaseStore: fmt::Debug + Send + Sync + 'static {
    /// Gives the lease to `holder` for `ttl` from now, if nobody holds it, or `holder` does already, or the one it is to
    /// be taken from. Returns who holds it then, in one atomic step.
    fn acquire(
        &self,
        name: &str,
        holder: &str,
        take_from: Option<&str>,
        ttl: Duration,
    ) -> impl Future<Output = io::Result<String>> + Send;

    /// Releases the lease, if `holder` holds it.
    fn release(&self, name: &str, holder: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// Who holds the lease, or `None` if it is free or has expired.
    fn holder(&self, name: &str) -> impl Future<Output = io::Result<Option<String>>> + Send;
}

/// The object-safe form of [`LeaseStore`].
pub(crate) trait DynLeaseStore: fmt::Debug + Send + Sync {
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        holder: &'a str,
        take_from: Option<&'a str>,
        ttl: Duration,
    ) -> StoreFuture<'a, String>;
    fn release<'a>(&'a self, name: &'a str, holder: &'a str) -> StoreFuture<'a, ()>;
    fn holder<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<String>>;
}

impl<T: LeaseStore> DynLeaseStore for T {
    fn acquire<'a>(
        &'a self,
        name: &'a str,
        holder: &'a str,
        take_from: Option<&'a str>,
        ttl: Duration,
    ) -> StoreFuture<'a, String> {
        Box::pin(async move { LeaseStore::acquire(self, name, holder, take_from, ttl).await })
    }

    fn release<'a>(&'a self, name: &'a str, holder: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move { LeaseStore::release(self, name, holder).await })
    }

    fn holder<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<String>> {
        Box::pin(async move { LeaseStore::holder(self, name).await })
    }
}
