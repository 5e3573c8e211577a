//! The watchdog: a thread that looks at what the others run, and finds handlers that block a worker of the runtime.
//!
//! Two relaxed stores tell it which handler a thread runs. It looks ten times a second; a call that it sees twice has
//! been running for at least a tenth. Then its handler is told (`blocking`), and the runtime is woken: the workers that
//! sleep do not know that the one which waited for I/O is occupied now, and that it is their turn to.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, Weak};
use std::thread;
use std::time::Duration;

use super::threads::{self, ThreadSlot};
use super::turns;
use crate::panic::catch;
use crate::sync::lock;

/// How often the watchdog looks.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// How often it looks if nothing has happened for a while.
const IDLE_TICK: Duration = Duration::from_millis(500);
/// After how many ticks without a call that is.
const IDLE_AFTER: u32 = 10;
/// For how many ticks a call keeps its turn.
const LONGEST_TURN: u32 = 10;

static ON: AtomicBool = AtomicBool::new(false);
static HANDLERS: Mutex<Vec<Weak<dyn Watched>>> = Mutex::new(Vec::new());
/// Numbers in `HANDLERS` whose handlers are gone.
static FREE: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A handler, as the watchdog sees it.
pub(super) trait Watched: Send + Sync {
    /// The handler has been seen blocking.
    fn blocks(&self);
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
        let mut quiet = true;
        for thread in threads::all() {
            let running = thread.running.load(Ordering::Relaxed);
            let handler = running & u64::from(u32::MAX);
            let stays = thread.seen.swap(running, Ordering::Relaxed) == running;
            quiet &= stays && handler == 0;
            if stays && handler > 0 {
                blocked(&thread, handler);
            } else {
                thread.stayed.store(0, Ordering::Relaxed);
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
    if thread.stayed.fetch_add(1, Ordering::Relaxed) + 1 >= LONGEST_TURN
        && thread.has_turn.swap(false, Ordering::Relaxed)
    {
        turns::give_back();
    }
    if let Some(runtime) = &thread.runtime {
        // Whichever worker runs this waits for I/O next.
        drop(runtime.spawn(async {}));
    }
}
