//! The pending calls of one client, by request id. An id is in flight once, and each call is answered or cancelled.
//!
//! A call over the limit is rejected (`-32000`, with what to do next), not left unread: a reader that waited for room
//! could read neither `ping` nor a cancellation.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

use crate::jsonrpc::Id;
use crate::sync::{BoxedTask, lock, until};

/// Pending calls. Removing a call from the table settles its fate: its own task removes it and then answers, a
/// cancellation removes it and nothing is sent.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    calls: Mutex<HashMap<Box<str>, Entry>>,
    /// How many tasks may still send something.
    running: AtomicUsize,
    /// Notified when a task has finished.
    finished: Notify,
}

#[derive(Debug)]
struct Entry {
    task: AbortHandle,
    kind: CallKind,
}

/// A call, which ends by itself, or a subscription stream, which ends when it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    Call,
    Stream,
}

/// Counts a task that may still send something, until it is dropped.
#[derive(Debug)]
pub(crate) struct RunningGuard(Arc<InFlight>);

impl Drop for RunningGuard {
    #[inline(never)]
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.finished.notify_waiters();
    }
}

/// The tasks of a connection, aborted when it is dropped. Allocated with the first task: many connections have none.
#[derive(Debug, Default)]
pub(crate) struct TaskSet(Option<JoinSet<()>>);

impl TaskSet {
    pub(crate) fn spawn_on(
        &mut self,
        task: impl Future<Output = ()> + Send + 'static,
        runtime: &Handle,
    ) -> AbortHandle {
        let task: BoxedTask = Box::pin(task);
        self.0.get_or_insert_default().spawn_on(task, runtime)
    }

    /// The number of tasks that have not finished.
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
    #[inline]
    pub(crate) fn contains(&self, id: Id<'_>) -> bool {
        // Every call in the table has a task, so without tasks the lock is not needed.
        self.running.load(Ordering::Acquire) > 0 && self.calls().contains_key(&*key(id))
    }

    /// Enters a call, whose task `spawn` starts. The lock is held meanwhile, so that the task finds its entry.
    pub(crate) fn enter(&self, id: Id<'_>, kind: CallKind, spawn: impl FnOnce() -> AbortHandle) {
        let mut calls = self.calls();
        calls.insert(key(id).into(), Entry { task: spawn(), kind });
    }

    /// Whether there is room for one more of a kind. Cancelled calls do not count, but their tasks exist until they
    /// are dropped, as do tasks whose answers the client does not read. Tasks are therefore limited to twice as many.
    pub(crate) fn has_room(&self, kind: CallKind, limit: usize, tasks: &mut TaskSet) -> bool {
        let count = tasks.count();
        let of_kind = || self.calls().values().filter(|entry| entry.kind == kind).count();
        count < limit || (count < limit.saturating_mul(2) && of_kind() < limit)
    }

    /// Removes a finished call. Returns false if it was cancelled before. For the call's own task only: after a
    /// cancellation the entry may belong to a newer call with the same id.
    pub(crate) fn finish(&self, id: Id<'_>) -> bool {
        let (key, mut calls) = (key(id), self.calls());
        let own = calls.get(&*key).is_some_and(|entry| Some(entry.task.id()) == tokio::task::try_id());
        own && calls.remove(&*key).is_some()
    }

    /// Whether a task may still send something.
    #[cfg(feature = "http")]
    pub(crate) fn is_busy(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }

    /// Counts a task, until the guard is dropped.
    pub(crate) fn running(self: &Arc<Self>) -> RunningGuard {
        self.running.fetch_add(1, Ordering::AcqRel);
        RunningGuard(Arc::clone(self))
    }

    /// Waits until at most `count` tasks are running.
    pub(crate) async fn at_most(&self, count: usize) {
        until(&self.finished, || self.running.load(Ordering::Acquire) <= count).await;
    }

    /// Cancels a call. Returns false if it is not in flight. Its future is dropped at its next `.await`.
    pub(crate) fn cancel(&self, id: Id<'_>) -> bool {
        let found = self.calls().remove(&*key(id));
        if let Some(entry) = &found {
            entry.task.abort();
        }
        found.is_some()
    }

    /// Cancels every call, and returns their ids.
    pub(crate) fn cancel_all(&self) -> Vec<Box<str>> {
        let calls = std::mem::take(&mut *self.calls());
        for entry in calls.values() {
            entry.task.abort();
        }
        calls.into_keys().collect()
    }
}

/// The canonical spelling of an id: `"a"` and `"\\u0061"` are the same string, `1` and `1.0` the same integer.
fn key(id: Id<'_>) -> Cow<'_, str> {
    let raw = id.as_str();
    if !raw.starts_with('"') {
        return Cow::Borrowed(raw.split_once('.').map_or(raw, |(whole, _)| whole));
    }
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
    fn escaped_id_has_the_same_key() {
        let of = |raw| key(Id::new_unchecked(raw)).into_owned();
        assert_eq!(of(r#""a""#), of(r#""\u0061""#));
        assert_ne!(of("1"), of(r#""1""#));
    }
}
