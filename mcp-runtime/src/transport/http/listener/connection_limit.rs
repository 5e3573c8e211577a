//! The listener's connection limit: evicts connections when full, and closes those whose request is overdue.
//!
//! Connections that have never served a request go first, a second after they were accepted: a client that connects
//! has something to say, a flood has not. Then those that have been idle longest. Among equals, those of the peer with
//! the most connections go first. A connection that serves a request is never evicted.
//!
//! A connection over the limit waits; it is not rejected. A 503 would answer a client whose request has not been
//! read, and closing a socket with unread bytes discards the response. Waiting is safe, because no connection
//! holds its slot forever: idle ones are evicted, a request must arrive within `request_timeout`, and a response
//! must be read within `write_timeout`. The others serve calls and streams. `Limits::requests` bounds those, by
//! default to half of `Limits::connections`, and rejects more of them with 503.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};

use super::clock::ListenerClock;
use crate::transport::http::idle_clock::IdleClock;

/// How long evicted connections have to close before more are evicted.
const EVICTION_INTERVAL: Duration = Duration::from_millis(20);
/// How long a new connection may take to send its first request when the limit is reached, or the server shuts down.
pub(super) const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// The part of all connections that is evicted at a time. Not all idle ones: they would all reconnect.
const EVICTED_PART: usize = 16;

/// The connections of a listener, each in a task.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    most: usize,
    /// How long a connection may wait for a request to arrive.
    timeout: Duration,
    clock: ListenerClock,
    tasks: JoinSet<()>,
    entries: HashMap<Id, Entry>,
}

/// What the listener wants of a connection; it only ever asks for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leave {
    Stay,
    /// Like `WhenIdle`, but a connection that was never used has a moment to send a request.
    AfterFirst,
    /// Close after the request that is being served or received.
    WhenIdle,
    /// Close at once, unless a request is being served.
    Now,
}

/// What the listener knows of a connection.
#[derive(Debug)]
struct Entry {
    /// What counts as one peer.
    peer: IpAddr,
    idle: Arc<IdleClock>,
    leave: watch::Sender<Leave>,
}

impl Entry {
    fn ask(&self, leave: Leave) {
        self.leave.send_if_modified(|asked| {
            let more = leave > *asked;
            *asked = leave.max(*asked);
            more
        });
    }

    fn may_stay(&self) -> bool {
        *self.leave.borrow() == Leave::Stay
    }
}

/// A connection's side of its entry.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) idle: Arc<IdleClock>,
    leave: watch::Receiver<Leave>,
}

impl Slot {
    /// Waits until the listener asks for this much, or is gone.
    pub(crate) async fn asked(&mut self, leave: Leave) {
        let _ = self.leave.wait_for(|asked| *asked >= leave).await;
    }
}

impl ConnectionLimit {
    pub(crate) fn new(most: usize, timeout: Duration) -> Self {
        ConnectionLimit {
            most: most.max(1),
            timeout,
            clock: ListenerClock::new(timeout),
            tasks: JoinSet::new(),
            entries: HashMap::new(),
        }
    }

    /// Waits for the next tick of the clock, and closes the connections that are overdue by then.
    pub(crate) async fn tick(&mut self) {
        self.clock.tick().await;
        self.close_overdue();
    }

    fn close_overdue(&mut self) {
        let now = self.clock.advance();
        let timeout = self.timeout.saturating_add(self.clock.precision());
        for entry in self.entries.values().filter(|entry| entry.idle.waited(now).is_some_and(|time| time > timeout)) {
            entry.ask(Leave::Now);
        }
    }

