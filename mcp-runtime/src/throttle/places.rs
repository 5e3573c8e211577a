//! `max_concurrent`: the calls of one handler that run at once, and those that wait for a place.
//!
//! A place that becomes free goes to the callers in turn, so that one with many calls delays another by one call, not by
//! all of them. The queue is bounded; a call that is cancelled leaves it.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::caller::CallerId;
use super::refusal::Throttled;
use crate::sync::lock;

/// How many may wait for each place.
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
pub(crate) struct Place(Option<Arc<Shared>>);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.leave();
        }
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

    fn enter_unless(&self, caller: CallerId<'_>, is_full: impl FnOnce(&mut State) -> bool) -> Option<Entry> {
        let mut state = lock(&self.0.state);
        if state.running < self.0.most {
            state.running += 1;
            return Some(Entry::Now(Place(Some(Arc::clone(&self.0)))));
        }
        if is_full(&mut state) {
            return None;
        }
        let (sender, place) = oneshot::channel();
        state.wait(self.0.hasher.hash_one(caller), sender);
        Some(Entry::Later(place))
    }
}

impl Concurrency for Places {
    fn enter(&self, caller: CallerId<'_>, what: &str) -> Result<Entry, Box<Throttled>> {
        let most = self.0.most;
        let entry = self.enter_unless(caller, |state| state.is_full(most.saturating_mul(WAITING_PER_PLACE)));
        entry.ok_or_else(|| Box::new(Throttled::busy(what, most)))
    }

    #[cfg(feature = "http")]
    fn enter_again(&self) -> Entry {
        match self.enter_unless(CallerId::Unknown, |_| false) {
            Some(entry) => entry,
            None => Entry::Later(oneshot::channel().1),
        }
    }
}

impl State {
    /// Whether no more may wait. Those that were cancelled do not count.
    fn is_full(&mut self, most: usize) -> bool {
        let waiting = |turns: &VecDeque<Waiting>| turns.iter().map(|turn| turn.calls.len()).sum::<usize>();
        if waiting(&self.turns) < most {
            return false;
        }
        self.turns.retain_mut(|turn| {
            turn.calls.retain(|call| !call.is_closed());
            !turn.calls.is_empty()
        });
        waiting(&self.turns) >= most
    }

    fn wait(&mut self, caller: u64, call: oneshot::Sender<Place>) {
        match self.turns.iter_mut().find(|turn| turn.caller == caller) {
            Some(turn) => turn.calls.push_back(call),
            None => self.turns.push_back(Waiting { caller, calls: [call].into() }),
        }
    }

    /// The next that waits.
    fn next(&mut self) -> Option<oneshot::Sender<Place>> {
        let mut turn = self.turns.pop_front()?;
        let call = turn.calls.pop_front();
        if !turn.calls.is_empty() {
            self.turns.push_back(turn);
        }
        call
    }
}

impl Shared {
    /// Hands a place to the next that waits for it.
    fn leave(self: Arc<Self>) {
        let mut place = Place(Some(self));
        while let Some(shared) = place.0.take() {
            let mut state = lock(&shared.state);
            let Some(next) = state.next() else {
                state.running -= 1;
                return;
            };
            drop(state);
            match next.send(Place(Some(shared))) {
                Ok(()) => return,
                // Cancelled while it waited.
                Err(returned) => place = returned,
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
            Entry::Now(place) => Some(Place(place.0.take())),
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
        assert!(places.enter(CallerId::Principal("bob"), "it").is_err_and(|busy| busy.is_busy));
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
