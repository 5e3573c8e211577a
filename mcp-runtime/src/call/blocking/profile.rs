//! What is known about a handler by its calls: whether it blocks, and how long its answers are.

use std::sync::Arc;
#[cfg(feature = "http")]
use std::sync::Weak;
#[cfg(feature = "http")]
use std::sync::atomic::Ordering;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};

#[cfg(feature = "http")]
use tokio::sync::{Semaphore, SemaphorePermit};

#[cfg(feature = "http")]
use super::threads::{hand_over_after, has_turn, watch};
#[cfg(feature = "http")]
use super::turns::{self, Turn};
#[cfg(feature = "http")]
use super::watchdog::{self, Watched};
#[cfg(feature = "http")]
use crate::error::PAGE;

/// How many quick calls prove that a handler does not block any more.
#[cfg(feature = "http")]
const PROBATION: u32 = 100;

/// How many quick calls prove that a new handler does not block.
#[cfg(feature = "http")]
const TRIAL: u32 = 4;

/// A message or an answer that takes more than a millisecond or two to parse, or to make.
#[cfg(feature = "http")]
pub(crate) const LONG: usize = 256 * 1024;

/// Whether some handler gives long answers. If none does, no call has to look for its own.
#[cfg(feature = "http")]
static LONG_ANSWERS: AtomicBool = AtomicBool::new(false);

/// Whether there are handlers with long answers.
#[cfg(feature = "http")]
#[inline]
pub(crate) fn some_answers_are_long() -> bool {
    LONG_ANSWERS.load(Ordering::Relaxed)
}

/// Whether a handler blocks, as far as its calls have shown.
#[derive(Debug)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "a client on stdio has a reader of its own"))]
pub(crate) struct BlockingProfile {
    name: Box<str>,
    /// By which the watchdog knows it; 0 before its first call.
    number: AtomicU32,
    /// How many calls are still to be run with the worker's tasks handed over.
    probation: AtomicU32,
    /// Held by the call that runs, while the handler is new.
    #[cfg(feature = "http")]
    trial: Semaphore,
    /// How long its next answer may be, in bytes; a sixteenth less with every answer that is shorter.
    expected_answer: AtomicUsize,
    logged: AtomicBool,
}

impl BlockingProfile {
    pub(crate) fn new(name: &str) -> Self {
        BlockingProfile {
            name: name.into(),
            number: AtomicU32::new(0),
            probation: AtomicU32::new(0),
            #[cfg(feature = "http")]
            trial: Semaphore::new(1),
            expected_answer: AtomicUsize::new(0),
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
    pub(crate) fn run<T>(self: &Arc<Self>, step: impl FnOnce() -> T, _: impl FnOnce(&T) -> bool) -> T {
        step()
    }

    /// Without HTTP there is nobody else to wait for a long answer.
    #[expect(clippy::unused_self, reason = "as with HTTP")]
    pub(crate) fn long_answer(&self) -> Option<usize> {
        None
    }

    #[expect(clippy::unused_self, reason = "as with HTTP")]
    pub(crate) fn answered(&self, _: usize) {}
}

#[cfg(feature = "http")]
impl BlockingProfile {
    /// Whether the handler has blocked lately, or is new, and occupies a thread of its own.
    #[inline]
    pub(crate) fn is_blocking(&self) -> bool {
        self.probation.load(Ordering::Relaxed) > 0
    }

    /// Runs a step of the handler, under the eyes of the watchdog if there is one. `is_last` tells whether the call is over
    /// then: one that has only begun proves nothing by being quick.
    #[inline]
    pub(crate) fn run<T>(self: &Arc<Self>, step: impl FnOnce() -> T, is_last: impl FnOnce(&T) -> bool) -> T {
        if !watchdog::is_on() {
            return step();
        }
        let number = self.number();
        if self.is_blocking() {
            return self.run_handed_over(number, step, is_last);
        }
        watch(number, step)
    }

    #[inline]
    fn number(self: &Arc<Self>) -> u32 {
        match self.number.load(Ordering::Relaxed) {
            0 => self.register(),
            number => number,
        }
    }

    #[cold]
    fn register(self: &Arc<Self>) -> u32 {
        self.probation.store(TRIAL, Ordering::Relaxed);
        watchdog::register(Arc::downgrade(self) as Weak<dyn Watched>, &self.number)
    }

    #[cold]
    fn run_handed_over<T>(&self, number: u32, step: impl FnOnce() -> T, is_last: impl FnOnce(&T) -> bool) -> T {
        let has_turn = has_turn();
        hand_over_after(self.turn_of_the_unproven(has_turn), |(alone, mut turn)| {
            let begun = std::time::Instant::now();
            let step = || watch(number, step);
            let result = match &mut turn {
                Some(turn) => turn.hold(step),
                None => step(),
            };
            if begun.elapsed() >= watchdog::TICK {
                self.blocks();
            } else if is_last(&result) {
                let less = |left: u32| left.checked_sub(1);
                let _ = self.probation.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            }
            drop(alone);
            result
        })
    }

    /// Many first calls of a handler may come at once, before anything is known about it: they run one after the other, so
    /// that the first ones show what the others have to wait for. Not for one that blocks, though.
    async fn turn_of_the_unproven(&self, has_turn: bool) -> (Option<SemaphorePermit<'_>>, Option<Turn>) {
        let on_trial = self.probation.load(Ordering::Relaxed) <= TRIAL;
        let alone = if on_trial && !has_turn {
            tokio::time::timeout(watchdog::TICK, self.trial.acquire()).await.ok().and_then(Result::ok)
        } else {
            None
        };
        let takes_turns = !has_turn && self.long_answer().is_some();
        (alone, if takes_turns { Some(turns::take().await) } else { None })
    }

    /// The length to expect of the next answer, if the handler has given long ones lately. It takes turns with others that
    /// have.
    #[inline]
    pub(crate) fn long_answer(&self) -> Option<usize> {
        Some(self.expected_answer.load(Ordering::Relaxed)).filter(|expected| *expected > LONG)
    }

    /// The handler has given an answer of this length.
    #[inline]
    pub(crate) fn answered(&self, length: usize) {
        let expected = self.long_answer();
        if length > LONG || expected.is_some() {
            let expected = expected.unwrap_or_default();
            self.expected_answer.store(length.max(expected - expected / 16), Ordering::Relaxed);
            LONG_ANSWERS.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(feature = "http")]
impl Watched for BlockingProfile {
    fn blocks(&self) {
        self.probation.store(PROBATION, Ordering::Relaxed);
        if !self.logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the handler `{}` is blocking a worker thread of the runtime; declare it `blocking`, or `await` what it \
                 waits for; see {PAGE}#a-handler-blocks",
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
