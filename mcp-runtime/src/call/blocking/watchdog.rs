//! The watchdog: a thread that looks at what the others run, and finds handlers that block a worker of the runtime.
//!
//! Two relaxed stores tell it which handler a thread runs. It looks ten times a second; a call that it sees twice has
//! been running for at least a tenth. Then its handler is told (`blocking`), and the runtime is woken: the workers that
//! sleep do not know that the one which waited for I/O is occupied now, and that it is their turn to.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::panic::catch;
use crate::sync::lock;

/// How often the watchdog looks.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// How often it looks if nothing has happened for a while.
const IDLE_TICK: Duration = Duration::from_millis(500);
/// After how many ticks without a call that is.
const IDLE_AFTER: u32 = 10;

static ON: AtomicBool = AtomicBool::new(false);
static THREADS: Mutex<Vec<Weak<ThreadSlot>>> = Mutex::new(Vec::new());
static HANDLERS: Mutex<Vec<Weak<dyn Watched>>> = Mutex::new(Vec::new());
/// Numbers in `HANDLERS` whose handlers are gone.
static FREE: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A handler, as the watchdog sees it.
pub(super) trait Watched: Send + Sync {
    /// The handler has been seen blocking.
    fn blocks(&self);
}

/// What one thread runs.
#[derive(Debug)]
struct ThreadSlot {
    /// The number of the call, and in the lower half that of its handler; 0 there between calls.
    running: AtomicU64,
    /// What the watchdog saw last.
    seen: AtomicU64,
    /// The runtime whose worker the thread is, or may be.
    runtime: Option<Handle>,
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
        let runtime =
            Handle::try_current().ok().filter(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        let shared = Arc::new(ThreadSlot { running: AtomicU64::new(0), seen: AtomicU64::new(0), runtime });
        let mut threads = lock(&THREADS);
        threads.retain(|thread| thread.strong_count() > 0);
        threads.push(Arc::downgrade(&shared));
        LocalSlot { shared, calls: Cell::new(0), hands_over: OnceLock::new() }
    }

    /// Whether `block_in_place` works on this thread. It panics inside a `LocalSet`, and nothing else tells.
    fn hands_over(&self) -> bool {
        self.shared.runtime.is_some()
            && *self.hands_over.get_or_init(|| catch(|| tokio::task::block_in_place(|| ())).is_some())
    }
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

/// Whether there is a watchdog.
#[inline]
pub(super) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Starts the watchdog, once per process.
pub(crate) fn start() {
    if !ON.swap(true, Ordering::Relaxed)
        && let Err(error) = thread::Builder::new().name("mcp-watchdog".to_owned()).spawn(look_around)
    {
        tracing::warn!(%error, "cannot watch for handlers that block");
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

/// Runs a step while another thread does the rest of this worker's tasks, if that is possible here.
pub(super) fn hand_over<T>(step: impl FnOnce() -> T) -> T {
    if SLOT.with(LocalSlot::hands_over) { tokio::task::block_in_place(step) } else { step() }
}

/// Gives a handler a number, unless another thread has just done so, and returns it.
#[cold]
pub(super) fn register(handler: Weak<dyn Watched>, number: &AtomicU32) -> u32 {
    let mut handlers = lock(&HANDLERS);
    // Numbers are set under the lock.
    let known = number.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    let new = lock(&FREE).pop().unwrap_or_else(|| u32::try_from(handlers.len() + 1).unwrap_or(u32::MAX));
    match handlers.get_mut(new as usize - 1) {
        Some(entry) => *entry = handler,
        None => handlers.push(handler),
    }
    number.store(new, Ordering::Relaxed);
    new
}

/// Takes back the number of a handler that is gone.
pub(super) fn unregister(number: u32) {
    lock(&FREE).push(number);
}

/// What the watchdog does.
fn look_around() {
    let mut idle = 0;
    loop {
        thread::sleep(if idle < IDLE_AFTER { TICK } else { IDLE_TICK });
        let threads: Vec<_> = lock(&THREADS).iter().filter_map(Weak::upgrade).collect();
        let mut quiet = true;
        for thread in threads {
            let running = thread.running.load(Ordering::Relaxed);
            let handler = running & u64::from(u32::MAX);
            let stays = thread.seen.swap(running, Ordering::Relaxed) == running;
            quiet &= stays && handler == 0;
            if stays && handler > 0 {
                blocked(&thread, handler);
            }
        }
        idle = if quiet { idle + 1 } else { 0 };
    }
}

/// A thread runs the same call as a tick ago.
fn blocked(thread: &ThreadSlot, handler: u64) {
    let index = usize::try_from(handler).unwrap_or(usize::MAX) - 1;
    let handler = lock(&HANDLERS).get(index).and_then(Weak::upgrade);
    if let Some(handler) = handler {
        // Caught, because the subscriber that logs it is the user's.
        catch(|| handler.blocks());
    }
    if let Some(runtime) = &thread.runtime {
        // Whichever worker runs this waits for I/O next.
        drop(runtime.spawn(async {}));
    }
}
