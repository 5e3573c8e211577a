//! Answering the server's questions: in rounds of a stateless request, or as requests in a session.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, Weak, mpsc};
use std::thread;

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::TestClient;
use super::notifications::NotificationQueue;
use super::replies::{Replies, advice};
use crate::error::{Result, ServerError};
use crate::jsonrpc::error::RpcError;
use crate::server::Server;
use crate::sync::lock;

/// A request that needs more rounds is assumed never to finish.
const MAX_ROUNDS: usize = 100;

/// Creates the server for the next round.
pub(super) struct ServerFactory(pub(super) Box<dyn Fn() -> Server + Send + Sync>);

impl fmt::Debug for ServerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerFactory")
    }
}

impl TestClient {
    /// The final result of a request: runs further rounds after the first response, and waits for the task
    /// it may have become. The status of that task goes to `news`.
    pub(super) async fn settled(
        &self,
        method: &str,
        params: &Value,
        first: Result<Value, ServerError>,
        news: Option<&NotificationQueue>,
    ) -> Result<Value, ServerError> {
        self.outcome(self.rounds(method, params, first).await?, news).await
    }

    /// The last response to a request: runs further rounds after the first response.
    pub(super) async fn rounds(
        &self,
        method: &str,
        params: &Value,
        first: Result<Value, ServerError>,
    ) -> Result<Settled, ServerError> {
        self.responder.propagate_panic();
        let mut settled = Settled { value: first?, other: None };
        if !self.identity.revision.is_stateless() {
            return Ok(settled);
        }
        for _ in 0..MAX_ROUNDS {
            if settled.value["resultType"] != "input_required" {
                return Ok(settled);
            }
            let params = next_round(params, &settled.value, &self.responder.replies).await?;
            settled = self.round(method, params).await?;
        }
        Err(ServerError::msg(format!(
            "{method} still asks for more after {MAX_ROUNDS} rounds; does it read the answers?"
        )))
    }

    /// Repeats the request, to a new server if every round has its own.
    async fn round(&self, method: &str, params: Value) -> Result<Settled, ServerError> {
        let Some(ServerFactory(server)) = &self.new_server else {
            return Ok(Settled { value: self.request(method, params).await?, other: None });
        };
        let other = TestClient::serve(server(), self.identity.clone(), Arc::clone(&self.responder.replies));
        let answer = other.request(method, params).await;
        let is_task = answer.as_ref().is_ok_and(|answer| answer["resultType"] == "task");
        let (lines, other) = if is_task { (other.inbox.unread(), Some(other)) } else { (other.close().await?, None) };
        // Notifications of the other server count as this client's.
        for line in lines {
            self.inbox.deliver(line);
        }
        Ok(Settled { value: answer?, other })
    }
}

/// The last response to a request. `other` is the server of the round if the call became a task there; it
/// lives as long as the task may be polled.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) value: Value,
    pub(super) other: Option<TestClient>,
}

/// The parameters of the next round: the original ones, with the answers and the state as received.
async fn next_round(params: &Value, asked: &Value, replies: &Arc<Replies>) -> Result<Value, ServerError> {
    let mut params = params.clone();
    if let Some(requests) = asked.get("inputRequests") {
        params["inputResponses"] = responses(requests, replies).await?.into();
    }
    if let Some(state) = asked.get("requestState") {
        params["requestState"] = state.clone();
    }
    Ok(params)
}

/// The answers to input requests, by key. Those of a person are waited for on a thread of their own: until then the
/// caller can do something else, such as give up.
pub(super) async fn responses(requests: &Value, replies: &Arc<Replies>) -> Result<Map<String, Value>, ServerError> {
    if !replies.asks_a_person {
        return answers(requests, replies);
    }
    let (requests, replies) = (requests.clone(), Arc::clone(replies));
    let (answered, answer) = oneshot::channel();
    thread::spawn(move || {
        // The caller may have given up.
        let _ = answered.send(answers(&requests, &replies));
    });
    answer.await.unwrap_or_else(|_| Err(ServerError::msg("the question was not answered")))
}

fn answers(requests: &Value, replies: &Replies) -> Result<Map<String, Value>, ServerError> {
    let requests = requests.as_object().into_iter().flatten();
    requests.map(|(key, request)| Ok((key.clone(), response(key, request, replies)?))).collect()
}

fn response(key: &str, request: &Value, replies: &Replies) -> Result<Value, ServerError> {
    let method = request["method"].as_str().unwrap_or_default();
    replies.reply(method, &request["params"], Some(key)).ok_or_else(|| {
        let advice = advice(method);
        ServerError::msg(format!("the server asks `{method}` as `{key}`, which this client does not answer: {advice}"))
    })
}

/// Replies the server's requests in a session.
#[derive(Debug, Default)]
pub(super) struct Responder {
    pub(super) replies: Arc<Replies>,
    input: Weak<mpsc::Sender<Vec<u8>>>,
    panicked: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Responder {
    pub(super) fn new(replies: Arc<Replies>, input: &Arc<mpsc::Sender<Vec<u8>>>) -> Self {
        Responder { replies, input: Arc::downgrade(input), panicked: Mutex::default() }
    }

    /// Responds to a message if it is a request this client answers. Whether it was.
    pub(super) fn respond(&self, message: &Value) -> bool {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else { return false };
        if self.replies.asks_a_person && self.replies.knows(method) {
            self.respond_beside(method, id, &message["params"]);
            return true;
        }
        let answer = || self.replies.reply(method, &message["params"], None);
        let response = match catch_unwind(AssertUnwindSafe(answer)) {
            Ok(None) => return false,
            Ok(Some(result)) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(panic) => {
                *self.panicked() = Some(panic);
                let error = RpcError::new(RpcError::INTERNAL, "the test's reply function panicked");
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        deliver(&self.input, &response)
    }

    /// Responds when the person has answered; messages are read meanwhile.
    fn respond_beside(&self, method: &str, id: &Value, params: &Value) {
        let (replies, input) = (Arc::clone(&self.replies), Weak::clone(&self.input));
        let (method, id, params) = (method.to_owned(), id.clone(), params.clone());
        thread::spawn(move || {
            if let Some(result) = replies.reply(&method, &params, None) {
                deliver(&input, &json!({"jsonrpc": "2.0", "id": id, "result": result}));
            }
        });
    }

    /// Resumes the panic of a reply function on the test's own thread. Replies run on a thread of the
    /// server, which must survive.
    pub(super) fn propagate_panic(&self) {
        let panic = self.panicked().take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    fn panicked(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        lock(&self.panicked)
    }
}

/// Sends a message to the server. Whether the client still exists.
fn deliver(input: &Weak<mpsc::Sender<Vec<u8>>>, message: &Value) -> bool {
    input.upgrade().is_some_and(|input| input.send(format!("{message}\n").into_bytes()).is_ok())
}
