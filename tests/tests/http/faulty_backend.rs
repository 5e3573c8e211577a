//! A backend in memory whose parts can fail, and that counts the use of its inbox and of sessions.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::store::{
    Backend, Change, ChangeBus, ChangeListener, EventStore, Inbox, LeaseStore, MemoryBackend, SessionRecord,
    SessionStore, TaskStore,
};

/// What the replicas share, with faults and counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared {
    memory: MemoryBackend,
    pub(crate) state: Arc<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pushed: AtomicUsize,
    read: AtomicUsize,
    loaded: AtomicUsize,
    /// The inbox is away.
    pub(crate) inbox_fails: AtomicBool,
    /// Sessions cannot be loaded any more, as soon as one was removed or a message was pushed: no replica can find out by
    /// itself what it was not told.
    pub(crate) then_blind: AtomicBool,
    blind: AtomicBool,
    /// The bus loses what is about sessions.
    pub(crate) deaf: AtomicBool,
    /// A session is loaded a while after its record was read.
    pub(crate) slow_load: AtomicBool,
    /// A lease is released a while after it was asked for.
    pub(crate) slow_release: AtomicBool,
    /// Calls of the hook for protocol errors.
    pub(crate) hook: AtomicUsize,
}

impl State {
    pub(crate) fn set(&self, what: fn(&Self) -> &AtomicBool, to: bool) {
        what(self).store(to, Ordering::SeqCst);
    }

    fn is(&self, what: fn(&Self) -> &AtomicBool) -> bool {
        what(self).load(Ordering::SeqCst)
    }

    fn close_eyes(&self) {
        if self.is(|state| &state.then_blind) {
            self.set(|state| &state.blind, true);
        }
    }

    pub(crate) fn pushed(&self) -> usize {
        self.pushed.load(Ordering::SeqCst)
    }

    /// How often a session was loaded.
    pub(crate) fn loaded(&self) -> usize {
        self.loaded.load(Ordering::SeqCst)
    }

    pub(crate) fn read(&self) -> usize {
        self.read.load(Ordering::SeqCst)
    }
}

impl SessionStore for Shared {
    async fn create(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<()> {
        self.memory.sessions().create(id, record, ttl).await
    }

    async fn load(&self, id: &str) -> io::Result<Option<SessionRecord>> {
        let slow = self.state.is(|state| &state.slow_load);
        self.state.loaded.fetch_add(1, Ordering::SeqCst);
        if self.state.is(|state| &state.blind) {
            return Err(io::Error::other("blind"));
        }
        let record = self.memory.sessions().load(id).await;
        if slow {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        record
    }

    async fn update(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<bool> {
        self.memory.sessions().update(id, record, ttl).await
    }

    async fn touch(&self, id: &str, ttl: Duration) -> io::Result<bool> {
        self.memory.sessions().touch(id, ttl).await
    }

    async fn remove(&self, id: &str) -> io::Result<()> {
        self.memory.sessions().remove(id).await?;
        self.state.close_eyes();
        Ok(())
    }
}

impl Inbox for Shared {
    async fn push(&self, session: &str, message: &[u8], ttl: Duration) -> io::Result<u64> {
        if self.state.is(|state| &state.inbox_fails) {
            return Err(io::Error::other("secret: the inbox is away"));
        }
        self.state.pushed.fetch_add(1, Ordering::SeqCst);
        self.state.close_eyes();
        self.memory.inbox().push(session, message, ttl).await
    }

    async fn read_after(&self, session: &str, position: u64) -> io::Result<Vec<(u64, Vec<u8>)>> {
        self.state.read.fetch_add(1, Ordering::SeqCst);
        self.memory.inbox().read_after(session, position).await
    }
}

impl LeaseStore for Shared {
    async fn acquire(&self, name: &str, holder: &str, from: Option<&str>, ttl: Duration) -> io::Result<String> {
        self.memory.leases().acquire(name, holder, from, ttl).await
    }

    async fn release(&self, name: &str, holder: &str) -> io::Result<()> {
        if self.state.is(|state| &state.slow_release) {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        self.memory.leases().release(name, holder).await
    }

    async fn holder(&self, name: &str) -> io::Result<Option<String>> {
        self.memory.leases().holder(name).await
    }
}

impl ChangeBus for Shared {
    fn publish(&self, change: &Change) {
        let about_session =
            matches!(change, Change::SessionEnded(_) | Change::SessionChanged(..) | Change::SessionMessage(..));
        if !(about_session && self.state.is(|state| &state.deaf)) {
            self.memory.changes().publish(change);
        }
    }

    fn subscribe(&self, listener: std::sync::Weak<dyn ChangeListener>) {
        self.memory.changes().subscribe(listener);
    }
}

impl Backend for Shared {
    fn sessions(&self) -> Arc<impl SessionStore> {
        Arc::new(self.clone())
    }

    fn events(&self) -> Arc<impl EventStore> {
        self.memory.events()
    }

    fn inbox(&self) -> Arc<impl Inbox> {
        Arc::new(self.clone())
    }

    fn leases(&self) -> Arc<impl LeaseStore> {
        Arc::new(self.clone())
    }

    fn tasks(&self) -> Arc<impl TaskStore> {
        self.memory.tasks()
    }

    fn changes(&self) -> Arc<dyn ChangeBus> {
        Arc::new(self.clone())
    }

    async fn secret(&self) -> io::Result<Vec<u8>> {
        Backend::secret(&self.memory).await
    }

    async fn ping(&self) -> io::Result<()> {
        Ok(())
    }
}
