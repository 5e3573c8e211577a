//! Subscriptions to changes: of legacy sessions, and of `subscriptions/listen` streams.
//!
//! A subscription is a filter and a queue of pending changes, the same for a session and for a stream. Equal
//! changes are coalesced, so a slow reader takes bounded memory and delays nobody. One future acknowledges a
//! stream and then delivers its changes, so that none overtakes the acknowledgement.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions>

#[cfg(feature = "http")]
use std::collections::BTreeSet;
use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use crate::call::outbox::Outgoing;
use crate::catalog::Catalog;
use crate::era::encode::notification;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::{Raw, to_text};
use crate::store::{Change, ChangeBus, ChangeListener};
use crate::sync::{lock, until_some};
use crate::task::TaskReader;

/// The URIs and task ids that a session or stream subscribes to, in bytes.
const FILTER_BYTES: usize = 32 * 1024;

/// The changes a client subscribes to; on the wire, the filter of `subscriptions/listen`.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Filter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_subscriptions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    task_ids: Vec<String>,
}

fn read_flag(members: &Object<'_>, name: &str) -> Result<bool, RpcError> {
    match members.get(name).map(Raw::get) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(wrong(name, "boolean", Raw::new_unchecked(other).kind())),
    }
}

fn read_texts(members: &Object<'_>, name: &str) -> Result<Vec<String>, RpcError> {
    let Some(raw) = members.get(name) else { return Ok(Vec::new()) };
    let Ok(Value::Array(items)) = serde_json::from_str(raw.get()) else { return Err(wrong(name, "array", raw.kind())) };
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Value::String(text) => texts.push(text),
            other => {
                return Err(wrong(
                    &format!("{name}.{}", texts.len()),
                    "string",
                    Raw::new_unchecked(&to_text(&other)).kind(),
                ));
            }
        }
    }
    Ok(texts)
}

fn wrong(field: &str, expected: &str, actual: &str) -> RpcError {
    RpcError::wrong_field(&format!("notifications.{field}"), expected, actual)
}

impl Filter {
    /// Reads the filter of a stream. By hand: the derived parser is 5 KB.
    pub(crate) fn read(members: &Object<'_>) -> Result<Self, RpcError> {
        Ok(Filter {
            tools_list_changed: read_flag(members, "toolsListChanged")?,
            prompts_list_changed: read_flag(members, "promptsListChanged")?,
            resources_list_changed: read_flag(members, "resourcesListChanged")?,
            resource_subscriptions: read_texts(members, "resourceSubscriptions")?,
            task_ids: read_texts(members, "taskIds")?,
        })
    }

    /// The filter of a legacy session: changes of all lists.
    pub(crate) fn lists() -> Self {
        Filter {
            tools_list_changed: true,
            prompts_list_changed: true,
            resources_list_changed: true,
            resource_subscriptions: Vec::new(),
            task_ids: Vec::new(),
        }
    }

    /// The part of the filter the server supports. `known` says whether a URI can be subscribed to.
    pub(crate) fn supported(mut self, catalog: &Catalog, mut known: impl FnMut(&str) -> bool) -> Self {
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

    /// The number of distinct resources and tasks in the filter.
    pub(crate) fn size(&self) -> usize {
        self.names().len()
    }

    fn names(&self) -> HashSet<&str> {
        self.resource_subscriptions.iter().chain(&self.task_ids).map(String::as_str).collect()
    }

    /// Checks that the filter is not too long to be kept.
    pub(crate) fn check_length(&self) -> Result<(), RpcError> {
        let bytes: usize = self.names().iter().map(|name| name.len()).sum();
        if bytes > FILTER_BYTES { Err(too_long()) } else { Ok(()) }
    }

    /// The URIs of the resources in the filter.
    pub(crate) fn resources(&self) -> &[String] {
        &self.resource_subscriptions
    }

    /// The ids of the tasks in the filter.
    pub(crate) fn tasks(&mut self) -> &mut Vec<String> {
        &mut self.task_ids
    }
}

/// A client's subscription: its filter, and the changes not delivered yet.
#[derive(Debug)]
pub(crate) struct Subscription {
    state: Mutex<SubscriptionState>,
    news: Notify,
    /// Reads the tasks whose changes are delivered.
    task_reader: Option<TaskReader>,
}

#[derive(Debug)]
struct SubscriptionState {
    filter: Filter,
    uris: HashSet<String>,
    tasks: HashSet<String>,
    pending: VecDeque<Change>,
}

impl SubscriptionState {
    /// Each change the client is subscribed to, once.
    fn everything(&self) -> VecDeque<Change> {
        let lists = [
            (self.filter.tools_list_changed, Change::ToolList),
            (self.filter.prompts_list_changed, Change::PromptList),
            (self.filter.resources_list_changed, Change::ResourceList),
        ];
        let lists = lists.into_iter().filter_map(|(subscribed, change)| subscribed.then_some(change));
        let resources = self.uris.iter().cloned().map(Change::ResourceUpdated);
        lists.chain(resources).chain(self.tasks.iter().cloned().map(Change::Task)).collect()
    }
}

impl Subscription {
    /// Subscribes at the bus, until the subscription is dropped.
    pub(crate) fn enter(bus: &Arc<dyn ChangeBus>, filter: Filter) -> Arc<Self> {
        Self::with_tasks(bus, filter, None)
    }

