//! Tasks to check a store with.

use std::time::Duration;

use super::{Verdict, ensure, random_id};
use crate::protocol::Revision;
use crate::store::{TaskQuota, TaskRecord, TaskStore};

/// A ttl that outlasts every rule.
pub(super) const LONG: Duration = Duration::from_secs(10 * 60);
/// A ttl whose expiry a rule waits for.
pub(super) const SHORT: Duration = Duration::from_millis(400);

/// A running task without an owner.
pub(super) fn task() -> TaskRecord {
    TaskRecord::new(random_id(), Revision::V2026_07_28, LONG)
}

/// Creates a task, without limits.
pub(super) async fn create(store: &impl TaskStore, task: &TaskRecord, ttl: Duration) -> Verdict {
    let created = store.create(task, ttl, TaskQuota::UNLIMITED).await?;
    ensure!(created.is_ok(), "`create` without limits returns {created:?}");
    Ok(())
}