    /// Waits until there is room for another connection, and evicts others meanwhile.
    pub(crate) async fn room(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.remove(ended);
        }
        while self.tasks.len() >= self.most {
            self.close_overdue();
            self.evict();
            // A connection that is busy now may be idle by then.
            if let Ok(Some(ended)) = tokio::time::timeout(EVICTION_INTERVAL, self.tasks.join_next_with_id()).await {
                self.remove(ended);
            }
        }
    }

    /// Asks some of the connections that wait for a request to close.
    pub(crate) fn evict(&mut self) {
        let now = self.clock.advance();
        let mut of_peer: HashMap<IpAddr, usize> = HashMap::new();
        for entry in self.entries.values() {
            *of_peer.entry(entry.peer).or_default() += 1;
        }
        let waiting = self.entries.values().filter(|entry| entry.may_stay());
        let waiting = waiting.filter_map(|entry| Some((entry, entry.idle.waited(now)?)));
        let (served, new): (Vec<_>, Vec<_>) = waiting.partition(|(entry, _)| entry.idle.has_served());
        let at_a_time = self.most.div_ceil(EVICTED_PART);
        let (late, young): (Vec<_>, Vec<_>) = new.into_iter().partition(|(_, waited)| *waited >= FIRST_REQUEST);
        let (mut victims, leave) = if !late.is_empty() {
            (late, Leave::Now)
        } else if young.len() >= at_a_time {
            // A flood of new connections, which will be late in a moment: no reason to close one that works.
            return;
        } else {
            (served, Leave::WhenIdle)
        };
        victims.sort_unstable_by_key(|(entry, waited)| Reverse((of_peer[&entry.peer], *waited)));
        victims.iter().take(at_a_time).for_each(|(entry, _)| entry.ask(leave));
    }

    /// Asks every connection to close after its current request, or its first.
    pub(crate) fn start_shutdown(&self) {
        self.entries.values().for_each(|entry| entry.ask(Leave::AfterFirst));
    }

    /// Serves a connection in a task of its own. `peer` is what counts as one.
    pub(crate) fn spawn<F>(&mut self, peer: IpAddr, serve: impl FnOnce(Slot) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (leave, asked) = watch::channel(Leave::Stay);
        // Not by a time that may be long past: a second matters here.
        self.clock.advance();
        let idle = self.clock.idle_clock();
        let task = self.tasks.spawn(serve(Slot { idle: Arc::clone(&idle), leave: asked }));
        self.entries.insert(task.id(), Entry { peer, idle, leave });
    }

    /// Waits until all connections are closed; those that are overdue meanwhile are hurried.
    pub(crate) async fn drained(&mut self) {
        while !self.tasks.is_empty() {
            tokio::select! {
                Some(ended) = self.tasks.join_next_with_id() => self.remove(ended),
                () = self.clock.tick() => self.close_overdue(),
            }
        }
    }

    /// Closes all connections, whatever they do. One that never yields is not waited for.
    pub(crate) async fn close(&mut self) {
        let _ = tokio::time::timeout(EVICTION_INTERVAL, self.tasks.shutdown()).await;
    }

    fn remove(&mut self, ended: Result<(Id, ()), JoinError>) {
        self.entries.remove(&ended.map_or_else(|error| error.id(), |(id, ())| id));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn peer(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    /// A connection that closes when it is asked to.
    async fn obliging(mut slot: Slot) {
        slot.asked(Leave::WhenIdle).await;
    }

    /// A connection that closes only when it has to.
    async fn reluctant(mut slot: Slot) {
        slot.asked(Leave::Now).await;
    }

    #[tokio::test]
    async fn eviction_spares_busy_and_new_connections() {
        let mut limit = ConnectionLimit::new(2, Duration::MAX);
        let mut clocks = Vec::new();
        for _ in 0..2 {
            limit.room().await;
            limit.spawn(peer(1), |slot| {
                clocks.push(Arc::clone(&slot.idle));
                obliging(slot)
            });
        }
        let _busy = clocks[0].busy();
        assert!(tokio::time::timeout(EVICTION_INTERVAL * 3, limit.room()).await.is_err(), "none is idle");
        assert_eq!(limit.tasks.len(), 2);
        drop(clocks[1].busy());
        limit.room().await;
        assert_eq!((limit.tasks.len(), limit.entries.len()), (1, 1), "the entry of a closed connection is removed");
    }

    #[tokio::test]
    async fn panicked_connection_frees_its_slot() {
        let mut limit = ConnectionLimit::new(1, Duration::MAX);
        limit.spawn(peer(1), |_| async { panic!("a secret") });
        limit.room().await;
        assert_eq!((limit.tasks.len(), limit.entries.len()), (0, 0));
    }

    #[tokio::test]
    async fn overdue_connections_are_closed_and_busy_ones_are_not() {
        let timeout = Duration::from_millis(50);
        let mut limit = ConnectionLimit::new(3, timeout);
        let mut clocks = Vec::new();
        for _ in 0..3 {
            limit.spawn(peer(1), |slot| {
                clocks.push(Arc::clone(&slot.idle));
                reluctant(slot)
            });
        }
        let (busy, _busy_throughout) = (clocks[0].busy(), clocks[1].busy());
        limit.start_shutdown();
        for (left, busy) in [(2, Some(busy)), (1, None)] {
            let begun = Instant::now();
            while limit.tasks.len() > left {
                limit.tick().await;
                limit.room().await;
            }
            assert!(begun.elapsed() >= timeout, "it had its time");
            drop(busy);
        }
        for _ in 0..8 {
            limit.tick().await;
        }
        assert!(limit.tasks.try_join_next_with_id().is_none(), "a busy connection is never overdue");
    }

    #[tokio::test]
    async fn late_tick_does_not_close_a_new_connection() {
        let mut limit = ConnectionLimit::new(2, Duration::from_millis(50));
        std::thread::sleep(Duration::from_millis(200));
        limit.spawn(peer(1), obliging);
        limit.close_overdue();
        tokio::task::yield_now().await;
        assert!(limit.tasks.try_join_next_with_id().is_none());
    }

    #[tokio::test]
    async fn flood_is_evicted_before_connections_that_work() {
        let mut limit = ConnectionLimit::new(32, Duration::MAX);
        let mut kept = Vec::new();
        for number in 0..32 {
            limit.spawn(peer(if number < 4 { 1 } else { 2 }), |slot| {
                if number < 4 {
                    kept.push(Arc::clone(&slot.idle));
                }
                obliging(slot)
            });
        }
        for clock in &kept {
            drop(clock.busy());
        }
        limit.evict();
        assert!(limit.entries.values().all(Entry::may_stay), "the flood is not late yet");
        while limit.entries.values().all(Entry::may_stay) {
            tokio::time::sleep(EVICTION_INTERVAL).await;
            limit.evict();
        }
        for _ in 0..32 {
            limit.evict();
        }
        let staying: Vec<_> = limit.entries.values().filter(|entry| entry.may_stay()).map(|entry| entry.peer).collect();
        assert_eq!(staying.len(), 0, "with nothing else to close, idle ones are: {staying:?}");
        let late = limit.entries.values().filter(|entry| *entry.leave.borrow() == Leave::Now).count();
        assert_eq!(late, 28, "those that worked may finish");
    }

    #[tokio::test]
    async fn longest_idle_connection_of_the_greediest_peer_is_evicted_first() {
        let mut limit = ConnectionLimit::new(4, Duration::from_millis(160));
        let mut clocks = Vec::new();
        for number in [1, 2, 2, 2] {
            limit.spawn(peer(number), |slot| {
                clocks.push(Arc::clone(&slot.idle));
                obliging(slot)
            });
        }
        for clock in &clocks {
            drop(clock.busy());
            tokio::time::sleep(Duration::from_millis(30)).await;
            limit.clock.advance();
        }
        limit.evict();
        let left = |limit: &ConnectionLimit| {
            let leaving = limit.entries.values().filter(|entry| !entry.may_stay());
            leaving.map(|entry| clocks.iter().position(|clock| Arc::ptr_eq(clock, &entry.idle)).unwrap()).collect()
        };
        let first: Vec<usize> = left(&limit);
        assert_eq!(first, [1], "one at a time, and not the oldest of all");
    }
}
