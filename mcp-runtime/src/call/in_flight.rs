//! The calls of one client that are waiting, by request id: none twice, each answered or cancelled.
//!
//! A call over the limit is rejected (`-32603`, with what to do next), not left unread: a reader that waited for room
//! could read neither `ping` nor a cancellation.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

use crate::jsonrpc::Id;
use crate::sync::{lock, until};

/// Waiting calls. Whoever takes a call out of the table decides about it: its own task, which then
/// answers, or a cancellation, after which nothing is sent.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    calls: Mutex<HashMap<Box<str>, Entry>>,
    /// How many tasks have not said their last word.
    running: AtomicUsize,
    fewer: Notify,
}

#[derive(Debug)]
struct Entry {
    task: AbortHandle,
    kind: CallKind,
}

/// What waits: a call that will be done, or a stream that goes on until it is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    Call,
    Stream,
}

/// A task that has something to say. Dropped when it has said it, or never will.
#[derive(Debug)]
pub(crate) struct RunningGuard(Arc<InFlight>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.fewer.notify_waiters();
    }
}

/// Tasks of a connection, dropped with it. Many connections never have any, and pay for none.
#[derive(Debug, Default)]
pub(crate) struct TaskSet(Option<JoinSet<()>>);

impl TaskSet {
    pub(crate) fn spawn_on(
        &mut self,
        task: impl Future<Output = ()> + Send + 'static,
        runtime: &Handle,
    ) -> AbortHandle {
        self.0.get_or_insert_default().spawn_on(task, runtime)
    }

    /// How many there are that are not done.
    fn count(&mut self) -> usize {
        let Some(tasks) = &mut self.0 else { return 0 };
        while tasks.try_join_next().is_some() {}
        tasks.len()
    }
}

impl InFlight {
    fn calls(&self) -> MutexGuard<'_, HashMap<Box<str>, Entry>> {
        lock(&self.calls)
    }

    /// Whether a request with this id is still being answered.
    pub(crate) fn contains(&self, id: Id<'_>) -> bool {
        // A call in the table has a task: without one there is nothing to look for.
        self.running.load(Ordering::Acquire) > 0 && self.calls().contains_key(&*key(id))
    }

    /// Enters a call whose task is about to be started by `spawn`. The entry is there before the
    /// task can look for it.
    pub(crate) fn enter(&self, id: Id<'_>, kind: CallKind, spawn: impl FnOnce() -> AbortHandle) {
        let mut calls = self.calls();
        calls.insert(key(id).into(), Entry { task: spawn(), kind });
    }

    /// Whether there may be one more of a kind. A cancelled one is none any more; but its task is
    /// there until it is dropped, as is one whose answer nobody reads, so these have a limit, too.
    pub(crate) fn has_room(&self, kind: CallKind, limit: usize, tasks: &mut TaskSet) -> bool {
        let count = tasks.count();
        let of_kind = || self.calls().values().filter(|entry| entry.kind == kind).count();
        count < limit || (count < limit.saturating_mul(2) && of_kind() < limit)
    }

    /// Takes out a call that is done; false if it was cancelled before. Said by the call's own task:
    /// if it was cancelled, there may be another call of that id by now, whose entry this is not.
    pub(crate) fn finish(&self, id: Id<'_>) -> bool {
        let (key, mut calls) = (key(id), self.calls());
        let own = calls.get(&*key).is_some_and(|entry| Some(entry.task.id()) == tokio::task::try_id());
        own && calls.remove(&*key).is_some()
    }

    /// Whether somebody has something to say.
    #[cfg(feature = "http")]
    pub(crate) fn is_busy(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }

    /// Counts a task, until what is returned is dropped.
    pub(crate) fn running(self: &Arc<Self>) -> RunningGuard {
        self.running.fetch_add(1, Ordering::AcqRel);
        RunningGuard(Arc::clone(self))
    }

    /// Waits until no more than `count` tasks have something to say.
    pub(crate) async fn at_most(&self, count: usize) {
        until(&self.fewer, || self.running.load(Ordering::Acquire) <= count).await;
    }

    /// Takes out a call and stops it, if it is there. Its future is dropped at its next `.await`.
    pub(crate) fn cancel(&self, id: Id<'_>) -> bool {
        let found = self.calls().remove(&*key(id));
        if let Some(entry) = &found {
            entry.task.abort();
        }
        found.is_some()
    }

    /// Takes out every call and stops it; the ids of those that are owed an answer.
    pub(crate) fn cancel_all(&self) -> Vec<Box<str>> {
        let calls = std::mem::take(&mut *self.calls());
        for entry in calls.values() {
            entry.task.abort();
        }
        calls.into_keys().collect()
    }
}

/// The same for every spelling of one id: `"a"` and `"\\u0061"` are one string.
fn key(id: Id<'_>) -> Cow<'_, str> {
    let raw = id.as_str();
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let plain = serde_json::from_str::<String>(raw).and_then(|text| serde_json::to_string(&text));
    plain.map_or(Cow::Borrowed(raw), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_an_id_are_one() {
        let of = |raw| key(Id::new_unchecked(raw)).into_owned();
        assert_eq!(of(r#""a""#), of(r#""\u0061""#));
        assert_ne!(of("1"), of(r#""1""#));
    }
}
