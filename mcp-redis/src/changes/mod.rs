//! Changes between replicas: a queue of those to publish, one of those that arrived, and the listeners of this replica.
//!
//! A publisher never waits, and its own listeners are told at once. Other replicas are told through a channel, without
//! what is queued already. Whatever may have been lost, because a queue is full or the connection was away, is replaced
//! by [`Change::All`].

mod message;
mod queue;

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use mcp_runtime::store::{Change, ChangeBus as _, ChangeListener, LocalBus};
use tokio::sync::{Notify, mpsc};

use self::message::{Entry, Message};
use self::queue::{MESSAGE_BYTES, Queue};
use crate::seal::{Sealer, random};

/// The messages that arrived and wait to be delivered.
const ARRIVED: usize = 256;

/// The changes of one replica.
pub(crate) struct Changes {
    local: LocalBus,
    /// Tells this replica's messages from those of others.
    sender: String,
    sealer: Arc<Sealer>,
    /// The name of the channel, which messages are sealed for.
    channel: String,
    queue: Mutex<Queue>,
    queued: Notify,
    arrive: mpsc::Sender<Vec<u8>>,
    /// Held by the engine while it runs.
    arrived: tokio::sync::Mutex<mpsc::Receiver<Vec<u8>>>,
    /// Messages arrived faster than they were delivered.
    missed: AtomicBool,
}

impl Changes {
    pub(crate) fn new(sealer: Arc<Sealer>, channel: String) -> io::Result<Self> {
        let (arrive, arrived) = mpsc::channel(ARRIVED);
        Ok(Changes {
            local: LocalBus::new(),
            sender: BASE64.encode(random::<12>()?),
            sealer,
            channel,
            queue: Mutex::default(),
            queued: Notify::new(),
            arrive,
            arrived: tokio::sync::Mutex::new(arrived),
            missed: AtomicBool::new(false),
        })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a change for the other replicas, and tells the listeners of this one.
    pub(crate) fn publish(&self, change: &Change) {
        self.queue().push(change);
        self.queued.notify_one();
        self.local.publish(change);
    }

    pub(crate) fn subscribe(&self, listener: Weak<dyn ChangeListener>) {
        self.local.subscribe(listener);
    }

    /// Tells the listeners of this replica that they may have missed anything.
    pub(crate) fn resync(&self) {
        self.tell(&Change::All);
    }

    /// A listener that panics misses a change, and nothing else happens.
    fn tell(&self, change: &Change) {
        if catch_unwind(AssertUnwindSafe(|| self.local.publish(change))).is_err() {
            tracing::error!("a listener of changes panicked");
        }
    }

    /// A message arrived on the channel. Called by the connection, which must not wait.
    pub(crate) fn arrived(&self, message: Option<redis::Value>) {
        let Some(redis::Value::BulkString(message)) = message else { return };
        if message.len() > 2 * MESSAGE_BYTES || self.arrive.try_send(message).is_err() {
            self.missed.store(true, Ordering::Release);
            // If there is no room, something is there to wake the reader already.
            let _ = self.arrive.try_send(Vec::new());
        }
    }

    /// Delivers the messages of other replicas to the listeners of this one.
    pub(crate) async fn deliver(&self) {
        let mut arrived = self.arrived.lock().await;
        while let Some(message) = arrived.recv().await {
            if self.missed.swap(false, Ordering::AcqRel) {
                while arrived.try_recv().is_ok() {}
                self.resync();
                continue;
            }
            if message.is_empty() {
                continue;
            }
            match self.read(message) {
                Ok(message) if message.sender == self.sender => {}
                Ok(message) => {
                    message.changes.into_iter().filter_map(Entry::change).for_each(|change| self.tell(&change));
                }
                Err(error) => {
                    tracing::warn!(%error, "a message of another replica cannot be read; everything may have changed");
                    self.resync();
                }
            }
        }
    }

    /// Waits until there are changes to publish.
    pub(crate) async fn queued(&self) {
        while self.queue().len() == 0 {
            self.queued.notified().await;
        }
    }

    /// The next changes to publish, with the message that has them.
    pub(crate) fn next_message(&self) -> Option<(Vec<Change>, Vec<u8>)> {
        let taken = self.queue().take();
        match self.write(&taken) {
            Ok(message) => Some((taken, message)),
            Err(error) => {
                tracing::error!(%error, "changes cannot be written; other replicas are not told of them");
                None
            }
        }
    }

    /// Queues changes again that could not be published.
    pub(crate) fn restore(&self, taken: &[Change]) {
        self.queue().restore(taken);
    }

    fn write(&self, changes: &[Change]) -> io::Result<Vec<u8>> {
        let message = Message { sender: self.sender.clone(), changes: changes.iter().filter_map(Entry::of).collect() };
        self.sealer.seal(serde_json::to_vec(&message)?, self.channel.as_bytes())
    }

    fn read(&self, message: Vec<u8>) -> io::Result<Message> {
        Ok(serde_json::from_slice(&self.sealer.open(message, self.channel.as_bytes())?)?)
    }
}

/// Omits the changes, which have ids of tasks.
impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("queued", &self.queue().len()).finish_non_exhaustive()
    }
}
