//! Watching a task for changes, made by this replica or another.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::load;
#[cfg(feature = "auth")]
use crate::auth::access::Access;
use crate::call::invocation::Invocation;
use crate::era::TaskNegotiation;
use crate::server::core::Core;
use crate::store::{Change, ChangeListener, TaskRecord, subscribe};

/// How often a watched task is loaded without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Counts the changes of one task, while the watch is alive.
#[derive(Debug)]
pub(crate) struct TaskWatch {
    id: String,
    news: watch::Sender<u64>,
    /// Never marked as seen, so that its clones miss nothing since the watch began.
    unseen: watch::Receiver<u64>,
}

impl TaskWatch {
    pub(crate) fn over(core: &Core, id: &str) -> Arc<Self> {
        let (news, unseen) = watch::channel(0);
        let watch = Arc::new(TaskWatch { id: id.to_owned(), news, unseen });
        let listener: Weak<Self> = Arc::downgrade(&watch);
        subscribe(&**core.shared.bus(), listener);
        watch
    }

    /// Waits until the task may have changed. Also returns at intervals: a replica that shares the store but
    /// not the bus sends no notifications.
    pub(crate) async fn happens(news: &mut watch::Receiver<u64>) {
        let _ = tokio::time::timeout(POLL_INTERVAL, news.changed()).await;
    }

    /// A receiver of all changes since the watch began.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.unseen.clone()
    }
}

impl ChangeListener for TaskWatch {
    fn changed(&self, change: &Change) {
        let concerned = match change {
            Change::Task(id) => *id == self.id,
            Change::All => true,
            _ => false,
        };
        if concerned {
            self.news.send_modify(|news| *news += 1);
        }
    }
}

/// Access to the tasks of one principal. Anonymous callers share the tasks that have no owner.
#[derive(Debug, Clone)]
pub(crate) struct TaskReader {
    core: Arc<Core>,
    owner: Option<String>,
    #[cfg(feature = "auth")]
    access: Option<Access>,
}

impl TaskReader {
    pub(crate) fn by(invocation: &Invocation<'_>) -> Self {
        let owner = invocation.channel.principal().map(ToString::to_string);
        TaskReader {
            core: Arc::clone(invocation.channel.core),
            owner,
            #[cfg(feature = "auth")]
            access: invocation.channel.access().cloned(),
        }
    }

    /// A snapshot of a task. A task of another principal is not found, nor one whose scopes the caller lacks: it is told
    /// with its result.
    pub(crate) async fn task(&self, id: &str) -> Option<TaskRecord> {
        let task = load(&self.core, id).await.ok().flatten()?;
        #[cfg(feature = "auth")]
        task.permit(self.access.as_ref()).ok()?;
        (task.owner == self.owner && task.revision.task_negotiation() == TaskNegotiation::ByServer).then_some(task)
    }

    /// Filters these ids for the tasks that exist and belong to the principal.
    pub(crate) async fn theirs(&self, ids: &[String]) -> Vec<String> {
        let mut theirs = Vec::new();
        for id in ids {
            if self.task(id).await.is_some() {
                theirs.push(id.clone());
            }
        }
        theirs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watch_counts_its_own_task_and_lost_changes() {
        let (news, unseen) = watch::channel(0);
        let watch = TaskWatch { id: "own".into(), news, unseen };
        for (change, count) in [(Change::Task("other".into()), 0), (Change::Task("own".into()), 1), (Change::All, 2)] {
            watch.changed(&change);
            assert_eq!(*watch.news().borrow(), count, "{change:?}");
        }
    }
}
