//! The threads of the runtime, and what each of them runs: a slot that the watchdog looks at.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::panic::catch;
use crate::sync::lock;

static THREADS: Mutex<Vec<Weak<ThreadSlot>>> = Mutex::new(Vec::new());

/// What one thread runs.
#[derive(Debug)]
pub(super) struct ThreadSlot {
    /// The number of the call, and in the lower half that of its handler; 0 there between calls.
    pub(super) running: AtomicU64,
    /// What the watchdog saw last.
    pub(super) seen: AtomicU64,
    /// How often the watchdog has seen the same call in a row.
    pub(super) stayed: AtomicU32,
    /// Whether it is the thread's turn (`turns`).
    pub(super) has_turn: AtomicBool,
    /// The runtime whose worker the thread is, or may be.
    pub(super) runtime: Option<Handle>,
}

/// A thread's own end of its slot.
struct LocalSlot {
    shared: Arc<ThreadSlot>,
    calls: Cell<u32>,
    /// Whether the thread can hand over the tasks of its worker.
    hands_over: OnceLock<bool>,
}

thread_local! {
    static SLOT: LocalSlot = LocalSlot::new();
}

impl LocalSlot {
    fn new() -> Self {
        let runtime = Handle::try_current().ok().filter(is_multi_thread);
        let shared = Arc::new(ThreadSlot {
            running: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            stayed: AtomicU32::new(0),
            has_turn: AtomicBool::new(false),
            runtime,
        });
        let mut threads = lock(&THREADS);
        threads.retain(|thread| thread.strong_count() > 0);
        threads.push(Arc::downgrade(&shared));
        LocalSlot { shared, calls: Cell::new(0), hands_over: OnceLock::new() }
    }

    /// Whether `block_in_place` works on this thread. It panics inside a `LocalSet`, and nothing else tells.
    fn hands_over(&self) -> bool {
        Handle::try_current().is_ok_and(|runtime| is_multi_thread(&runtime))
            && *self.hands_over.get_or_init(|| catch(|| tokio::task::block_in_place(|| ())).is_some())
    }
}

fn is_multi_thread(runtime: &Handle) -> bool {
    runtime.runtime_flavor() == RuntimeFlavor::MultiThread
}

/// Restores what a thread ran before, when it is dropped.
struct Running<'a> {
    slot: &'a AtomicU64,
    before: u64,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.slot.store(self.before, Ordering::Relaxed);
    }
}

/// Runs a step of the handler with this number.
#[inline]
pub(super) fn watch<T>(handler: u32, step: impl FnOnce() -> T) -> T {
    SLOT.with(|local| {
        let slot = &local.shared.running;
        let call = local.calls.get().wrapping_add(1);
        local.calls.set(call);
        // Between calls the number of the last one stays: it shows that something has happened.
        let outer = slot.load(Ordering::Relaxed);
        let before = if outer & u64::from(u32::MAX) == 0 { u64::from(call) << 32 } else { outer };
        slot.store(u64::from(call) << 32 | u64::from(handler), Ordering::Relaxed);
        let _running = Running { slot, before };
        step()
    })
}

/// Runs a step while another thread does the rest of this worker's tasks, if that is possible here. The step is inside of
/// the runtime as it would be without: a function that waits for its own runtime fails in every call, or in none.
pub(super) fn hand_over<T>(step: impl FnOnce() -> T) -> T {
    hand_over_after(async {}, |()| step())
}

/// Like [`hand_over`], and waits for something first: the thread can, since nobody waits for it. Where tasks cannot be
/// handed over, it waits for nothing.
pub(super) fn hand_over_after<W: Default, T>(wait: impl Future<Output = W>, step: impl FnOnce(W) -> T) -> T {
    if SLOT.with(LocalSlot::hands_over) {
        tokio::task::block_in_place(|| Handle::current().block_on(async { step(wait.await) }))
    } else {
        step(W::default())
    }
}

/// Whether it is this thread's turn already.
pub(super) fn has_turn() -> bool {
    SLOT.with(|local| local.shared.has_turn.load(Ordering::Relaxed))
}

/// Runs a step in a turn. `has_turn` is false afterwards if it has taken too long, and another has its turn by now.
pub(super) fn with_turn<T>(has_turn: &mut bool, step: impl FnOnce() -> T) -> T {
    struct InTurn<'a> {
        slot: &'a AtomicBool,
        has_turn: &'a mut bool,
    }
    impl Drop for InTurn<'_> {
        fn drop(&mut self) {
            *self.has_turn = self.slot.swap(false, Ordering::Relaxed);
        }
    }
    SLOT.with(|local| {
        let slot = &local.shared.has_turn;
        slot.store(*has_turn, Ordering::Relaxed);
        let _in_turn = InTurn { slot, has_turn };
        step()
    })
}

/// All threads that have run a handler.
pub(super) fn all() -> Vec<Arc<ThreadSlot>> {
    lock(&THREADS).iter().filter_map(Weak::upgrade).collect()
}
