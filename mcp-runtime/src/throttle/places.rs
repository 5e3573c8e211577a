//! `max_concurrent`: the calls of one handler that run at once, and those that wait for a place.
//!
//! A place that becomes free goes to the callers in turn, so that one with many calls delays another by one call, not by
//! all of them. The queue is bounded, and one caller cannot fill it for the others; a call that is cancelled leaves it. A
//! call that waits for its client gives its place up, and queues again before it goes on.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::caller::CallerId;
use super::refusal::Throttled;
use crate::sync::lock;

/// How many may wait for each place. Callers of whom nobody waits find room for as many again.
const WAITING_PER_PLACE: usize = 16;

/// The places of a handler. A trait, so that a server without such a limit has no code for it.
pub(crate) trait Concurrency: fmt::Debug + Send + Sync {
    /// A place to run, now or later. `what` is called, for the refusal of a call that finds the queue full.
    fn enter(&self, caller: CallerId<'_>, what: &str) -> Result<Entry, Box<Throttled>>;

    /// As `enter`, for a call that was admitted before, elsewhere: however many wait.
    #[cfg(feature = "http")]
    fn enter_again(&self) -> Entry;
}

/// A place in a handler, or in its queue.
#[derive(Debug)]
pub(crate) enum Entry {
    Now(Place),
    Later(oneshot::Receiver<Place>),
}

impl Entry {
    /// Waits for the place.
    pub(crate) async fn place(self) -> Option<Place> {
        match self {
            Entry::Now(place) => Some(place),
            // The places live for as long as somebody waits for one, so there will be one.
            Entry::Later(place) => place.await.ok(),
        }
    }
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    /// `None` after it was handed on.
    shared: Option<Arc<Shared>>,
    /// The hash of who has it.
    caller: u64,
}

impl Place {
    /// Gives the place up for a while.
    pub(crate) fn pause(mut self) -> Option<Paused> {
        let shared = self.shared.take()?;
        Arc::clone(&shared).leave();
        Some(Paused { shared, caller: self.caller })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.leave();
        }
    }
}

/// A call that had a place, and needs one again to go on.
#[derive(Debug)]
pub(crate) struct Paused {
    shared: Arc<Shared>,
    caller: u64,
}

impl Paused {
    /// A place to go on, now or later, however many wait: it was admitted before.
    pub(crate) fn enter(self) -> Entry {
        self.shared.enter(self.caller)
    }
}

/// So many places.
#[derive(Debug)]
pub(crate) struct Places(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    hasher: RandomState,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    /// Those who wait, by caller. The first caller is the next; nobody is without waiting calls.
    turns: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    /// The hash of who it is: a collision would be a shared turn.
    caller: u64,
    calls: VecDeque<oneshot::Sender<Place>>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        let (most, hasher) = (most.max(1), RandomState::new());
        Places(Arc::new(Shared { most, hasher, state: Mutex::default() }))
    }
}

impl Concurrency for Places {
    fn enter(&self, caller: CallerId<'_>, what: &str) -> Result<Entry, Box<Throttled>> {
        let Places(shared) = self;
        let caller = shared.hasher.hash_one(caller);
        let most = shared.most.saturating_mul(WAITING_PER_PLACE);
        let entry = shared.enter_unless(caller, |state| state.is_full(caller, most));
        entry.ok_or_else(|| Box::new(Throttled::busy(what, shared.most)))
    }

    #[cfg(feature = "http")]
    fn enter_again(&self) -> Entry {
        self.0.enter(self.0.hasher.hash_one(CallerId::Unknown))
    }
}

impl State {
    /// Whether no more of this caller's calls may wait. Those that were cancelled do not count.
    fn is_full(&mut self, caller: u64, most: usize) -> bool {
        let waiting = |turns: &VecDeque<Waiting>| turns.iter().map(|turn| turn.calls.len()).sum::<usize>();
        if waiting(&self.turns) < most {
            return false;
        }
        self.turns.retain_mut(|turn| {
            turn.calls.retain(|call| !call.is_closed());
            !turn.calls.is_empty()
        });
        let waits = || self.turns.iter().any(|turn| turn.caller == caller);
        match waiting(&self.turns) {
            some if some < most => false,
            many => many >= most.saturating_mul(2) || waits(),
        }
    }

    fn wait(&mut self, caller: u64, call: oneshot::Sender<Place>) {
        match self.turns.iter_mut().find(|turn| turn.caller == caller) {
            Some(turn) => turn.calls.push_back(call),
            None => self.turns.push_back(Waiting { caller, calls: [call].into() }),
        }
    }

    /// The next that waits, and whose it is.
    fn next(&mut self) -> Option<(u64, oneshot::Sender<Place>)> {
        let mut turn = self.turns.pop_front()?;
        let (caller, call) = (turn.caller, turn.calls.pop_front());
        if !turn.calls.is_empty() {
            self.turns.push_back(turn);
        }
        call.map(|call| (caller, call))
    }
}

