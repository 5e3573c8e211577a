//! Who is told of which changes: sessions of the legacy era, and the streams of `subscriptions/listen`.
//!
//! Both are an interest and what has not been told of it yet. A change that is waiting to be told
//! is not told twice, so that a client which reads slowly costs no memory and holds nobody up.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions>

#[cfg(feature = "http")]
use std::collections::BTreeSet;
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};

use crate::call::outbox::Outgoing;
use crate::catalog::Catalog;
use crate::era::encode::notification;
use crate::jsonrpc::error::RpcError;
use crate::store::{Change, ChangeBus, ChangeListener};
use crate::sync::{lock, until_some};
use crate::task::TaskReader;

/// Which changes a client wants to be told of; on the wire, a filter.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Filter {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resource_subscriptions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    task_ids: Vec<String>,
}

impl Filter {
    /// Everything a session is told without asking.
    pub(crate) fn lists() -> Self {
        Filter {
            tools_list_changed: true,
            prompts_list_changed: true,
            resources_list_changed: true,
            resource_subscriptions: Vec::new(),
            task_ids: Vec::new(),
        }
    }

    /// What of it the server can tell. `known` says whether there is a resource to tell of.
    pub(crate) fn agreed(mut self, catalog: &Catalog, mut known: impl FnMut(&str) -> bool) -> Self {
        let dynamic = catalog.settings.dynamic;
        self.tools_list_changed &= dynamic;
        self.prompts_list_changed &= dynamic;
        self.resources_list_changed &= dynamic;
        let mut seen = HashSet::new();
        self.resource_subscriptions.retain(|uri| known(uri) && seen.insert(uri.clone()));
        let mut seen = HashSet::new();
        self.task_ids.retain(|id| seen.insert(id.clone()));
        self
    }

    /// How many resources and tasks it names.
    pub(crate) fn named(&self) -> usize {
        self.resource_subscriptions.iter().chain(&self.task_ids).collect::<HashSet<_>>().len()
    }

    /// The tasks it names.
    pub(crate) fn tasks(&mut self) -> &mut Vec<String> {
        &mut self.task_ids
    }
}

/// What somebody wants to know, and what of it they have not been told.
#[derive(Debug)]
pub(crate) struct Subscription {
    state: Mutex<SubscriptionState>,
    news: Notify,
    /// Who tells where a task is.
    watched: Option<TaskReader>,
}

#[derive(Debug)]
struct SubscriptionState {
    filter: Filter,
    uris: HashSet<String>,
    tasks: HashSet<String>,
    pending: VecDeque<Change>,
}

impl Subscription {
    /// Enters an interest at the bus; it ends when it is dropped.
    pub(crate) fn enter(bus: &Arc<dyn ChangeBus>, filter: Filter) -> Arc<Self> {
        Self::with_tasks(bus, filter, None)
    }

    /// The same, for somebody who may be told of tasks.
    pub(crate) fn with_tasks(bus: &Arc<dyn ChangeBus>, mut filter: Filter, watched: Option<TaskReader>) -> Arc<Self> {
        let tasks = std::mem::take(&mut filter.task_ids).into_iter().collect();
        let uris = std::mem::take(&mut filter.resource_subscriptions).into_iter().collect();
        let state = Mutex::new(SubscriptionState { filter, uris, tasks, pending: VecDeque::new() });
        let subscription = Arc::new(Subscription { state, news: Notify::new(), watched });
        let weak = Arc::downgrade(&subscription);
        bus.subscribe(weak);
        subscription
    }

