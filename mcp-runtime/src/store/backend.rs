//! The backend of a fleet: everything its replicas share, in one value.

use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use super::{
    ChangeBus, EventStore, Inbox, LeaseStore, LocalBus, MemoryEvents, MemoryInbox, MemoryLeases, MemorySessions,
    MemoryTasks, SessionStore, StoreFuture, TaskStore,
};
use crate::random;

/// What the replicas of a server share: the stores of sessions, events and tasks, the inboxes, the leases, the change bus,
/// and a secret. Set it with [`Server::backend`](crate::Server::backend), and any replica serves any request.
///
/// The crate `mcp-redis` has one for Redis and Valkey. [`MemoryBackend`] is for several services in one process, and
/// for tests. Requires the feature `http`.
///
/// One of your own returns the stores it consists of. This one has its tasks elsewhere, and the rest in memory:
///
/// ```
/// use std::io::Result;
/// use std::sync::Arc;
/// use mcp_runtime::store::{
///     Backend, ChangeBus, EventStore, Inbox, LeaseStore, MemoryBackend, MemoryTasks, SessionStore, TaskStore,
/// };
///
/// #[derive(Debug, Default)]
/// struct Split {
///     tasks: Arc<MemoryTasks>, // a store of your own
///     others: MemoryBackend,
/// }
///
/// impl Backend for Split {
///     fn sessions(&self) -> Arc<impl SessionStore> {
///         self.others.sessions()
///     }
///
///     fn events(&self) -> Arc<impl EventStore> {
///         self.others.events()
///     }
///
///     fn inbox(&self) -> Arc<impl Inbox> {
///         self.others.inbox()
///     }
///
///     fn leases(&self) -> Arc<impl LeaseStore> {
///         self.others.leases()
///     }
///
///     fn tasks(&self) -> Arc<impl TaskStore> {
///         Arc::clone(&self.tasks)
///     }
///
///     fn changes(&self) -> Arc<dyn ChangeBus> {
///         self.others.changes()
///     }
///
///     async fn secret(&self) -> Result<Vec<u8>> {
///         self.others.secret().await
///     }
///
///     async fn ping(&self) -> Result<()> {
///         self.others.ping().await
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let backend = Split::default();
/// assert_eq!(backend.secret().await?, backend.secret().await?);
/// let server = mcp_runtime::Server::new("split", "1.0.0").backend(backend);
/// # drop(server);
/// # Ok(())
/// # }
/// ```
pub trait Backend: fmt::Debug + Send + Sync + 'static {
    /// The store of the sessions of clients of 2025-03-26 to 2025-11-25.
    fn sessions(&self) -> Arc<impl SessionStore>;

    /// The store of the events of their streams.
    fn events(&self) -> Arc<impl EventStore>;

    /// The inboxes: messages about calls that reached another replica than the one that runs the call.
    fn inbox(&self) -> Arc<impl Inbox>;

    /// The store of leases, by which replicas know which of them live.
    fn leases(&self) -> Arc<impl LeaseStore>;

    /// The store of tasks.
    fn tasks(&self) -> Arc<impl TaskStore>;

    /// The bus that carries changes from one replica to the others.
    fn changes(&self) -> Arc<dyn ChangeBus>;

    /// The secret that replicas agree on: at least 32 random bytes, made up by whoever asks first, and the same for all
    /// from then on. It is used unless the server has [`state_secrets`](crate::Server::state_secrets).
    fn secret(&self) -> impl Future<Output = io::Result<Vec<u8>>> + Send;

    /// Whether the backend can be reached, for a readiness check.
    fn ping(&self) -> impl Future<Output = io::Result<()>> + Send;
}

/// The object-safe part of [`Backend`] that a running server needs.
pub(crate) trait DynBackend: fmt::Debug + Send + Sync {
    fn secret(&self) -> StoreFuture<'_, Vec<u8>>;
    fn ping(&self) -> StoreFuture<'_, ()>;
}

impl<T: Backend> DynBackend for T {
    fn secret(&self) -> StoreFuture<'_, Vec<u8>> {
        Box::pin(async move { Backend::secret(self).await })
    }

    fn ping(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move { Backend::ping(self).await })
    }
}

/// A [`Backend`] in memory. Clones share it, so that two services in one process serve the same sessions and tasks:
///
/// ```
/// use mcp_runtime::Server;
/// use mcp_runtime::store::{Backend as _, MemoryBackend};
///
/// # #[tokio::main]
/// # async fn main() -> std::io::Result<()> {
/// let backend = MemoryBackend::new();
/// let replicas = [1, 2].map(|_| Server::new("notes", "1.0.0").backend(backend.clone()).into_service());
/// assert_eq!(backend.secret().await?, backend.clone().secret().await?);
/// # drop(replicas);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryBackend(Arc<Shared>);

#[derive(Default)]
struct Shared {
    sessions: Arc<MemorySessions>,
    events: Arc<MemoryEvents>,
    inbox: Arc<MemoryInbox>,
    leases: Arc<MemoryLeases>,
    tasks: Arc<MemoryTasks>,
    changes: Arc<LocalBus>,
    secret: OnceLock<[u8; 32]>,
}

impl MemoryBackend {
    /// An empty backend.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Backend for MemoryBackend {
    fn sessions(&self) -> Arc<impl SessionStore> {
        Arc::clone(&self.0.sessions)
    }

    fn events(&self) -> Arc<impl EventStore> {
        Arc::clone(&self.0.events)
    }

    fn inbox(&self) -> Arc<impl Inbox> {
        Arc::clone(&self.0.inbox)
    }

    fn leases(&self) -> Arc<impl LeaseStore> {
        Arc::clone(&self.0.leases)
    }

    fn tasks(&self) -> Arc<impl TaskStore> {
        Arc::clone(&self.0.tasks)
    }

    fn changes(&self) -> Arc<dyn ChangeBus> {
        Arc::clone(&self.0.changes) as Arc<dyn ChangeBus>
    }

    async fn secret(&self) -> io::Result<Vec<u8>> {
        let mut random = [0; 32];
        random::fill(&mut random)?;
        Ok(self.0.secret.get_or_init(|| random).to_vec())
    }

    async fn ping(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Without the secret.
impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
