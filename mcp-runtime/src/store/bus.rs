//! The change bus: carries changes of lists, resources and tasks to subscribed clients, and hints about sessions to
//! replicas.

use std::fmt;
use std::sync::{Mutex, Weak};

use crate::panic::catch;
use crate::sync::lock;

/// A change that clients can subscribe to, or that concerns other replicas.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// Tools were added, removed, enabled or disabled.
    ToolList,
    /// Prompts were added, removed, enabled or disabled.
    PromptList,
    /// Resources or resource templates were added, removed, enabled or disabled.
    ResourceList,
    /// The contents of the resource at this URI changed.
    ResourceUpdated(String),
    /// The record of the task with this id changed.
    Task(String),
    /// A session has ended. It is named by a digest of its id, which is a credential.
    SessionEnded(String),
    /// The subscriptions or the log level of the session with this digest changed; its record has this version now.
    SessionChanged(String, u64),
    /// A message was pushed to the `Inbox` of the session with this digest, at this position.
    SessionMessage(String, u64),
    /// Any of the above may have changed. A bus that may have lost changes, because it was disconnected or could not
    /// keep up, delivers it to its listeners, and their clients are notified of everything they subscribed to.
    All,
}

/// Without the id of a task, which is a credential, and without what stands for that of a session.
impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::ToolList => f.write_str("ToolList"),
            Change::PromptList => f.write_str("PromptList"),
            Change::ResourceList => f.write_str("ResourceList"),
            Change::ResourceUpdated(uri) => f.debug_tuple("ResourceUpdated").field(uri).finish(),
            Change::Task(_) => f.debug_tuple("Task").finish_non_exhaustive(),
            Change::SessionEnded(_) => f.debug_tuple("SessionEnded").finish_non_exhaustive(),
            Change::SessionChanged(..) => f.debug_tuple("SessionChanged").finish_non_exhaustive(),
            Change::SessionMessage(..) => f.debug_tuple("SessionMessage").finish_non_exhaustive(),
            Change::All => f.write_str("All"),
        }
    }
}

/// Receives every change published on a [`ChangeBus`]. The server registers one per subscribed
/// client; the listener filters by what its client subscribed to.
pub trait ChangeListener: Send + Sync {
    /// Queues the change for the client. Does not block.
    fn changed(&self, change: &Change);
}

/// Distributes changes to every listener, a publish/subscribe channel.
///
/// The default, [`LocalBus`], reaches the clients of this process. Several replicas need a bus that
/// publishes to all of them, over Redis or NATS for example, and calls its local listeners for what
/// any replica published. If it may have missed some, it calls them with [`Change::All`]. Set it with
/// [`Server::change_bus`](crate::Server::change_bus). Tasks in a shared
/// [`task_store`](crate::Server::task_store) need one as well.
///
/// [`testing::contract::bus`](crate::testing::contract::bus()) checks an implementation, such as this one, with a channel in
/// place of a broker:
///
/// ```
/// use std::sync::mpsc::{Sender, channel};
/// use std::sync::{Arc, Mutex, Weak};
/// use mcp_runtime::store::{Change, ChangeBus, ChangeListener, LocalBus};
///
/// #[derive(Debug)]
/// struct ChannelBus {
///     broker: Mutex<Sender<Change>>,
///     /// The listeners of this replica.
///     local: Arc<LocalBus>,
/// }
///
/// impl ChannelBus {
///     fn connect() -> Self {
///         let (broker, published) = channel();
///         let local = Arc::new(LocalBus::new());
///         let listeners = Arc::clone(&local);
///         std::thread::spawn(move || published.iter().for_each(|change| listeners.publish(&change)));
///         ChannelBus { broker: Mutex::new(broker), local }
///     }
/// }
///
/// impl ChangeBus for ChannelBus {
///     fn publish(&self, change: &Change) {
///         // The broker sends it to all replicas, also to this one.
///         let _ = self.broker.lock().unwrap().send(change.clone());
///     }
///
///     fn subscribe(&self, listener: Weak<dyn ChangeListener>) {
///         self.local.subscribe(listener);
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() {
/// mcp_runtime::testing::contract::bus(ChannelBus::connect).await;
/// # }
/// ```
pub trait ChangeBus: fmt::Debug + Send + Sync + 'static {
    /// Delivers the change to every listener, once, in the order of publication. Delivery may happen
    /// after this returns. Listeners must not be called under a lock: they may publish or subscribe.
    fn publish(&self, change: &Change);

    /// Adds a listener. The bus holds it weakly: dropping the listener unsubscribes it.
    fn subscribe(&self, listener: Weak<dyn ChangeListener>);
}

/// Publishes a change. A bus of the user's that panics loses the change, and nothing else.
pub(crate) fn publish(bus: &dyn ChangeBus, change: &Change) {
    if catch(|| bus.publish(change)).is_none() {
        tracing::error!("the change bus panicked; a change was not published");
    }
}

/// Adds a listener. If a bus of the user's panics, the listener hears nothing.
pub(crate) fn subscribe(bus: &dyn ChangeBus, listener: Weak<dyn ChangeListener>) {
    if catch(|| bus.subscribe(listener)).is_none() {
        tracing::error!("the change bus panicked; a client was not subscribed");
    }
}

/// A [`ChangeBus`] within one process, the default.
#[derive(Default)]
pub struct LocalBus {
    listeners: Mutex<Vec<Weak<dyn ChangeListener>>>,
}

impl LocalBus {
    /// A bus without listeners.
    pub fn new() -> Self {
        Self::default()
    }
}

impl ChangeBus for LocalBus {
    fn publish(&self, change: &Change) {
        // Collected first: listeners run without the lock, so that they may publish and subscribe.
        let listeners: Vec<_> = {
            let mut all = lock(&self.listeners);
            all.retain(|listener| listener.strong_count() > 0);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        for listener in listeners {
            listener.changed(change);
        }
    }

    fn subscribe(&self, listener: Weak<dyn ChangeListener>) {
        let mut all = lock(&self.listeners);
        all.retain(|listener| listener.strong_count() > 0);
        all.push(listener);
    }
}

impl fmt::Debug for LocalBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalBus").finish_non_exhaustive()
    }
}