impl Shared {
    fn enter_unless(self: &Arc<Self>, caller: u64, is_full: impl FnOnce(&mut State) -> bool) -> Option<Entry> {
        let mut state = lock(&self.state);
        if state.running < self.most {
            state.running += 1;
            return Some(Entry::Now(Place { shared: Some(Arc::clone(self)), caller }));
        }
        if is_full(&mut state) {
            return None;
        }
        let (sender, place) = oneshot::channel();
        state.wait(caller, sender);
        Some(Entry::Later(place))
    }

    fn enter(self: &Arc<Self>, caller: u64) -> Entry {
        self.enter_unless(caller, |_| false).unwrap_or_else(|| Entry::Later(oneshot::channel().1))
    }

    /// Hands a place to the next that waits for it.
    fn leave(mut self: Arc<Self>) {
        loop {
            let mut state = lock(&self.state);
            let Some((caller, next)) = state.next() else {
                state.running -= 1;
                return;
            };
            drop(state);
            match next.send(Place { shared: Some(self), caller }) {
                Ok(()) => return,
                // Cancelled while it waited.
                Err(mut returned) => match returned.shared.take() {
                    Some(shared) => self = shared,
                    None => return,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(places: &Places, caller: &'static str) -> Entry {
        places.enter(CallerId::Principal(caller), "it").unwrap()
    }

    fn place(entry: &mut Entry) -> Option<Place> {
        match entry {
            Entry::Now(place) => Some(Place { shared: place.shared.take(), ..*place }),
            Entry::Later(later) => later.try_recv().ok(),
        }
    }

    #[test]
    fn callers_take_turns() {
        let places = Places::new(1);
        let mut running = place(&mut enter(&places, "ann"));
        let mut waiting: Vec<_> =
            ["ann", "ann", "ann", "bob", "carl"].map(|caller| (caller, enter(&places, caller))).into();
        let mut order = Vec::new();
        while running.take().is_some() {
            // Dropped above: somebody else has the place now.
            for (caller, entry) in &mut waiting {
                if let Some(place) = place(entry) {
                    assert!(running.is_none(), "only one at a time");
                    order.push(*caller);
                    running = Some(place);
                }
            }
        }
        assert_eq!(order, ["ann", "bob", "carl", "ann", "ann"]);
        assert_eq!(lock(&places.0.state).running, 0);
    }

    #[test]
    fn queue_is_bounded_and_cancelled_calls_leave_it() {
        let places = Places::new(2);
        let running = [enter(&places, "ann"), enter(&places, "ann")];
        let mut waiting: Vec<_> = (0..2 * WAITING_PER_PLACE).map(|_| enter(&places, "ann")).collect();
        assert!(places.enter(CallerId::Principal("ann"), "it").is_err_and(|busy| busy.is_busy));
        waiting.truncate(1);
        for _ in 0..100 {
            drop(enter(&places, "bob"));
        }
        drop(running);
        assert!(place(&mut waiting[0]).is_some(), "it did not wait for those that are gone");
        drop(waiting);
        assert_eq!(lock(&places.0.state).running, 0);
        assert!(lock(&places.0.state).turns.is_empty());
    }

    #[test]
    fn queue_that_one_caller_has_filled_has_room_for_others() {
        let places = Places::new(1);
        let running = enter(&places, "ann");
        let mut waiting: Vec<_> = (0..WAITING_PER_PLACE).map(|_| enter(&places, "ann")).collect();
        let names: Vec<_> = (0..WAITING_PER_PLACE).map(|number| format!("user {number}")).collect();
        let of = |name| places.enter(CallerId::Principal(name), "it");
        let mut others: Vec<_> = names
            .iter()
            .map(|name| {
                let first = of(name).unwrap();
                assert!(of(name).is_err() && of("ann").is_err(), "{name} waits already");
                first
            })
            .collect();
        assert!(of("one more").is_err_and(|busy| busy.is_busy), "there is an end");
        drop(running);
        let first = place(&mut waiting[0]).unwrap();
        drop(first);
        assert!(place(&mut others[0]).is_some(), "callers take turns");
    }

    #[test]
    fn paused_call_gives_its_place_up_and_queues_again() {
        let places = Places::new(1);
        let mut first = enter(&places, "ann");
        let (mut second, mut third) = (enter(&places, "bob"), enter(&places, "carl"));
        let paused = place(&mut first).unwrap().pause().unwrap();
        let running = place(&mut second);
        assert!(running.is_some(), "the place is free");
        let mut again = paused.enter();
        drop(running);
        assert!(place(&mut again).is_none(), "it waits for its turn");
        assert!(place(&mut third).is_some());
        assert!(place(&mut again).is_some());
        assert_eq!(lock(&places.0.state).running, 0);
    }

    #[test]
    fn place_that_nobody_fetched_is_handed_on() {
        let places = Places::new(1);
        let running = enter(&places, "ann");
        let (unlucky, mut next) = (enter(&places, "bob"), enter(&places, "carl"));
        drop(running);
        drop(unlucky);
        assert!(place(&mut next).is_some());
        drop(next);
        assert_eq!(lock(&places.0.state).running, 0);
    }
}
