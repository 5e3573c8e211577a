//! Asking in a session: a request to the client on the stream of the call that asks, and its response.
//! <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use serde_json::Value;
#[cfg(feature = "otel")]
use serde_json::json;
use tokio::sync::oneshot;

use super::AskError;
use crate::call::control::ConnectionControl;
use crate::call::invocation::Invocation;
use crate::call::notifier::Notifier;
use crate::call::outbox::presence::Presence;
use crate::call::task_streams::WaitingStream;
use crate::call::telemetry::watch::Watcher;
use crate::era::encode::notification;
use crate::jsonrpc::raw::Raw;
use crate::jsonrpc::{Id, Response};
use crate::observe::Outcome;
use crate::protocol::Revision;
use crate::sync::lock;

/// The server's requests on one connection that wait for their responses.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    table: Mutex<RequestTable>,
    /// Tells the ids of this replica from those of the others.
    replica: OnceLock<String>,
}

#[derive(Debug, Default)]
struct RequestTable {
    waiting: HashMap<u64, oneshot::Sender<Result<Value, AskError>>>,
    last: u64,
    /// Whether the client has disconnected.
    closed: bool,
}

/// The prefix of the ids of these requests.
const PREFIX: &str = "ask-";

impl PendingRequests {
    fn table(&self) -> MutexGuard<'_, RequestTable> {
        lock(&self.table)
    }

    /// Makes the ids unique among replicas, which ask the same client without knowing of each other.
    #[cfg(feature = "http")]
    pub(crate) fn make_ids_unique(&self) {
        if let Ok(replica) = crate::random::id() {
            let _ = self.replica.set(format!("{}-", &replica[..8]));
        }
    }

    fn id(&self, number: u64) -> String {
        format!("{PREFIX}{}{number}", self.replica.get().map_or("", String::as_str))
    }

    /// The number in one of these ids, which has one spelling only.
    fn number(&self, id: Id<'_>) -> Option<u64> {
        let raw: Raw<'_> = serde_json::from_str(id.as_str()).ok()?;
        let id = raw.text()?;
        let number = id.rsplit('-').next()?.parse().ok()?;
        (*id == self.id(number)).then_some(number)
    }

    /// Whether an id is of a request that another replica has sent.
    pub(crate) fn is_of_another(&self, id: Id<'_>) -> bool {
        let Some(own) = self.replica.get() else { return false };
        let Ok(raw) = serde_json::from_str::<Raw<'_>>(id.as_str()) else { return false };
        let Some(id) = raw.text() else { return false };
        let Some((tag, number)) = id.strip_prefix(PREFIX).and_then(|id| id.split_at_checked(own.len())) else {
            return false;
        };
        tag.ends_with('-') && tag != own && number.parse::<u64>().is_ok_and(|value| value.to_string() == number)
    }

    /// Whether a response is awaited.
    #[cfg(feature = "http")]
    pub(crate) fn is_waiting(&self) -> bool {
        !self.table().waiting.is_empty()
    }

    /// Registers a request: its number, and where its response arrives. `None` if the client has disconnected.
    fn expect(&self) -> Option<(u64, oneshot::Receiver<Result<Value, AskError>>)> {
        let mut table = self.table();
        if table.closed {
            return None;
        }
        let (sender, answer) = oneshot::channel();
        table.last += 1;
        let number = table.last;
        table.waiting.insert(number, sender);
        Some((number, answer))
    }

    /// Forgets a request. Returns false if the client has answered it.
    fn forget(&self, number: u64) -> bool {
        self.table().waiting.remove(&number).is_some()
    }

    /// Delivers a response. Returns false if it matches no pending request.
    pub(crate) fn answered(&self, response: &Response<'_>) -> bool {
        self.settle(response.id, &|| read(response))
    }

    /// Fails the request of this id: its response is unreadable.
    pub(crate) fn reject_unreadable(&self, id: Option<Id<'_>>, why: &str) {
        self.settle(id, &|| Err(AskError::Invalid(why.to_owned())));
    }

    fn settle(&self, id: Option<Id<'_>>, answer: &dyn Fn() -> Result<Value, AskError>) -> bool {
        let waiting = id.and_then(|id| self.number(id)).and_then(|number| self.table().waiting.remove(&number));
        // The receiver is gone if the call was dropped meanwhile.
        waiting.map(|waiting| waiting.send(answer())).is_some()
    }

    /// Fails all pending and future requests: the client has disconnected.
    pub(crate) fn close(&self) {
        let waiting = {
            let mut table = self.table();
            table.closed = true;
            std::mem::take(&mut table.waiting)
        };
        // Wakes the asks, which must not happen under the lock.
        drop(waiting);
    }
}

