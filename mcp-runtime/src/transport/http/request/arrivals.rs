//! The bodies that are still arriving: how many may at a time, and how fast they must.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout};

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incomplete {
    TooLong,
    /// The memory budget is used up.
    NoRoom,
    /// As many bodies as may arrive at a time are arriving.
    TooMany,
    /// It took too long, or its rate was too low.
    TooSlow,
    /// The connection failed before the end.
    Broken,
}

/// The least bytes that must arrive in each window. A telephone with bad reception manages more.
const LEAST: usize = 4 * 1024;
const WINDOW: Duration = Duration::from_secs(5);
/// The window while many bodies are arriving.
const SHORT_WINDOW: Duration = Duration::from_secs(1);

/// The bodies that are arriving, of all clients.
#[derive(Debug)]
pub(crate) struct Arrivals {
    now: AtomicUsize,
    most: usize,
}

struct Arrival<'a>(&'a Arrivals);

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Arrivals {
    pub(crate) fn new(most: usize) -> Self {
        Arrivals { now: AtomicUsize::new(0), most: most.max(1) }
    }

    fn begin(&self) -> Option<Arrival<'_>> {
        let now = self.now.fetch_add(1, Ordering::Relaxed);
        let arrival = Arrival(self);
        (now < self.most).then_some(arrival)
    }

    /// Waits for a body while it arrives fast enough. `received` counts its bytes.
    pub(super) async fn paced<T>(
        &self,
        mut gathering: Pin<&mut impl Future<Output = Result<T, Incomplete>>>,
        received: &AtomicUsize,
        limit: Duration,
    ) -> Result<T, Incomplete> {
        let _arrival = self.begin().ok_or(Incomplete::TooMany)?;
        let begun = Instant::now();
        loop {
            let before = received.load(Ordering::Relaxed);
            let window = if self.now.load(Ordering::Relaxed) > self.most / 4 { SHORT_WINDOW } else { WINDOW };
            let left = limit.saturating_sub(begun.elapsed());
            if let Ok(gathered) = timeout(window.min(left), gathering.as_mut()).await {
                return gathered;
            }
            if left <= window || received.load(Ordering::Relaxed) - before < LEAST {
                return Err(Incomplete::TooSlow);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// A body of this many pieces of 1 KiB, with a pause before each.
    async fn pieces(count: usize, pause: Duration, received: &AtomicUsize) -> Result<(), Incomplete> {
        for _ in 0..count {
            tokio::time::sleep(pause).await;
            received.fetch_add(1024, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn arrives(most: usize, count: usize, pause: u64, limit: Duration) -> Result<(), Incomplete> {
        let (arrivals, received) = (Arrivals::new(most), AtomicUsize::new(0));
        let body = pin!(pieces(count, Duration::from_millis(pause), &received));
        arrivals.paced(body, &received, limit).await
    }

    #[tokio::test(start_paused = true)]
    async fn body_must_keep_up_a_rate() {
        assert_eq!(arrives(8, 40, 500, LONG).await, Ok(()));
        assert_eq!(arrives(8, 40, 2000, LONG).await, Err(Incomplete::TooSlow));
        assert_eq!(arrives(8, 40, 500, Duration::from_secs(10)).await, Err(Incomplete::TooSlow), "the time limit");
        assert_eq!(arrives(2, 40, 500, LONG).await, Err(Incomplete::TooSlow), "faster, when many arrive");
        assert_eq!(arrives(2, 40, 100, LONG).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_over_the_limit_are_refused() {
        let (arrivals, received) = (Arrivals::new(1), AtomicUsize::new(0));
        let one = pin!(pieces(1, Duration::from_millis(10), &received));
        let other = pin!(pieces(1, Duration::from_millis(10), &received));
        let (one, other) = tokio::join!(arrivals.paced(one, &received, LONG), arrivals.paced(other, &received, LONG));
        assert_eq!((one, other), (Ok(()), Err(Incomplete::TooMany)));
        assert_eq!(arrivals.now.into_inner(), 0);
    }
}