    /// Subscribes with a reader for changes of tasks.
    pub(crate) fn with_tasks(
        bus: &Arc<dyn ChangeBus>,
        mut filter: Filter,
        task_reader: Option<TaskReader>,
    ) -> Arc<Self> {
        let tasks = std::mem::take(&mut filter.task_ids).into_iter().collect();
        let uris = std::mem::take(&mut filter.resource_subscriptions).into_iter().collect();
        let state = Mutex::new(SubscriptionState { filter, uris, tasks, pending: VecDeque::new() });
        let subscription = Arc::new(Subscription { state, news: Notify::new(), task_reader });
        let weak = Arc::downgrade(&subscription);
        crate::store::subscribe(&**bus, weak);
        subscription
    }

    fn state(&self) -> MutexGuard<'_, SubscriptionState> {
        lock(&self.state)
    }

    /// Subscribes to a resource; an error at the limit.
    pub(crate) fn add(&self, uri: &str, limit: usize) -> Result<(), RpcError> {
        let mut state = self.state();
        if state.uris.len() >= limit && !state.uris.contains(uri) {
            return Err(too_many(limit));
        }
        if state.uris.iter().map(String::len).sum::<usize>() + uri.len() > FILTER_BYTES {
            return Err(too_long());
        }
        state.uris.insert(uri.to_owned());
        Ok(())
    }

    /// Unsubscribes from a resource and drops its pending change.
    pub(crate) fn remove(&self, uri: &str) {
        let mut state = self.state();
        state.uris.remove(uri);
        state.pending.retain(|change| !matches!(change, Change::ResourceUpdated(other) if other == uri));
    }

    /// The URIs of the subscribed resources.
    #[cfg(feature = "http")]
    pub(crate) fn resources(&self) -> BTreeSet<String> {
        self.state().uris.iter().cloned().collect()
    }

    /// Replaces the subscribed resources. Returns the URIs that are new.
    #[cfg(feature = "http")]
    pub(crate) fn set_resources(&self, uris: &BTreeSet<String>) -> Vec<String> {
        let mut state = self.state();
        let new = uris.iter().filter(|uri| !state.uris.contains(*uri)).cloned().collect();
        state.uris = uris.iter().cloned().collect();
        state.pending.retain(|change| !matches!(change, Change::ResourceUpdated(uri) if !uris.contains(uri)));
        new
    }

    /// Whether these are the subscribed resources.
    #[cfg(feature = "http")]
    pub(crate) fn has_resources(&self, uris: &BTreeSet<String>) -> bool {
        let subscribed = &self.state().uris;
        subscribed.len() == uris.len() && uris.iter().all(|uri| subscribed.contains(uri))
    }

    /// Restricts the subscription to these tasks and queues the current status of each.
    pub(crate) fn retain_tasks(&self, ids: &[String]) {
        let mut state = self.state();
        state.tasks.retain(|id| ids.contains(id));
        state.pending.retain(|change| !matches!(change, Change::Task(_)));
        state.pending.extend(ids.iter().cloned().map(Change::Task));
        self.news.notify_one();
    }

    /// A change as a notification line; `None` if its task has expired.
    async fn line(&self, change: &Change, stream: Option<&str>) -> Option<Vec<u8>> {
        match (change, stream, &self.task_reader) {
            (Change::Task(id), Some(stream), Some(reader)) => {
                reader.task(id).await.map(|task| notification::task(&task, stream))
            }
            _ => Some(notification::change(change, stream)).filter(|line| !line.is_empty()),
        }
    }

