//! The mutable state of a server: the current catalog, the change bus, and the shutdown phase.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tokio::sync::{Notify, watch};

use crate::catalog::Catalog;
use crate::catalog::pagination::PageCache;
use crate::panic::catch;
use crate::store::{self, Change, ChangeBus, LocalBus};
use crate::sync::{lock, until};

/// The part of a server that changes while it runs, shared with its handles.
pub(crate) struct ServerState {
    catalog: Mutex<Arc<Catalog>>,
    /// Counts the catalog's changes, so a [`CatalogView`] can tell that it is current without locking.
    version: AtomicU64,
    bus: OnceLock<Arc<dyn ChangeBus>>,
    lifecycle: watch::Sender<Lifecycle>,
    /// The calls that a shutdown does not wait for.
    pub(crate) overdue: Overdue,
}

/// Ends the calls that are still in flight when a shutdown has waited long enough. A flag and a list of wakers, because every
/// call that is pending waits for it: the [phase](Phase) costs an allocation to wait for.
#[derive(Debug, Default)]
pub(crate) struct Overdue {
    is_now: AtomicBool,
    changed: Notify,
    /// How many calls were ended.
    calls: AtomicUsize,
}

impl Overdue {
    /// Ends the calls in flight.
    #[cfg(feature = "http")]
    pub(crate) fn give_up(&self) {
        self.is_now.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// Waits until the call is to end.
    pub(crate) async fn reached(&self) {
        until(&self.changed, || self.is_now.load(Ordering::SeqCst)).await;
        self.calls.fetch_add(1, Ordering::SeqCst);
    }

    /// How many calls were ended, told once.
    #[cfg(feature = "http")]
    pub(crate) fn take_calls(&self) -> usize {
        self.calls.swap(0, Ordering::SeqCst)
    }
}

/// The shutdown phase, and the number of transports serving.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lifecycle {
    pub(crate) phase: Phase,
    serving: usize,
}

/// How far a shutdown has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    #[default]
    Running,
    /// Calls in flight may finish; new ones are rejected.
    Draining,
    /// Calls in flight are dropped.
    Aborted,
}

impl Default for ServerState {
    fn default() -> Self {
        ServerState {
            catalog: Mutex::default(),
            version: AtomicU64::new(0),
            bus: OnceLock::new(),
            lifecycle: watch::Sender::new(Lifecycle::default()),
            overdue: Overdue::default(),
        }
    }
}

impl ServerState {
    fn lock(&self) -> MutexGuard<'_, Arc<Catalog>> {
        lock(&self.catalog)
    }

    /// Changes the catalog while the server is being built: in place, or in a copy if a snapshot of it
    /// is in use.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Catalog) -> T) -> T {
        let mut current = self.lock();
        let result = change(editable(&mut current));
        self.version.fetch_add(1, Ordering::Release);
        result
    }

    /// Replaces the catalog by an edited copy, unless the edit fails.
    ///
    /// The copy that is not kept is dropped after the lock is released: it may hold values of the
    /// user's, whose `Drop` may use the server.
    pub(crate) fn replace<T, E>(&self, edit: impl FnOnce(&mut Catalog) -> Result<T, E>) -> Result<T, E> {
        let mut current = self.lock();
        let mut next = current.copy_for_edit();
        let result = edit(&mut next);
        let mut unused = Arc::new(next);
        if result.is_ok() {
            std::mem::swap(&mut *current, &mut unused);
            self.version.fetch_add(1, Ordering::Release);
        }
        drop(current);
        drop(unused);
        result
    }

    /// A snapshot of the current catalog.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.lock())
    }

    pub(crate) fn bus(&self) -> &Arc<dyn ChangeBus> {
        self.bus.get_or_init(|| Arc::new(LocalBus::new()))
    }

    pub(crate) fn set_bus(&self, bus: Arc<dyn ChangeBus>) -> Result<(), &'static str> {
        self.bus.set(bus).map_err(|_| "the change bus is already in use; call `change_bus` first")
    }

    pub(crate) fn publish(&self, change: &Change) {
        store::publish(&**self.bus(), change);
    }

    /// Advances to `phase`, unless the server is there or further.
    pub(crate) fn enter(&self, phase: Phase) {
        self.lifecycle.send_if_modified(|lifecycle| {
            let advances = phase > lifecycle.phase;
            lifecycle.phase = lifecycle.phase.max(phase);
            advances
        });
    }

    pub(crate) fn phase(&self) -> Phase {
        self.lifecycle.borrow().phase
    }

    /// Waits until the server is at `phase` or further. Boxed: the wait is a kilobyte of code wherever it is awaited.
    pub(crate) fn reaches(&self, phase: Phase) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            // Fails only if the sender is dropped; `self` owns it.
            let _ = self.lifecycle.subscribe().wait_for(|lifecycle| lifecycle.phase >= phase).await;
        })
    }

    pub(crate) fn is_served(&self) -> bool {
        self.lifecycle.borrow().serving > 0
    }

    /// Waits until no transport is serving.
    pub(crate) async fn idle(&self) {
        let _ = self.lifecycle.subscribe().wait_for(|lifecycle| lifecycle.serving == 0).await;
    }

    /// Counts a transport as serving until the guard is dropped.
    pub(crate) fn serving(self: &Arc<Self>) -> ServingGuard {
        self.lifecycle.send_modify(|lifecycle| lifecycle.serving += 1);
        ServingGuard(Arc::clone(self))
    }
}

/// The catalog itself, or a copy that takes its place if a snapshot of it is in use.
fn editable(current: &mut Arc<Catalog>) -> &mut Catalog {
    if Arc::get_mut(current).is_none() {
        *current = Arc::new(current.copy_for_edit());
    }
    let catalog = Arc::get_mut(current).expect("a new `Arc` has one owner");
    catalog.page_cache = PageCache::default();
    catalog
}

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerState").field("lifecycle", &*self.lifecycle.borrow()).finish_non_exhaustive()
    }
}

/// A transport that is serving.
#[derive(Debug)]
pub(crate) struct ServingGuard(Arc<ServerState>);

impl Drop for ServingGuard {
    fn drop(&mut self) {
        self.0.lifecycle.send_modify(|lifecycle| lifecycle.serving -= 1);
    }
}

/// A connection's snapshot of the catalog.
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

    /// Replaces the snapshot if the catalog has changed; costs one atomic load if it has not.
    pub(crate) fn refresh(&mut self, shared: &ServerState) {
        if self.version != shared.version.load(Ordering::Acquire) {
            let old = std::mem::replace(self, CatalogView::new(shared));
            // This may drop the last reference to a value of the user's, whose `Drop` may panic.
            catch(|| drop(old));
        }
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
}
