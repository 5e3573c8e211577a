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
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Interval, MissedTickBehavior};

use crate::transport::http::micros;

/// How long to wait for those who were asked to leave, before others are asked.
const SOON: Duration = Duration::from_millis(20);
/// How often the clock is looked at in the time a request may take to arrive, and how seldom at most.
const LOOKS: u32 = 8;
const SELDOM: Duration = Duration::from_mins(1);

/// The connections there are.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    most: usize,
    /// How long a request may take to arrive.
    time: Duration,
    clock: Arc<AtomicU64>,
    looked: Instant,
    looks: Interval,
    tasks: JoinSet<()>,
    taken: HashMap<Id, Entry>,
}

#[derive(Debug)]
struct Entry {
    wait: Arc<IdleClock>,
    /// There until it is asked to leave.
    leave: Option<oneshot::Sender<CloseNow>>,
    /// There from then on, until it is told that its time is over.
    over: Option<oneshot::Sender<()>>,
}

/// What somebody is told who is asked to leave: when to go at once.
pub(crate) type CloseNow = oneshot::Receiver<()>;

impl Entry {
    /// Asks for the place, when whatever is there is done.
    fn ask(&mut self) {
        let Some(leave) = self.leave.take() else { return };
        let (over, notice) = oneshot::channel();
        // Or it has left already.
        let _ = leave.send(notice);
        self.over = Some(over);
    }

    /// Asks for the place at once, unless there is something to be done: then as soon as it is.
    fn end(&mut self) {
        self.ask();
        if let Some(over) = self.over.take() {
            let _ = over.send(());
        }
    }
}

/// What a connection knows of its place.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) wait: Arc<IdleClock>,
    /// Told when somebody else wants the place, the server is about to end, or it took too long.
    pub(crate) leave: oneshot::Receiver<CloseNow>,
}

/// What a connection waits for.
#[derive(Debug, Default)]
pub(crate) struct IdleClock {
    /// Microseconds of the listener's life, when somebody last looked.
    clock: Arc<AtomicU64>,
    /// Since when it waits for a request, by that clock.
    since: AtomicU64,
    /// How much there is to do before: then it does not wait.
    busy: AtomicU32,
    /// Whether there was one.
    served: AtomicBool,
}

impl IdleClock {
    /// There is something to do. A request is waited for again when all that this gave is dropped.
    pub(crate) fn busy(self: &Arc<Self>) -> BusyGuard {
        self.busy.fetch_add(1, Ordering::Relaxed);
        BusyGuard(Arc::clone(self))
    }

    /// Something happens: it waits from now on.
    pub(crate) fn again(&self) {
        self.since.store(self.clock.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Whether there is something to do.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire) > 0
    }

    /// Whether nobody uses the connection: it has served, and waits for the next request.
    fn is_idle(&self) -> bool {
        self.served.load(Ordering::Relaxed) && !self.is_busy()
    }
}

/// Something a connection does instead of waiting.
#[derive(Debug)]
pub(crate) struct BusyGuard(Arc<IdleClock>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.again();
        self.0.served.store(true, Ordering::Relaxed);
        self.0.busy.fetch_sub(1, Ordering::Release);
    }
}

impl ConnectionLimit {
    pub(crate) fn new(most: usize, time: Duration) -> Self {
        let mut looks = tokio::time::interval((time / LOOKS).clamp(SOON, SELDOM));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (tasks, taken) = (JoinSet::new(), HashMap::new());
        ConnectionLimit { most: most.max(1), time, clock: Arc::default(), looked: Instant::now(), looks, tasks, taken }
    }

    /// Waits until it is time to, and looks.
    pub(crate) async fn look_in_time(&mut self) {
        self.looks.tick().await;
        self.look();
    }

    /// Looks at the clock, and ends those who have waited too long for a request.
    fn look(&mut self) {
        let now = self.tick();
        // What was noted may be as old as the look before it.
        let most = micros(self.time.saturating_add(self.looks.period()));
        for taken in self.taken.values_mut() {
            // In this order: who is not busy any more has noted since when.
            if !taken.wait.is_busy() && now.saturating_sub(taken.wait.since.load(Ordering::Relaxed)) > most {
                taken.end();
            }
        }
    }