fn read(response: &Response<'_>) -> Result<Value, AskError> {
    let unreadable = || AskError::Invalid("the client's response has neither a result nor an error".to_owned());
    match (response.result, response.error) {
        (Some(result), None) => serde_json::from_str(result.get()).map_err(|_| unreadable()),
        (Some(_), Some(_)) => {
            Err(AskError::Invalid("the client's response has a result and an error; it must have one".to_owned()))
        }
        (None, Some(error)) => {
            let error: Value = serde_json::from_str(error.get()).map_err(|_| unreadable())?;
            let message =
                crate::jsonrpc::error::shorten(error["message"].as_str().unwrap_or("no reason given")).into_owned();
            Err(AskError::ClientError { code: error["code"].as_i64().unwrap_or_default(), message })
        }
        (None, None) => Err(unreadable()),
    }
}

/// A call's channel for requests to its client.
#[derive(Debug, Clone)]
pub(crate) struct SessionChannel {
    control: Arc<ConnectionControl>,
    notifier: Arc<Notifier>,
    /// Who is told of questions, if anybody is.
    watcher: Option<Arc<dyn Watcher>>,
    revision: Revision,
}

impl SessionChannel {
    /// The channel of a call, if its client accepts requests.
    pub(crate) fn of(invocation: &Invocation<'_>) -> Option<Self> {
        if invocation.envelope.revision.asks_by_rounds() || !invocation.channel.can_ask() {
            return None;
        }
        let control = invocation.channel.control?;
        Some(SessionChannel {
            control: Arc::clone(control),
            notifier: invocation.channel.notifier(),
            watcher: invocation.channel.core.watcher.clone(),
            revision: invocation.envelope.revision,
        })
    }

    /// Sends the notifications of a task to the stream of this call, for as long as the guard lives.
    pub(crate) fn follow(&self, task: &str, presence: Presence) -> Option<WaitingStream> {
        Some(WaitingStream::enter(&self.control.task_streams, task, self.notifier.own_queue()?.clone(), presence))
    }

    /// Sends a request, and waits for its response. Dropping the future cancels the request.
    pub(crate) async fn ask(&self, method: &str, params: &Value, limit: Duration) -> Result<Value, AskError> {
        let (number, answer) = self.control.pending_requests.expect().ok_or(AskError::Disconnected)?;
        let asked = CancelOnDrop { channel: self, number };
        let transport = || self.control.place().transport;
        let watched = self.watcher.as_ref().map(|watcher| watcher.question(method, self.revision, transport()));
        #[cfg(feature = "otel")]
        let continued = watched.as_ref().and_then(|watched| watched.traceparent()).map(|parent| {
            let mut params = params.as_object().cloned().unwrap_or_default();
            if let Some(meta) = params.entry("_meta").or_insert_with(|| json!({})).as_object_mut() {
                meta.insert("traceparent".to_owned(), parent.into());
            }
            Value::from(params)
        });
        #[cfg(feature = "otel")]
        let params = continued.as_ref().unwrap_or(params);
        let answer = async {
            self.notifier.send(notification::question(&self.control.pending_requests.id(number), method, params)).await;
            answer.await.unwrap_or(Err(AskError::Disconnected))
        };
        let answer = tokio::time::timeout(limit, answer).await;
        drop(asked);
        let answer = answer.unwrap_or(Err(AskError::TimedOut(limit)));
        if let Some(watched) = watched {
            let (outcome, code) = outcome(&answer);
            watched.finish(outcome, code);
        }
        answer
    }
}

/// What came of a question, for who watches.
fn outcome(answer: &Result<Value, AskError>) -> (Outcome, Option<i64>) {
    match answer {
        Ok(_) => (Outcome::Answered, None),
        Err(AskError::ClientError { code, .. }) => (Outcome::Error, Some(*code)),
        Err(AskError::TimedOut(_)) => (Outcome::TimedOut, None),
        Err(AskError::Disconnected) => (Outcome::ClientGone, None),
        Err(_) => (Outcome::Error, None),
    }
}

/// A pending request. Cancels it on drop, unless the client has answered.
struct CancelOnDrop<'a> {
    channel: &'a SessionChannel,
    number: u64,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let pending = &self.channel.control.pending_requests;
        if pending.forget(self.number) {
            self.channel.notifier.try_send(notification::request_cancelled(&pending.id(self.number)));
        }
    }
}
