//! The rounds of a request that needs answers first, and the requests of a server in a session.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, Weak, mpsc};

use serde_json::{Map, Value, json};

use super::TestClient;
use super::replies::{Answers, advice};
use crate::error::{Result, ServerError};
use crate::jsonrpc::error::RpcError;
use crate::server::Server;
use crate::sync::lock;

/// Who asks more often will not stop.
const MAX_ROUNDS: usize = 100;

/// Makes the server of the next round.
pub(super) struct Fresh(pub(super) Box<dyn Fn() -> Server + Send + Sync>);

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fresh")
    }
}

impl TestClient {
    /// The result of a request that was made, after as many rounds as it takes, and the task it may become.
    pub(super) async fn settled(
        &self,
        method: &str,
        params: &Value,
        first: Result<Value, ServerError>,
    ) -> Result<Value, ServerError> {
        self.outcome(self.rounds(method, params, first).await?).await
    }

    /// The last answer to a request that was made, after as many rounds as it takes.
    pub(super) async fn rounds(
        &self,
        method: &str,
        params: &Value,
        first: Result<Value, ServerError>,
    ) -> Result<Settled, ServerError> {
        self.responder.raise();
        let mut settled = Settled { value: first?, other: None };
        if !self.identity.revision.is_stateless() {
            return Ok(settled);
        }
        for _ in 0..MAX_ROUNDS {
            if settled.value["resultType"] != "input_required" {
                return Ok(settled);
            }
            let params = next_round(params, &settled.value, &self.responder.answers)?;
            settled = self.round(method, params).await?;
        }
        Err(ServerError::msg(format!(
            "{method} still asks for more after {MAX_ROUNDS} rounds; does it read the answers?"
        )))
    }

    /// Makes the request once more, to another server if every round has its own.
    async fn round(&self, method: &str, params: Value) -> Result<Settled, ServerError> {
        let Some(Fresh(server)) = &self.fresh else {
            return Ok(Settled { value: self.request(method, params).await?, other: None });
        };
        let other = TestClient::serve(server(), self.identity.clone(), Arc::clone(&self.responder.answers));
        let answer = other.request(method, params).await;
        let is_task = answer.as_ref().is_ok_and(|answer| answer["resultType"] == "task");
        let (told, other) = if is_task { (other.inbox.unread(), Some(other)) } else { (other.close().await?, None) };
        // What the other server told, this client was told.
        for line in told {
            self.inbox.deliver(line);
        }
        Ok(Settled { value: answer?, other })
    }
}

/// A request's last answer. If it is a task at a server of its own, that server, which lives as long as
/// somebody may ask for the task.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) value: Value,
    pub(super) other: Option<TestClient>,
}

/// The parameters of the next round: the same, with the answers and the state as it came.
fn next_round(params: &Value, asked: &Value, answers: &Answers) -> Result<Value, ServerError> {
    let mut params = params.clone();
    if let Some(requests) = asked.get("inputRequests") {
        params["inputResponses"] = responses(requests, answers)?.into();
    }
    if let Some(state) = asked.get("requestState") {
        params["requestState"] = state.clone();
    }
    Ok(params)
}

/// The answers to requests, by key.
pub(super) fn responses(requests: &Value, answers: &Answers) -> Result<Map<String, Value>, ServerError> {
    let requests = requests.as_object().into_iter().flatten();
    requests.map(|(key, request)| Ok((key.clone(), response(key, request, answers)?))).collect()
}

fn response(key: &str, request: &Value, answers: &Answers) -> Result<Value, ServerError> {
    let method = request["method"].as_str().unwrap_or_default();
    answers.answer(method, &request["params"], Some(key)).ok_or_else(|| {
        let advice = advice(method);
        ServerError::msg(format!("the server asks `{method}` as `{key}`, which this client does not answer: {advice}"))
    })
}

/// Answers the requests a server makes in a session.
#[derive(Debug, Default)]
pub(super) struct Responder {
    pub(super) answers: Arc<Answers>,
    input: Weak<mpsc::Sender<Vec<u8>>>,
    panicked: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Responder {
    pub(super) fn new(answers: Arc<Answers>, input: &Arc<mpsc::Sender<Vec<u8>>>) -> Self {
        Responder { answers, input: Arc::downgrade(input), panicked: Mutex::default() }
    }

    /// Whether a message was a request, and has its answer now.
    pub(super) fn answered(&self, message: &Value) -> bool {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else { return false };
        let answer = || self.answers.answer(method, &message["params"], None);
        let response = match catch_unwind(AssertUnwindSafe(answer)) {
            Ok(None) => return false,
            Ok(Some(result)) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(panic) => {
                *self.panicked() = Some(panic);
                let error = RpcError::new(RpcError::INTERNAL, "the test's answer panicked");
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        // Without a client there is nobody to answer for.
        self.input.upgrade().is_some_and(|input| input.send(format!("{response}\n").into_bytes()).is_ok())
    }

    /// Goes on with the panic of an answer, where the test sees it: answers are made on a thread of
    /// the server, which must not end for that.
    pub(super) fn raise(&self) {
        let panic = self.panicked().take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    fn panicked(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        lock(&self.panicked)
    }
}
