//! [`Session`]: one client and the versions of a server, as a state machine. Messages go in, [`Action`]s come out; who
//! performs them is [`stdio`](super::stdio).
//!
//! The client has one conversation, every child has its own. What the client negotiated is kept here and replayed to
//! each child ([`swap`]). The ids of the client's requests are the same on both sides, because a child sees no others;
//! the ids of the children's requests are rewritten, because two children count alike.

mod client;
mod server;
mod swap;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::catalog::{Catalog, List};
use super::message::{Id, error};

/// A child process, counted from 1.
pub(crate) type ChildId = u64;

/// How long a request waits for a server: clients give up after 60 s, and then nobody would read the reason.
const WAIT: Duration = Duration::from_secs(50);
/// How long calls in flight may take on a version that was replaced.
const DRAIN: Duration = Duration::from_secs(30);
/// How long a new version may take to answer the replayed handshake.
const START: Duration = Duration::from_secs(30);
/// The versions that finish calls at the same time; the oldest is ended when there is one more.
const DRAINING: usize = 4;
/// The client's requests in flight, the servers' requests in flight, and the subscriptions that are replayed.
const ENTRIES: usize = 4_096;
/// The pages read of a list to compare versions.
const PAGES: usize = 50;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    ToClient(String),
    ToChild(ChildId, String),
    /// Closes the child's input, waits for it to exit, kills it.
    Close(ChildId),
    /// Starts the newest build again.
    Start(Duration),
    /// Tells the person.
    Say(Note),
}

/// What the person is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Note {
    /// The first version serves.
    Serving(Instant),
    /// A new version serves; the text is how its lists differ.
    Swapped(Instant, String),
    /// The version that had exited serves again.
    Restarted,
    Warning(String),
    Error(String),
}

/// A request of the client that has no response yet.
#[derive(Debug)]
struct Call {
    /// The child that has it; none while it waits for one.
    child: Option<ChildId>,
    method: String,
    modern: bool,
    purpose: Purpose,
}

/// What a successful response changes.
#[derive(Debug)]
enum Purpose {
    Initialize(String),
    Level(Value),
    Subscribe(String),
    Unsubscribe(String),
    /// A `subscriptions/listen`: open until the client cancels it. Without a child, the supervisor holds it alone.
    Listen {
        line: String,
        filter: Value,
        acknowledged: bool,
    },
    Other,
}

/// A request of a child at the client.
#[derive(Debug)]
struct Ask {
    child: ChildId,
    id: Id,
    token: Option<Value>,
}

/// A line that waits for a child.
#[derive(Debug)]
struct Waiting {
    line: String,
    /// The requests in it: one, or those of a batch.
    ids: Vec<Id>,
    since: Instant,
}

/// What the client said in `initialize`, and what came of it.
#[derive(Debug)]
struct Handshake {
    line: String,
    version: Value,
}

/// A request of the supervisor at a child.
#[derive(Debug)]
enum Own {
    Initialize,
    Level,
    Subscribe(String),
    List(List, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waits for the client's own `initialize` to be answered, or for the answers to what is replayed.
    Starting(Instant),
    Serving,
    /// Replaced: finishes its calls until then.
    Draining(Instant),
}

#[derive(Debug)]
struct Child {
    phase: Phase,
    /// Whether the session is being replayed.
    begun: bool,
    /// When the source was saved that this version was built from.
    saved: Instant,
    started: Instant,
    own: HashMap<Id, Own>,
    catalog: Catalog,
}

/// One client and the versions of its server.
#[derive(Debug, Default)]
pub(crate) struct Session {
    children: BTreeMap<ChildId, Child>,
    /// What the version before listed, once there was one.
    before: Option<Catalog>,
    current: Option<ChildId>,
    calls: HashMap<Id, Call>,
    asks: HashMap<u64, Ask>,
    waiting: VecDeque<Waiting>,
    handshake: Option<Handshake>,
    initialized: bool,
    level: Option<Value>,
    subscriptions: BTreeSet<String>,
    /// The `_meta` of a 2026-07-28 request, to read lists as that client does.
    meta: Option<Value>,
    /// Why the newest source does not run, until a model was told.
    failure: Option<String>,
    /// The same, for clients that wait for the first version.
    last_failure: Option<String>,
    /// Exits in a row, each soon after the start.
    crashes: u32,
    crashed: bool,
    counter: u64,
    actions: Vec<Action>,
}

impl Session {
    pub(crate) fn new() -> Self {
        Session::default()
    }

    /// What is to be done since the last time.
    pub(crate) fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Whether requests wait for a child.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.iter().any(|waiting| !waiting.ids.is_empty())
    }

    /// Whether a child serves.
    pub(crate) fn is_serving(&self) -> bool {
        self.current.is_some()
    }

    /// The source does not compile; the text says why.
    pub(crate) fn build_failed(&mut self, failure: String) {
        self.last_failure = Some(failure.clone());
        self.failure = Some(failure);
    }

    /// The source was built, and is what serves.
    pub(crate) fn build_unchanged(&mut self) {
        self.last_failure = None;
        self.failure = None;
    }

    /// When [`Session::expire`] has something to do.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let waiting = self.waiting.front().map(|waiting| waiting.since + WAIT);
        let children = self.children.values().filter_map(|child| match child.phase {
            Phase::Starting(deadline) | Phase::Draining(deadline) => Some(deadline),
            Phase::Serving => None,
        });
        children.chain(waiting).min()
    }

    /// Gives up on what took too long.
    pub(crate) fn expire(&mut self, now: Instant) {
        while self.waiting.front().is_some_and(|waiting| waiting.since + WAIT <= now) {
            let reason = match &self.last_failure {
                Some(failure) => format!("no version of the server runs: {}", super::adapt::shown(failure)),
                None => "the server is still being built; retry later".to_owned(),
            };
            let waiting = self.waiting.pop_front();
            self.fail_all(&waiting.map(|waiting| waiting.ids).unwrap_or_default(), &reason);
        }
        let late = |child: &Child| match child.phase {
            Phase::Starting(deadline) | Phase::Draining(deadline) => deadline <= now,
            Phase::Serving => false,
        };
        let late: Vec<_> = self.children.iter().filter(|(_, child)| late(child)).map(|(id, _)| *id).collect();
        for child in late {
            self.child_is_late(child, now);
        }
    }

    /// Answers a request with an error.
    fn fail(&mut self, id: &Id, reason: &str) {
        self.calls.remove(id);
        self.tell_client(error(id, &format!("cargo mcp dev: {reason}")));
    }

    fn fail_all(&mut self, ids: &[Id], reason: &str) {
        for id in ids {
            self.fail(id, reason);
        }
    }

    fn tell_client(&mut self, line: impl Into<String>) {
        self.actions.push(Action::ToClient(line.into()));
    }

    fn tell_child(&mut self, child: ChildId, line: impl Into<String>) {
        self.actions.push(Action::ToChild(child, line.into()));
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.actions.push(Action::Say(Note::Warning(text.into())));
    }

    fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }
}
