//! The claim to a session's own stream among replicas: a lease, whose holder is a replica that lives.
//!
//! The lease does not expire while its session lasts, so that it need not be renewed: whoever finds it held asks whether the
//! replica that holds it lives. A client that resumes the stream at another replica takes the claim over, and the replica
//! that had it ends its stream.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::store::replica::Replica;
use crate::store::{DynEventStore, Unavailable, quietly, with_timeout};
use crate::transport::http::session::Session;

/// How often a holder looks whether it still is one, without a hint.
const FALLBACK_POLL: Duration = Duration::from_secs(5);
/// The shortest time between two looks.
const SHORTEST_POLL: Duration = Duration::from_millis(500);
/// How often a claim is tried that others change at the same time.
const ATTEMPTS: usize = 4;

/// Tells the claims of one replica apart.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The claim of this replica. Dropping it releases the stream.
pub(crate) struct FleetClaim {
    session: Arc<Session>,
    replica: Arc<Replica>,
    /// The name of the lease, which has the session's id in it.
    name: Arc<str>,
    holder: Arc<str>,
}

/// Why a claim is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Another replica has the stream, and lives.
    Held,
    Unavailable,
}

impl From<Unavailable> for Refused {
    fn from(_: Unavailable) -> Self {
        Refused::Unavailable
    }
}

impl FleetClaim {
    /// A claim for a session, not yet made. `None` if replicas do not share the session.
    fn of(session: &Arc<Session>) -> Option<Self> {
        let (replica, id) = (session.replica()?, &session.stored.as_ref()?.id);
        let holder = format!("{}.{}", replica.id, COUNT.fetch_add(1, Ordering::Relaxed));
        let (name, session) = (format!("stream.{id}").into(), Arc::clone(session));
        Some(FleetClaim { session, replica: Arc::clone(replica), name, holder: holder.into() })
    }

    /// Claims the stream, unless another replica has it that lives.
    pub(crate) async fn take(session: &Arc<Session>) -> Result<Option<Self>, Refused> {
        let Some(claim) = Self::of(session) else { return Ok(None) };
        claim.replica.live(&session.core.limits).await?;
        let mut from = None;
        for _ in 0..ATTEMPTS {
            let holder = claim.acquire(from.as_deref()).await?;
            if *holder == *claim.holder {
                return Ok(Some(claim));
            }
            let other = replica_of(&holder);
            // What this replica held is about to be released: nobody reads it here.
            if other != &*claim.replica.id && claim.replica.has_lease(other, &session.core.limits).await? {
                return Err(Refused::Held);
            }
            from = Some(holder);
        }
        Err(Refused::Held)
    }

    /// Claims the stream for a client that resumes it, from whoever has it.
    pub(crate) async fn take_over(session: &Arc<Session>) -> Result<Option<Self>, Unavailable> {
        let Some(claim) = Self::of(session) else { return Ok(None) };
        claim.replica.live(&session.core.limits).await?;
        let mut from: Option<String> = None;
        for _ in 0..ATTEMPTS {
            let holder = claim.acquire(from.as_deref()).await?;
            if *holder == *claim.holder {
                if from.is_some_and(|from| replica_of(&from) != &*claim.replica.id)
                    && let Some(events) = claim.events()
                {
                    // If it is not told, it looks for itself.
                    let _ = with_timeout(session.core.limits.store_timeout, "wake", events.wake(&claim.name)).await;
                }
                return Ok(Some(claim));
            }
            from = Some(holder);
        }
        Err(Unavailable)
    }

    async fn acquire(&self, from: Option<&str>) -> Result<String, Unavailable> {
        let limits = &self.session.core.limits;
        let acquire = self.replica.leases.acquire(&self.name, &self.holder, from, limits.session_lifetime);
        with_timeout(limits.store_timeout, "claim stream", acquire).await
    }

    fn events(&self) -> Option<&Arc<dyn DynEventStore>> {
        self.session.stored.as_ref()?.stores.events.as_ref()
    }

    /// Waits until another replica has taken the stream over. Another claim of this replica is none of its business.
    pub(crate) fn lost(&self) -> impl Future<Output = ()> + Send + 'static {
        let (session, replica) = (Arc::clone(&self.session), Arc::clone(&self.replica));
        let (name, me) = (Arc::clone(&self.name), Arc::clone(&self.holder));
        let watch = self.events().map(|events| events.watch(&name)).unwrap_or_default();
        async move {
            let limits = &session.core.limits;
            loop {
                let _ = timeout(FALLBACK_POLL, watch.changed()).await;
                let holder = match quietly(limits.store_timeout, replica.leases.holder(&name)).await {
                    // The store has lost it: whoever is first has it.
                    Ok(None) => {
                        let acquire = replica.leases.acquire(&name, &me, None, limits.session_lifetime);
                        quietly(limits.store_timeout, acquire).await.ok()
                    }
                    Ok(holder) => holder,
                    Err(Unavailable) => None,
                };
                match holder {
                    Some(holder) if replica_of(&holder) != &*replica.id => return,
                    Some(holder) if *holder != *me => std::future::pending().await,
                    _ => sleep(SHORTEST_POLL).await,
                }
            }
        }
    }
}

/// The replica that holds a claim.
fn replica_of(holder: &str) -> &str {
    holder.split_once('.').map_or(holder, |(replica, _)| replica)
}

impl Drop for FleetClaim {
    fn drop(&mut self) {
        let limits = &self.session.core.limits;
        let (name, holder) = (Arc::clone(&self.name), Arc::clone(&self.holder));
        self.replica.release(name, holder, limits.session_lifetime, limits.store_timeout);
    }
}

/// Without the name, which has the session's id in it.
impl fmt::Debug for FleetClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetClaim").finish_non_exhaustive()
    }
}