    /// Waits for the next pending change.
    async fn next(&self) -> Change {
        until_some(&self.news, || self.state().pending.pop_front()).await
    }

    /// Delivers changes until the connection closes, then those still pending. Notifications of a stream carry its id.
    ///
    /// `closing` is boxed, so that this is compiled once for sessions and streams.
    pub(crate) async fn deliver(
        &self,
        outbox: &mpsc::Sender<Outgoing>,
        stream: Option<&str>,
        mut closing: Pin<Box<dyn Future<Output = ()> + Send + '_>>,
    ) {
        // What is still to be delivered after the close.
        let mut rest: Option<VecDeque<Change>> = None;
        loop {
            let change = match &mut rest {
                Some(rest) => match rest.pop_front() {
                    Some(change) => change,
                    None => return,
                },
                None => tokio::select! {
                    // First: an endless series of changes must not delay the close.
                    biased;
                    () = &mut closing => {
                        rest = Some(std::mem::take(&mut self.state().pending));
                        continue;
                    }
                    change = self.next() => change,
                },
            };
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
            Change::SessionEnded(_) | Change::SessionChanged(..) | Change::SessionMessage(..) => false,
            Change::All => {
                state.pending = state.everything();
                self.news.notify_one();
                return;
            }
        };
        if wanted && !state.pending.contains(change) {
            state.pending.push_back(change.clone());
            self.news.notify_one();
        }
    }
}

/// The error response to URIs that are too long to be kept.
fn too_long() -> RpcError {
    let text = format!("Too long: the URIs and task ids of a subscription may have {FILTER_BYTES} bytes together");
    RpcError::new(RpcError::INVALID_PARAMS, text)
}

/// The error response at the subscription limit.
pub(crate) fn too_many(limit: usize) -> RpcError {
    RpcError::new(RpcError::INTERNAL, format!("Too many subscriptions: the limit is {limit}; end one, then try again"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::control::ConnectionControl;
    use crate::store::LocalBus;

    /// A subscription to lists and two resources, delivered to a channel with room for one.
    fn subscribed() -> (Arc<Subscription>, Arc<ConnectionControl>, mpsc::Receiver<Outgoing>) {
        let bus: Arc<dyn ChangeBus> = Arc::new(LocalBus::new());
        let subscription = Subscription::enter(&bus, Filter::lists());
        for uri in ["a://", "b://"] {
            subscription.add(uri, 2).unwrap();
        }
        let (control, (outbox, received)) = (Arc::new(ConnectionControl::default()), mpsc::channel(1));
        let (delivering, until) = (Arc::clone(&subscription), Arc::clone(&control));
        tokio::spawn(async move { delivering.deliver(&outbox, None, Box::pin(until.closing())).await });
        (subscription, control, received)
    }

    async fn all_lines(mut received: mpsc::Receiver<Outgoing>) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(Outgoing::Notification(line)) = received.recv().await {
            lines.push(String::from_utf8(line).unwrap());
        }
        lines
    }

    #[tokio::test]
    async fn pending_changes_are_delivered_on_close() {
        let (subscription, control, received) = subscribed();
        for change in
            [Change::ToolList, Change::PromptList, Change::ResourceUpdated("a://".into()), Change::ResourceList]
        {
            subscription.changed(&change);
        }
        tokio::task::yield_now().await;
        control.close();
        assert_eq!(all_lines(received).await.len(), 4);
    }

    #[tokio::test]
    async fn lost_changes_notify_of_everything_subscribed_to() {
        let (subscription, control, received) = subscribed();
        subscription.changed(&Change::ResourceUpdated("a://".into()));
        subscription.changed(&Change::All);
        control.close();
        let lines = all_lines(received).await;
        let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
        let counts =
            ["tools/list_changed", "prompts/list_changed", "resources/list_changed", "a://", "b://"].map(count);
        assert!(counts == [1; 5] && lines.len() == 5, "{lines:?}");
    }

    #[tokio::test]
    async fn unsubscribed_resource_is_not_delivered() {
        let (subscription, control, received) = subscribed();
        for change in [Change::ToolList, Change::PromptList, Change::ResourceUpdated("a://".into())] {
            subscription.changed(&change);
        }
        // One is in the outbox, one waits for room.
        tokio::task::yield_now().await;
        subscription.remove("a://");
        control.close();
        let lines = all_lines(received).await;
        assert!(lines.len() == 2 && !lines.concat().contains("a://"), "{lines:?}");
    }
}
