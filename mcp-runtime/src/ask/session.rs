//! Asking in a session: a request on the stream of the call that asks, and its answer when it comes.
//! <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use super::AskError;
use crate::call::control::ConnectionControl;
use crate::call::invocation::Invocation;
use crate::call::notifier::Notifier;
use crate::era::encode::notification;
use crate::jsonrpc::raw::Raw;
use crate::jsonrpc::{Id, Response};
use crate::sync::lock;

/// The requests of one connection that are not answered.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    table: Mutex<RequestTable>,
    /// What tells its ids from those of another replica.
    place: OnceLock<String>,
}

#[derive(Debug, Default)]
struct RequestTable {
    waiting: HashMap<u64, oneshot::Sender<Result<Value, AskError>>>,
    last: u64,
    /// Whether nobody can answer any more.
    closed: bool,
}

/// What the ids of our requests begin with.
const PREFIX: &str = "ask-";

impl PendingRequests {
    fn table(&self) -> MutexGuard<'_, RequestTable> {
        lock(&self.table)
    }

    /// Says that others ask the same client in the same session, and know nothing of each other.
    #[cfg(feature = "http")]
    pub(crate) fn are_not_alone(&self) {
        if let Ok(place) = crate::random::id() {
            let _ = self.place.set(format!("{}-", &place[..8]));
        }
    }

    fn id(&self, number: u64) -> String {
        format!("{PREFIX}{}{number}", self.place.get().map_or("", String::as_str))
    }

    /// The number in an id of ours, which is written in one way only.
    fn number(&self, id: Id<'_>) -> Option<u64> {
        let raw: Raw<'_> = serde_json::from_str(id.as_str()).ok()?;
        let id = raw.text()?;
        let number = id.rsplit('-').next()?.parse().ok()?;
        (*id == self.id(number)).then_some(number)
    }

    /// The number of a new request, and its answer when it comes.
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

    /// Forgets a request; false if it was answered.
    fn forget(&self, number: u64) -> bool {
        self.table().waiting.remove(&number).is_some()
    }

    /// Takes an answer to one of the requests; false if it is none.
    pub(crate) fn answered(&self, response: &Response<'_>) -> bool {
        self.settle(response.id, || read(response))
    }

    /// Takes what would be an answer to this request, but cannot be read.
    pub(crate) fn reject_unreadable(&self, id: Option<Id<'_>>, why: &str) {
        self.settle(id, || Err(AskError::Invalid(why.to_owned())));
    }

    fn settle(&self, id: Option<Id<'_>>, answer: impl FnOnce() -> Result<Value, AskError>) -> bool {
        let waiting = id.and_then(|id| self.number(id)).and_then(|number| self.table().waiting.remove(&number));
        // A call that was dropped meanwhile does not want it any more.
        waiting.map(|waiting| waiting.send(answer())).is_some()
    }

    /// Nobody is there to answer any more.
    pub(crate) fn close(&self) {
        let mut table = self.table();
        table.closed = true;
        table.waiting.clear();
    }
}

fn read(response: &Response<'_>) -> Result<Value, AskError> {
    let unreadable = || AskError::Invalid("the client's answer has neither a result nor an error".to_owned());
    match (response.result, response.error) {
        (Some(result), None) => serde_json::from_str(result.get()).map_err(|_| unreadable()),
        (_, Some(error)) => {
            let error: Value = serde_json::from_str(error.get()).map_err(|_| unreadable())?;
            let message =
                crate::jsonrpc::error::shorten(error["message"].as_str().unwrap_or("no reason given")).into_owned();
            Err(AskError::ClientError { code: error["code"].as_i64().unwrap_or_default(), message })
        }
        (None, None) => Err(unreadable()),
    }
}

/// A call's way to ask.
#[derive(Debug, Clone)]
pub(crate) struct SessionChannel {
    control: Arc<ConnectionControl>,
    notifier: Arc<Notifier>,
}

impl SessionChannel {
    /// The way of a caller's, if its client can be sent requests.
    pub(crate) fn of(invocation: &Invocation<'_>) -> Option<Self> {
        let can = !invocation.envelope.revision.asks_by_rounds() && invocation.channel.can_ask();
        let control = invocation.channel.control.filter(|_| can)?;
        Some(SessionChannel { control: Arc::clone(control), notifier: invocation.channel.notifier() })
    }

    pub(crate) async fn ask(&self, method: &str, params: &Value, limit: Duration) -> Result<Value, AskError> {
        let (number, answer) = self.control.asks.expect().ok_or(AskError::Disconnected)?;
        let asked = CancelOnDrop { exchange: self, number };
        let answer = async {
            self.notifier.send(notification::question(&self.control.asks.id(number), method, params)).await;
            answer.await.unwrap_or(Err(AskError::Disconnected))
        };
        let answer = tokio::time::timeout(limit, answer).await;
        drop(asked);
        answer.unwrap_or(Err(AskError::TimedOut(limit)))
    }
}

/// A request under way. If it is given up, the client is told.
struct CancelOnDrop<'a> {
    exchange: &'a SessionChannel,
    number: u64,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let asks = &self.exchange.control.asks;
        if asks.forget(self.number) {
            self.exchange.notifier.try_send(notification::request_cancelled(&asks.id(self.number)));
        }
    }
}