    fn state(&self) -> MutexGuard<'_, SubscriptionState> {
        lock(&self.state)
    }

    /// Adds a resource, if there are not too many.
    pub(crate) fn add(&self, uri: &str, limit: usize) -> Result<(), RpcError> {
        let mut state = self.state();
        if state.uris.len() >= limit && !state.uris.contains(uri) {
            return Err(too_many(limit));
        }
        state.uris.insert(uri.to_owned());
        Ok(())
    }

    /// Removes a resource, and what would have been told of it.
    pub(crate) fn remove(&self, uri: &str) {
        let mut state = self.state();
        state.uris.remove(uri);
        state.pending.retain(|change| !matches!(change, Change::ResourceUpdated(other) if other == uri));
    }

    /// The resources.
    #[cfg(feature = "http")]
    pub(crate) fn resources(&self) -> BTreeSet<String> {
        self.state().uris.iter().cloned().collect()
    }

    /// Puts other resources in the place of those there are.
    #[cfg(feature = "http")]
    pub(crate) fn set_resources(&self, uris: &BTreeSet<String>) {
        let mut state = self.state();
        state.uris = uris.iter().cloned().collect();
        state.pending.retain(|change| !matches!(change, Change::ResourceUpdated(uri) if !uris.contains(uri)));
    }

    /// Keeps these of the tasks that were asked for, and tells at once where they are.
    pub(crate) fn keep_tasks(&self, ids: &[String]) {
        let mut state = self.state();
        state.tasks.retain(|id| ids.contains(id));
        state.pending.retain(|change| !matches!(change, Change::Task(_)));
        state.pending.extend(ids.iter().cloned().map(Change::Task));
        self.news.notify_one();
    }

    /// A change as a line; nothing, if it is none any more.
    async fn line(&self, change: &Change, stream: Option<&str>) -> Option<Vec<u8>> {
        match (change, stream, &self.watched) {
            (Change::Task(id), Some(stream), Some(watched)) => {
                watched.task(id).await.map(|task| notification::task(&task, stream))
            }
            (Change::Task(_), ..) => None,
            _ => Some(notification::change(change, stream)),
        }
    }

    /// Something to tell, when there is something.
    async fn next(&self) -> Change {
        until_some(&self.news, || self.state().pending.pop_front()).await
    }

    /// Tells a client everything until the connection is to end, and what changed before that; on a
    /// stream, with the stream's id.
    pub(crate) async fn tell(
        &self,
        outbox: &mpsc::Sender<Outgoing>,
        stream: Option<&str>,
        closing: impl Future<Output = ()>,
    ) {
        let mut closing = std::pin::pin!(closing);
        loop {
            let change = tokio::select! {
                // First: changes may come without end.
                biased;
                () = &mut closing => break,
                change = self.next() => change,
            };
            if let Some(line) = self.line(&change, stream).await
                && outbox.send(Outgoing::Notification(line)).await.is_err()
            {
                return;
            }
        }
        let rest = std::mem::take(&mut self.state().pending);
        for change in rest {
            if let Some(line) = self.line(&change, stream).await
                && outbox.send(Outgoing::Notification(line)).await.is_err()
            {
                return;
            }
        }
    }
}

impl ChangeListener for Subscription {
    fn changed(&self, change: &Change) {
        let mut state = self.state();
        let wanted = match change {
            Change::ToolList => state.filter.tools_list_changed,
            Change::PromptList => state.filter.prompts_list_changed,
            Change::ResourceList => state.filter.resources_list_changed,
            Change::ResourceUpdated(uri) => state.uris.contains(uri),
            Change::Task(id) => state.tasks.contains(id),
        };
        if wanted && !state.pending.contains(change) {
            state.pending.push_back(change.clone());
            self.news.notify_one();
        }
    }
}

/// The answer to a subscription there is no room for.
pub(crate) fn too_many(limit: usize) -> RpcError {
    RpcError::new(RpcError::INTERNAL, format!("Too many subscriptions: the limit is {limit}; end one, then try again"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::control::ConnectionControl;
    use crate::store::LocalBus;

    /// Somebody who wants to know of lists and two resources, and is told by a task when there is room.
    fn interested() -> (Arc<Subscription>, Arc<ConnectionControl>, mpsc::Receiver<Outgoing>) {
        let bus: Arc<dyn ChangeBus> = Arc::new(LocalBus::new());
        let subscription = Subscription::enter(&bus, Filter::lists());
        for uri in ["a://", "b://"] {
            subscription.add(uri, 2).unwrap();
        }
        let (control, (outbox, told)) = (Arc::new(ConnectionControl::default()), mpsc::channel(1));
        let (telling, until) = (Arc::clone(&subscription), Arc::clone(&control));
        tokio::spawn(async move { telling.tell(&outbox, None, until.closing()).await });
        (subscription, control, told)
    }

    async fn everything(mut told: mpsc::Receiver<Outgoing>) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(Outgoing::Notification(line)) = told.recv().await {
            lines.push(String::from_utf8(line).unwrap());
        }
        lines
    }

    #[tokio::test]
    async fn who_reads_slowly_is_told_everything_before_the_end() {
        let (subscription, control, told) = interested();
        for change in
            [Change::ToolList, Change::PromptList, Change::ResourceUpdated("a://".into()), Change::ResourceList]
        {
            subscription.changed(&change);
        }
        tokio::task::yield_now().await;
        control.close();
        assert_eq!(everything(told).await.len(), 4);
    }

    #[tokio::test]
    async fn what_is_wanted_no_more_is_not_told_later() {
        let (subscription, control, told) = interested();
        for change in [Change::ToolList, Change::PromptList, Change::ResourceUpdated("a://".into())] {
            subscription.changed(&change);
        }
        // One is in the outbox, one waits for room.
        tokio::task::yield_now().await;
        subscription.remove("a://");
        control.close();
        let told = everything(told).await;
        assert!(told.len() == 2 && !told.concat().contains("a://"), "{told:?}");
    }
}