    /// What the clock says now. If nobody could look for longer than they should have, nobody else could do
    /// anything, either: that time does not count.
    fn tick(&mut self) -> u64 {
        let now = Instant::now();
        let passed = micros((now - self.looked).min(self.looks.period()));
        self.looked = now;
        self.clock.fetch_add(passed, Ordering::Relaxed) + passed
    }

    /// Waits until there may be one more. Meanwhile those who are idle make room.
    pub(crate) async fn room(&mut self) {
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
    pub(crate) fn ask_to_leave(&mut self) {
        let idle = self.taken.values_mut().filter(|taken| taken.leave.is_some() && taken.wait.is_idle());
        idle.take(self.most.div_ceil(16)).for_each(Entry::ask);
    }

    /// Asks everybody to leave.
    pub(crate) fn dismiss(&mut self) {
        self.taken.values_mut().for_each(Entry::ask);
    }

    /// Gives a place to a connection, for as long as it is served.
    pub(crate) fn take<F>(&mut self, serve: impl FnOnce(Slot) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (leave, told) = oneshot::channel();
        let wait = Arc::new(IdleClock { clock: Arc::clone(&self.clock), ..IdleClock::default() });
        wait.again();
        let task = self.tasks.spawn(serve(Slot { wait: Arc::clone(&wait), leave: told }));
        self.taken.insert(task.id(), Entry { wait, leave: Some(leave), over: None });
    }

    /// Waits until all have left.
    pub(crate) async fn empty(&mut self) {
        while !self.tasks.is_empty() {
            tokio::select! {
                Some(done) = self.tasks.join_next_with_id() => self.left(done),
                _ = self.looks.tick() => self.look(),
            }
        }
    }

    fn left(&mut self, done: Result<(Id, ()), JoinError>) {
        self.taken.remove(&done.map_or_else(|error| error.id(), |(id, ())| id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that stays until it is asked to leave.
    async fn stays(seat: Slot) {
        let _ = seat.leave.await;
    }

    /// One that leaves when its time is over.
    async fn dawdles(seat: Slot) {
        if let Ok(notice) = seat.leave.await {
            let _ = notice.await;
        }
    }

    #[tokio::test]
    async fn only_who_is_idle_is_asked_to_leave() {
        let mut seats = ConnectionLimit::new(2, Duration::MAX);
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
        let mut seats = ConnectionLimit::new(1, Duration::MAX);
        seats.take(|_| async { panic!("a secret") });
        seats.room().await;
        assert_eq!((seats.tasks.len(), seats.taken.len()), (0, 0));
    }

    #[tokio::test]
    async fn who_waits_too_long_has_left_and_who_is_busy_has_not() {
        let time = Duration::from_millis(50);
        let mut seats = ConnectionLimit::new(3, time);
        let mut waits = Vec::new();
        for _ in 0..3 {
            seats.take(|seat| {
                waits.push(Arc::clone(&seat.wait));
                dawdles(seat)
            });
        }
        let (busy, _very_busy) = (waits[0].busy(), waits[1].busy());
        seats.dismiss();
        for (left, busy) in [(2, Some(busy)), (1, None)] {
            let begun = Instant::now();
            while seats.tasks.len() > left {
                seats.look_in_time().await;
                seats.room().await;
            }
            assert!(begun.elapsed() >= time, "it had its time");
            drop(busy);
        }
        for _ in 0..8 {
            seats.look_in_time().await;
        }
        assert!(seats.tasks.try_join_next_with_id().is_none(), "who is busy has all the time there is");
    }

    /// Whoever comes while nobody looks has not waited since somebody did.
    #[tokio::test]
    async fn a_late_look_ends_nobody_who_has_just_come() {
        let mut seats = ConnectionLimit::new(2, Duration::from_millis(50));
        std::thread::sleep(Duration::from_millis(200));
        seats.take(stays);
        seats.look();
        tokio::task::yield_now().await;
        assert!(seats.tasks.try_join_next_with_id().is_none());
    }
}
