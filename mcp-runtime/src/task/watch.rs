//! Noticing that something happened to a task, here or at another replica.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::load;
use crate::call::invocation::Invocation;
use crate::era::TaskNegotiation;
use crate::server::core::Core;
use crate::store::{Change, ChangeListener, TaskRecord};

/// How often to look at a task of which nothing is heard.
const LOOK: Duration = Duration::from_secs(2);

/// Counts what happens to one task, for as long as it is kept.
#[derive(Debug)]
pub(crate) struct TaskWatch {
    id: String,
    news: watch::Sender<u64>,
    /// Has seen nothing: who begins to look later misses nothing.
    unseen: watch::Receiver<u64>,
}

impl TaskWatch {
    pub(crate) fn over(core: &Core, id: &str) -> Arc<Self> {
        let (news, unseen) = watch::channel(0);
        let watch = Arc::new(TaskWatch { id: id.to_owned(), news, unseen });
        let listener: Weak<Self> = Arc::downgrade(&watch);
        core.shared.bus().subscribe(listener);
        watch
    }

    /// Waits until something may have happened. A replica that shares the store but not the bus is not
    /// heard: whoever waits looks now and then all the same.
    pub(crate) async fn happens(news: &mut watch::Receiver<u64>) {
        let _ = tokio::time::timeout(LOOK, news.changed()).await;
    }

    /// Tells of everything since it is watched.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.unseen.clone()
    }
}

impl ChangeListener for TaskWatch {
    fn changed(&self, change: &Change) {
        if matches!(change, Change::Task(id) if *id == self.id) {
            self.news.send_modify(|news| *news += 1);
        }
    }
}

/// The tasks somebody may be told of: their own, and those of nobody if they are nobody.
#[derive(Debug, Clone)]
pub(crate) struct TaskReader {
    core: Arc<Core>,
    owner: Option<String>,
}

impl TaskReader {
    pub(crate) fn by(invocation: &Invocation<'_>) -> Self {
        let owner = invocation.channel.principal().map(ToString::to_string);
        TaskReader { core: Arc::clone(invocation.channel.core), owner }
    }

    /// A task as it is now. One that is not theirs is not there.
    pub(crate) async fn task(&self, id: &str) -> Option<TaskRecord> {
        let task = load(&self.core, id).await.ok().flatten()?;
        (task.owner == self.owner && task.revision.task_negotiation() == TaskNegotiation::ByServer).then_some(task)
    }

    /// Those of these that are there.
    pub(crate) async fn theirs(&self, ids: &[String]) -> Vec<String> {
        let mut theirs: Vec<String> = Vec::new();
        for id in ids {
            if self.task(id).await.is_some() {
                theirs.push(id.clone());
            }
        }
        theirs
    }
}
