//! What changes while a server is served, and the bus that tells everyone who wants to know.

use std::fmt;
use std::sync::{Mutex, PoisonError, Weak};

/// Something clients can be told of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// Tools were added, removed, switched on or off.
    ToolList,
    /// Prompts were.
    PromptList,
    /// Resources or resource templates were.
    ResourceList,
    /// The resource at this URI has other contents.
    ResourceUpdated(String),
    /// Something happened to the task with this id.
    Task(String),
}

/// Who wants to know of changes: each client, behind what it asked to be told.
pub trait ChangeListener: Send + Sync {
    /// Takes note of a change. Never waits: telling the client comes later.
    fn changed(&self, change: &Change);
}

/// The way from whatever changes to everyone who wants to know.
///
/// The default reaches the clients of this process. A fleet of replicas needs one that publishes
/// to all of them, and tells its own listeners what any of them published ([`Server::change_bus`](crate::Server::change_bus)).
/// Tasks that are kept in a shared [`task_store`](crate::Server::task_store) need it as well.
pub trait ChangeBus: fmt::Debug + Send + Sync + 'static {
    /// Tells every listener.
    fn publish(&self, change: &Change);

    /// Adds a listener, until it is dropped.
    fn subscribe(&self, listener: Weak<dyn ChangeListener>);
}

/// The bus of one process.
#[derive(Default)]
pub struct LocalBus {
    listeners: Mutex<Vec<Weak<dyn ChangeListener>>>,
}

impl LocalBus {
    /// A bus nobody listens to yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl ChangeBus for LocalBus {
    fn publish(&self, change: &Change) {
        // Collected first: a listener is told without the lock, whatever it does.
        let listeners: Vec<_> = {
            let mut all = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|listener| listener.strong_count() > 0);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        for listener in listeners {
            listener.changed(change);
        }
    }

    fn subscribe(&self, listener: Weak<dyn ChangeListener>) {
        let mut all = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|listener| listener.strong_count() > 0);
        all.push(listener);
    }
}

impl fmt::Debug for LocalBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalBus").finish_non_exhaustive()
    }
}
