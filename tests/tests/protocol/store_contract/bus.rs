//! The contract of buses.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, Weak};

use mcp_runtime::store::{Change, ChangeBus, ChangeListener, LocalBus};
use mcp_runtime::testing::contract;

use super::{breaks, breaks_each, threaded};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn local_bus_keeps_the_contract() {
    contract::bus(LocalBus::new).await;
}

/// A bus with a thread between publisher and listeners, as a network would be.
#[derive(Debug)]
struct Distant(Sender<Change>, Arc<LocalBus>);

impl Distant {
    fn new() -> Self {
        let ((sender, published), bus) = (channel(), Arc::new(LocalBus::new()));
        let local = Arc::clone(&bus);
        std::thread::spawn(move || published.iter().for_each(|change| local.publish(&change)));
        Distant(sender, bus)
    }
}

impl ChangeBus for Distant {
    fn publish(&self, change: &Change) {
        self.0.send(change.clone()).unwrap();
    }

    fn subscribe(&self, listener: Weak<dyn ChangeListener>) {
        self.1.subscribe(listener);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asynchronous_bus_keeps_the_contract() {
    contract::bus(Distant::new).await;
}

/// A bug a bus may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    DeliversTwice,
    DeliversToOneListener,
    Reorders,
    KeepsListeners,
    LocksWhilePublishing,
    LosesSomeUnderLoad,
    KnowsNothingOfLostChanges,
}

#[derive(Default)]
struct State {
    listeners: Vec<Weak<dyn ChangeListener>>,
    kept: Vec<Arc<dyn ChangeListener>>,
    held: Option<Change>,
    published: usize,
}

struct Faulty(Mutex<State>, Fault);

impl std::fmt::Debug for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.1)
    }
}

impl ChangeBus for Faulty {
    fn publish(&self, change: &Change) {
        let mut state = self.0.lock().unwrap();
        state.published += 1;
        let listeners: Vec<_> = state.listeners.iter().filter_map(Weak::upgrade).collect();
        let mut changes = vec![change.clone()];
        match self.1 {
            Fault::DeliversTwice => changes.push(change.clone()),
            // Delivers every second change after the one that follows it.
            Fault::Reorders if matches!(change, Change::ResourceUpdated(uri) if uri.starts_with("note://1") && uri.len() == 10) => {
                match state.held.take() {
                    Some(held) => changes.push(held),
                    None => state.held = changes.pop(),
                }
            }
            Fault::LosesSomeUnderLoad if state.published > 200 => changes.clear(),
            Fault::KnowsNothingOfLostChanges => changes.retain(|change| *change != Change::All),
            _ => {}
        }
        let count = if self.1 == Fault::DeliversToOneListener { 1 } else { listeners.len() };
        let locked = (self.1 == Fault::LocksWhilePublishing).then_some(state);
        for change in &changes {
            listeners.iter().take(count).for_each(|listener| listener.changed(change));
        }
        drop(locked);
    }

    fn subscribe(&self, listener: Weak<dyn ChangeListener>) {
        let mut state = self.0.lock().unwrap();
        if self.1 == Fault::KeepsListeners {
            state.kept.extend(listener.upgrade());
        }
        if self.1 == Fault::LosesSomeUnderLoad && state.listeners.len() > 100 {
            state.listeners.clear();
        }
        state.listeners.push(listener);
    }
}

#[test]
fn faulty_buses_are_caught() {
    breaks_each(
        threaded,
        [
            (Fault::DeliversTwice, "every listener receives every change once"),
            (Fault::DeliversToOneListener, "every listener receives every change once"),
            (Fault::Reorders, "changes arrive in the order of publication"),
            (Fault::KeepsListeners, "a dropped listener is released and the others keep receiving"),
            (Fault::LocksWhilePublishing, "a listener may publish"),
            (Fault::LosesSomeUnderLoad, "publishing and subscribing are thread-safe"),
            (Fault::KnowsNothingOfLostChanges, "every listener receives every change once"),
        ],
        |fault| contract::bus(move || Faulty(Mutex::default(), fault)),
    );
}

/// A bus whose `subscribe` waits for listeners that are being called.
#[derive(Default)]
struct Locking(Mutex<Vec<Weak<dyn ChangeListener>>>);

impl std::fmt::Debug for Locking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Locking")
    }
}

impl ChangeBus for Locking {
    fn publish(&self, change: &Change) {
        let Ok(all) = self.0.try_lock() else {
            // A listener published: the outer call delivers it.
            return LATER.with_borrow_mut(|later| later.push(change.clone()));
        };
        let deliver = |change: &Change| all.iter().filter_map(Weak::upgrade).for_each(|one| one.changed(change));
        deliver(change);
        let later = LATER.with_borrow_mut(std::mem::take);
        later.iter().for_each(deliver);
    }

    fn subscribe(&self, listener: Weak<dyn ChangeListener>) {
        self.0.lock().unwrap().push(listener);
    }
}

thread_local! {
    static LATER: std::cell::RefCell<Vec<Change>> = const { std::cell::RefCell::new(Vec::new()) };
}

#[test]
fn bus_that_locks_subscribe_while_publishing_is_caught() {
    breaks(threaded(), "a listener may subscribe another listener", contract::bus(Locking::default));
}
