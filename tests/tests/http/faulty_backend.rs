//! A backend in memory whose parts can fail, and that counts the use of its inbox and of sessions.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::store::{
    Backend, Change, ChangeBus, ChangeListener, EventStore, EventTail, EventWatch, Inbox, LeaseStore, MemoryBackend,
    SessionRecord, SessionStore, TaskLimit, TaskQuota, TaskRecord, TaskStore,
};

/// What the replicas share, with faults and counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared {
    pub(crate) memory: MemoryBackend,
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
    /// Events cannot be written, leases not changed, and sessions not updated.
    pub(crate) away: AtomicBool,
    /// A task is created, but whoever asked for it does not learn of it.
    pub(crate) create_is_lost: AtomicBool,
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

    fn works(&self) -> io::Result<()> {
        if self.is(|state| &state.away) { Err(io::ErrorKind::NotConnected.into()) } else { Ok(()) }
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
        self.state.works()?;
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
        self.state.works()?;
        self.memory.leases().acquire(name, holder, from, ttl).await
    }

    async fn release(&self, name: &str, holder: &str) -> io::Result<()> {
        self.state.works()?;
        if self.state.is(|state| &state.slow_release) {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        self.memory.leases().release(name, holder).await
    }

    async fn holder(&self, name: &str) -> io::Result<Option<String>> {
        self.memory.leases().holder(name).await
    }
}

impl EventStore for Shared {
    async fn open(&self, stream: &str, head: &str, ttl: Duration) -> io::Result<()> {
        self.state.works()?;
        self.memory.events().open(stream, head, ttl).await
    }

    async fn touch(&self, stream: &str, ttl: Duration) -> io::Result<()> {
        self.state.works()?;
        self.memory.events().touch(stream, ttl).await
    }

    async fn append(&self, stream: &str, number: u64, event: &[u8], oldest: u64) -> io::Result<()> {
        self.state.works()?;
        self.memory.events().append(stream, number, event, oldest).await
    }

    async fn close(&self, stream: &str) -> io::Result<()> {
        self.state.works()?;
        self.memory.events().close(stream).await
    }

    async fn read_after(&self, stream: &str, number: u64) -> io::Result<Option<EventTail>> {
        self.memory.events().read_after(stream, number).await
    }

    async fn remove(&self, stream: &str) -> io::Result<()> {
        self.memory.events().remove(stream).await
    }

    fn watch(&self, stream: &str) -> EventWatch {
        self.memory.events().watch(stream)
    }

    async fn wake(&self, stream: &str) -> io::Result<()> {
        self.memory.events().wake(stream).await
    }
}

impl TaskStore for Shared {
    async fn create(
        &self,
        task: &TaskRecord,
        ttl: Duration,
        quota: TaskQuota,
    ) -> io::Result<std::result::Result<(), TaskLimit>> {
        let created = self.memory.tasks().create(task, ttl, quota).await;
        if self.state.is(|state| &state.create_is_lost) { Err(io::ErrorKind::TimedOut.into()) } else { created }
    }

    async fn load(&self, id: &str) -> io::Result<Option<TaskRecord>> {
        self.memory.tasks().load(id).await
    }

    async fn update(&self, task: &TaskRecord) -> io::Result<bool> {
        self.memory.tasks().update(task).await
    }

    async fn list(&self, owner: Option<&str>) -> io::Result<Vec<TaskRecord>> {
        self.memory.tasks().list(owner).await
    }

    async fn holders(&self) -> io::Result<Vec<String>> {
        self.memory.tasks().holders().await
    }

    async fn held_by(&self, holder: &str, limit: usize) -> io::Result<Vec<TaskRecord>> {
        self.memory.tasks().held_by(holder, limit).await
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
        Arc::new(self.clone())
    }

    fn inbox(&self) -> Arc<impl Inbox> {
        Arc::new(self.clone())
    }

    fn leases(&self) -> Arc<impl LeaseStore> {
        Arc::new(self.clone())
    }

    fn tasks(&self) -> Arc<impl TaskStore> {
        Arc::new(self.clone())
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
