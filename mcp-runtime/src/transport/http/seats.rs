//! The connections of a listener: so many, who makes room when there are that many, and who took too long.
//!
//! A timer per request would cost more than anything else the listener does for it. So a connection only
//! notes since when it waits, by a clock that is looked at now and then, and whoever looks ends those that
//! waited too long.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

/// How long to wait for those who were asked to leave, before others are asked.
const SOON: Duration = Duration::from_millis(20);
/// How often the clock is looked at in the time a request may take to arrive, and how seldom at most.
const LOOKS: u32 = 8;
const SELDOM: Duration = Duration::from_mins(1);

/// The connections there are.
#[derive(Debug)]
pub(super) struct Seats {
    most: usize,
    /// How long a request may take to arrive.
    time: Duration,
    begun: Instant,
    clock: Arc<AtomicU64>,
    tasks: JoinSet<()>,
    taken: HashMap<Id, Taken>,
}

#[derive(Debug)]
struct Taken {
    wait: Arc<Wait>,
    /// Told once.
    leave: Option<oneshot::Sender<()>>,
    task: AbortHandle,
}

/// What a connection knows of its place.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) wait: Arc<Wait>,
    /// Told when somebody else wants the place, or the server is about to end.
    pub(super) leave: oneshot::Receiver<()>,
}

/// What a connection waits for.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// Milliseconds of the listener's life, when somebody last looked.
    clock: Arc<AtomicU64>,
    /// Since when it waits for a request, by that clock.
    since: AtomicU64,
    /// How much there is to do before: then it does not wait.
    busy: AtomicU32,
    /// Whether there was one.
    served: AtomicBool,
}

impl Wait {
    /// There is something to do. A request is waited for again when all that this gave is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// Something happens: it waits from now on.
    pub(super) fn again(&self) {
        self.since.store(self.clock.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Whether nobody uses the connection: it has served, and waits for the next request.
    fn is_idle(&self) -> bool {
        self.served.load(Ordering::Relaxed) && self.busy.load(Ordering::Acquire) == 0
    }
}

/// Something a connection does instead of waiting.
#[derive(Debug)]
pub(super) struct Busy(Arc<Wait>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.again();
        self.0.served.store(true, Ordering::Relaxed);
        self.0.busy.fetch_sub(1, Ordering::Release);
    }
}

impl Seats {
    pub(super) fn new(most: usize, time: Duration) -> Self {
        let (tasks, taken) = (JoinSet::new(), HashMap::new());
        Seats { most: most.max(1), time, begun: Instant::now(), clock: Arc::default(), tasks, taken }
    }

    /// How often [`look`](Self::look) wants to be called.
    pub(super) fn period(&self) -> Duration {
        (self.time / LOOKS).clamp(SOON, SELDOM)
    }

    /// Looks at the clock, and ends those who have waited too long for a request.
    pub(super) fn look(&mut self) {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let now = millis(self.begun.elapsed());
        self.clock.store(now, Ordering::Relaxed);
        // What was noted may be as old as the last look before it.
        let most = millis(self.time.saturating_add(self.period()));
        for taken in self.taken.values() {
            // In this order: who is not busy any more has noted since when.
            let waits = taken.wait.busy.load(Ordering::Acquire) == 0;
            if waits && now.saturating_sub(taken.wait.since.load(Ordering::Relaxed)) > most {
                taken.task.abort();
            }
        }
    }

    /// Waits until there may be one more. Meanwhile those who are idle make room.
    pub(super) async fn room(&mut self) {
        while let Some(done) = self.tasks.try_join_next_with_id() {
            self.left(done);
        }
        while self.tasks.len() >= self.most {
            self.look();
            self.ask_to_leave();
            // Who is busy now may be idle soon.
            if let Ok(Some(done)) = tokio::time::timeout(SOON, self.tasks.join_next_with_id()).await {
                self.left(done);
            }
        }
    }

    /// Asks some of those who are idle to leave; not all, for they would all come back.
    pub(super) fn ask_to_leave(&mut self) {
        let idle = self.taken.values_mut().filter(|taken| taken.leave.is_some() && taken.wait.is_idle());
        for leave in idle.take(self.most.div_ceil(16)).filter_map(|taken| taken.leave.take()) {
            // Or it has left already.
            let _ = leave.send(());
        }
    }

    /// Asks everybody to leave.
    pub(super) fn dismiss(&mut self) {
        for leave in self.taken.values_mut().filter_map(|taken| taken.leave.take()) {
            let _ = leave.send(());
        }
    }

    /// Gives a place to a connection, for as long as it is served.
    pub(super) fn take<F>(&mut self, serve: impl FnOnce(Seat) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (leave, told) = oneshot::channel();
        let wait = Arc::new(Wait { clock: Arc::clone(&self.clock), ..Wait::default() });
        wait.again();
        let task = self.tasks.spawn(serve(Seat { wait: Arc::clone(&wait), leave: told }));
        self.taken.insert(task.id(), Taken { wait, leave: Some(leave), task });
    }

    /// Waits until all have left.
    pub(super) async fn empty(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    fn left(&mut self, done: Result<(Id, ()), JoinError>) {
        self.taken.remove(&done.map_or_else(|error| error.id(), |(id, ())| id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that stays until it is asked to leave.
    async fn stays(seat: Seat) {
        let _ = seat.leave.await;
    }

    #[tokio::test]
    async fn only_who_is_idle_is_asked_to_leave() {
        let mut seats = Seats::new(2, Duration::MAX);
        let mut waits = Vec::new();
        for _ in 0..2 {
            seats.room().await;
            seats.take(|seat| {
                waits.push(Arc::clone(&seat.wait));
                stays(seat)
            });
        }
        let _busy = waits[0].busy();
        assert!(tokio::time::timeout(SOON * 3, seats.room()).await.is_err(), "nobody is idle");
        assert_eq!(seats.tasks.len(), 2);
        drop(waits[1].busy());
        seats.room().await;
        assert_eq!((seats.tasks.len(), seats.taken.len()), (1, 1), "who has left is forgotten");
    }

    #[tokio::test]
    async fn who_panics_has_left() {
        let mut seats = Seats::new(1, Duration::MAX);
        seats.take(|_| async { panic!("a secret") });
        seats.room().await;
        assert_eq!((seats.tasks.len(), seats.taken.len()), (0, 0));
    }

    #[tokio::test]
    async fn who_waits_too_long_has_left_and_who_is_busy_has_not() {
        let mut seats = Seats::new(2, Duration::from_millis(50));
        let mut waits = Vec::new();
        for _ in 0..2 {
            seats.take(|seat| {
                waits.push(Arc::clone(&seat.wait));
                stays(seat)
            });
        }
        let busy = waits[0].busy();
        tokio::time::sleep(seats.time + seats.period() * 2).await;
        seats.room().await;
        assert_eq!(seats.tasks.len(), 1, "one has made room");
        drop(busy);
        seats.look();
        tokio::task::yield_now().await;
        assert!(seats.tasks.try_join_next_with_id().is_none(), "it waits from now on");
        tokio::time::sleep(seats.time + seats.period() * 2).await;
        seats.look();
        seats.empty().await;
    }
}
