//! Long messages and long answers take turns: each occupies a core for milliseconds, to be read, made, checked and
//! encoded. Half of the cores is left to everything that is short.
//!
//! Which handlers give long answers shows when they have given one (`BlockingProfile::answered`). Their later calls wait
//! for a turn before they run, and hand the worker's other tasks over while they have it.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use tokio::sync::{Semaphore, SemaphorePermit};

#[cfg(feature = "http")]
use super::threads::{hand_over, with_turn};

/// The turns of the process: its cores do not become more with its servers.
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, usize::from);
    Semaphore::new((cores / 2).max(1))
});

/// The right to occupy a core for some milliseconds. The watchdog takes it back from a handler that blocks.
#[derive(Debug)]
pub(crate) struct Turn(bool);

impl Turn {
    /// Runs a step while another thread does the rest of this worker's tasks, if that is possible here.
    #[cfg_attr(not(feature = "http"), expect(clippy::unused_self, reason = "as with HTTP"))]
    pub(crate) fn run<T>(&mut self, step: impl FnOnce() -> T) -> T {
        #[cfg(feature = "http")]
        return hand_over(|| with_turn(&mut self.0, step));
        #[cfg(not(feature = "http"))]
        step()
    }
}

#[cfg(feature = "http")]
impl Turn {
    /// Runs a step on a thread whose tasks have been handed over.
    pub(super) fn hold<T>(&mut self, step: impl FnOnce() -> T) -> T {
        with_turn(&mut self.0, step)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.0 {
            give_back();
        }
    }
}

/// Waits for a turn.
pub(crate) async fn take() -> Turn {
    // Not the permit itself, which the watchdog could not take back.
    TURNS.acquire().await.map(SemaphorePermit::forget).ok();
    Turn(true)
}

/// Lets another have its turn.
pub(super) fn give_back() {
    TURNS.add_permits(1);
}
