//! Handlers that block a worker of the runtime: found by `watchdog`, remembered here.
//!
//! A plain function runs on the worker that read its request. While it blocks, so do the tasks that only this worker
//! would run. A handler that is seen blocking hands its worker's other tasks to another thread in its next calls
//! (`block_in_place`), until it has been quick often enough again. Doing so for every call would cost each of them two
//! thread switches, and would let a function wait for the runtime it runs on, which fails elsewhere.

#[cfg(feature = "http")]
pub(crate) mod watchdog;

use std::sync::Arc;
#[cfg(feature = "http")]
use std::sync::Weak;
#[cfg(feature = "http")]
use std::sync::atomic::Ordering;
use std::sync::atomic::{AtomicBool, AtomicU32};

#[cfg(feature = "http")]
use self::watchdog::Watched;

/// How many quick calls prove that a handler does not block any more.
#[cfg(feature = "http")]
const PROBATION: u32 = 100;

/// Whether a handler blocks, as far as its calls have shown.
#[derive(Debug)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "a client on stdio has a reader of its own"))]
pub(crate) struct BlockingProfile {
    name: Box<str>,
    /// By which the watchdog knows it; 0 before its first call.
    number: AtomicU32,
    /// How many calls are still to be run with the worker's tasks handed over.
    probation: AtomicU32,
    logged: AtomicBool,
}

impl BlockingProfile {
    pub(crate) fn new(name: &str) -> Self {
        BlockingProfile {
            name: name.into(),
            number: AtomicU32::new(0),
            probation: AtomicU32::new(0),
            logged: AtomicBool::new(false),
        }
    }
}

#[cfg(not(feature = "http"))]
impl BlockingProfile {
    /// Whether the handler has blocked lately: nobody looks.
    #[inline]
    #[expect(clippy::unused_self, reason = "as with HTTP")]
    pub(crate) fn is_blocking(&self) -> bool {
        false
    }

    /// Runs a step of the handler.
    #[inline]
    #[expect(clippy::unused_self, reason = "as with HTTP")]
    pub(crate) fn run<T>(self: &Arc<Self>, step: impl FnOnce() -> T) -> T {
        step()
    }
}

#[cfg(feature = "http")]
impl BlockingProfile {
    /// Whether the handler has blocked lately, and occupies a thread of its own.
    #[inline]
    pub(crate) fn is_blocking(&self) -> bool {
        self.probation.load(Ordering::Relaxed) > 0
    }

    /// Runs a step of the handler, under the eyes of the watchdog if there is one.
    #[inline]
    pub(crate) fn run<T>(self: &Arc<Self>, step: impl FnOnce() -> T) -> T {
        if !watchdog::is_on() {
            return step();
        }
        if self.is_blocking() {
            return self.run_handed_over(step);
        }
        watchdog::watch(self.number(), step)
    }

    #[inline]
    fn number(self: &Arc<Self>) -> u32 {
        match self.number.load(Ordering::Relaxed) {
            0 => watchdog::register(Arc::downgrade(self) as Weak<dyn Watched>, &self.number),
            number => number,
        }
    }

    #[cold]
    fn run_handed_over<T>(self: &Arc<Self>, step: impl FnOnce() -> T) -> T {
        let begun = std::time::Instant::now();
        let result = watchdog::hand_over(|| watchdog::watch(self.number(), step));
        if begun.elapsed() < watchdog::TICK {
            let less = |left: u32| left.checked_sub(1);
            let _ = self.probation.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        } else {
            self.blocks();
        }
        result
    }
}

#[cfg(feature = "http")]
impl Watched for BlockingProfile {
    fn blocks(&self) {
        self.probation.store(PROBATION, Ordering::Relaxed);
        if !self.logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the handler `{}` is blocking a worker thread of the runtime; declare it `blocking`, or `await` what it \
                 waits for",
                self.name
            );
        }
    }
}

#[cfg(feature = "http")]
impl Drop for BlockingProfile {
    fn drop(&mut self) {
        let number = *self.number.get_mut();
        if number > 0 {
            watchdog::unregister(number);
        }
    }
}
