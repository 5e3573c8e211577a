//! What a served server and its handles share: the catalog as it is now, the bus, and whether it goes on.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::watch;

use crate::catalog::Catalog;
use crate::catalog::pagination::PageCache;
use crate::panic::catch;
use crate::store::{Change, ChangeBus, LocalBus};

/// The part of a server that can change while it is served.
pub(crate) struct ServerState {
    catalog: Mutex<Arc<Catalog>>,
    /// Counts the changes of the catalog, so that whoever has the newest need not lock to know it.
    version: AtomicU64,
    bus: OnceLock<Arc<dyn ChangeBus>>,
    state: watch::Sender<Lifecycle>,
}

/// Whether a server goes on, and how many serve it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lifecycle {
    pub(crate) phase: Phase,
    serving: usize,
}

/// How far a server has come in ending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    #[default]
    Running,
    /// What runs may finish, and nothing new begins.
    Draining,
    /// Nothing is waited for.
    Aborted,
}

impl Default for ServerState {
    fn default() -> Self {
        ServerState {
            catalog: Mutex::default(),
            version: AtomicU64::new(0),
            bus: OnceLock::new(),
            state: watch::Sender::new(Lifecycle::default()),
        }
    }
}

impl ServerState {
    fn lock(&self) -> MutexGuard<'_, Arc<Catalog>> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the catalog while it is put together: copied if somebody is looking at it, so nobody
    /// sees it half changed.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Catalog) -> T) -> T {
        let mut catalog = self.lock();
        let next = Arc::make_mut(&mut catalog);
        let result = change(next);
        next.rendered = PageCache::default();
        self.version.fetch_add(1, Ordering::Release);
        result
    }

    /// Puts a changed copy of the catalog in its place, unless there is an error.
    ///
    /// What is not needed any more is dropped without the lock: some of it is the user's, who may use
    /// the server when it is dropped.
    pub(crate) fn replace<T, E>(&self, change: impl FnOnce(&mut Catalog) -> Result<T, E>) -> Result<T, E> {
        let mut current = self.lock();
        let mut next = Catalog::clone(&current);
        let result = change(&mut next);
        let mut unneeded = Arc::new(next);
        if result.is_ok() {
            std::mem::swap(&mut *current, &mut unneeded);
            self.version.fetch_add(1, Ordering::Release);
        }
        drop(current);
        drop(unneeded);
        result
    }

    /// The catalog as it is now.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.lock())
    }

    pub(crate) fn bus(&self) -> &Arc<dyn ChangeBus> {
        self.bus.get_or_init(|| Arc::new(LocalBus::new()))
    }

    #[track_caller]
    pub(crate) fn set_bus(&self, bus: Arc<dyn ChangeBus>) {
        assert!(self.bus.set(bus).is_ok(), "the bus is in use already; set it before anything else of the server");
    }

    pub(crate) fn publish(&self, change: &Change) {
        self.bus().publish(change);
    }

    /// Moves on to `phase`; never back.
    pub(crate) fn enter(&self, phase: Phase) {
        self.state.send_if_modified(|state| {
            let further = phase > state.phase;
            state.phase = state.phase.max(phase);
            further
        });
    }

    pub(crate) fn phase(&self) -> Phase {
        self.state.borrow().phase
    }

    /// Waits until the server is at `phase` or further.
    pub(crate) async fn reaches(&self, phase: Phase) {
        // The sender is here, so it cannot be gone.
        let _ = self.state.subscribe().wait_for(|state| state.phase >= phase).await;
    }

    pub(crate) fn is_served(&self) -> bool {
        self.state.borrow().serving > 0
    }

    /// Waits until nobody serves.
    pub(crate) async fn idle(&self) {
        let _ = self.state.subscribe().wait_for(|state| state.serving == 0).await;
    }

    /// Counts one who serves, until what is returned is dropped.
    pub(crate) fn serving(self: &Arc<Self>) -> ServingGuard {
        self.state.send_modify(|state| state.serving += 1);
        ServingGuard(Arc::clone(self))
    }
}

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerState").field("state", &*self.state.borrow()).finish_non_exhaustive()
    }
}

/// Somebody who serves.
#[derive(Debug)]
pub(crate) struct ServingGuard(Arc<ServerState>);

impl Drop for ServingGuard {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.serving -= 1);
    }
}

/// The catalog as one connection last saw it.
#[derive(Debug)]
pub(crate) struct CatalogView {
    catalog: Arc<Catalog>,
    version: u64,
}

impl CatalogView {
    pub(crate) fn new(shared: &ServerState) -> Self {
        let catalog = shared.lock();
        CatalogView { catalog: Arc::clone(&catalog), version: shared.version.load(Ordering::Acquire) }
    }

    /// Looks again. Costs one load, unless something has changed.
    pub(crate) fn refresh(&mut self, shared: &ServerState) {
        if self.version != shared.version.load(Ordering::Acquire) {
            let before = std::mem::replace(self, CatalogView::new(shared));
            // This may be the last of something of the user's, which does what it likes.
            catch(|| drop(before));
        }
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
}
