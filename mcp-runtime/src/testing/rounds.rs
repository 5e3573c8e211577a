//! The rounds of a request that needs answers first, and the requests of a server in a session.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};

use serde_json::{Map, Value, json};

use super::TestClient;
use super::asks::{Answers, advice};
use crate::error::{Error, Result, RpcError};
use crate::server::Server;

/// Who asks more often will not stop.
const MAX_ROUNDS: usize = 32;

/// Makes the server of the next round.
pub(super) struct Fresh(pub(super) Box<dyn Fn() -> Server + Send + Sync>);

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fresh")
    }
}

impl TestClient {
    /// The result of a request that was made, after as many rounds as it takes.
    pub(super) async fn settled(&self, method: &str, params: &Value, first: Result<Value>) -> Result<Value> {
        self.responder.raise();
        let mut result = first?;
        if !self.identity.revision.is_modern() {
            return Ok(result);
        }
        for _ in 0..MAX_ROUNDS {
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            result = self.round(method, next_round(params, &result, &self.responder.answers)?).await?;
        }
        Err(Error::tool(format!("{method} still asks for more after {MAX_ROUNDS} rounds; does it read the answers?")))
    }

    /// Makes the request once more, to another server if every round has its own.
    async fn round(&self, method: &str, params: Value) -> Result<Value> {
        let Some(Fresh(server)) = &self.fresh else { return self.request(method, params).await };
        let other = TestClient::serve(server(), self.identity.clone(), Arc::clone(&self.responder.answers));
        let result = other.request(method, params).await;
        // What the other server told, this client was told.
        other.close().await?.into_iter().for_each(|line| self.inbox.deliver(line));
        result
    }
}

/// The parameters of the next round: the same, with the answers and the state as it came.
fn next_round(params: &Value, asked: &Value, answers: &Answers) -> Result<Value> {
    let mut params = params.clone();
    if let Some(requests) = asked.get("inputRequests").and_then(Value::as_object) {
        let responses = requests.iter().map(|(key, request)| Ok((key.clone(), response(key, request, answers)?)));
        params["inputResponses"] = responses.collect::<Result<Map<_, _>>>()?.into();
    }
    if let Some(state) = asked.get("requestState") {
        params["requestState"] = state.clone();
    }
    Ok(params)
}

fn response(key: &str, request: &Value, answers: &Answers) -> Result<Value> {
    let method = request["method"].as_str().unwrap_or_default();
    answers.answer(method, &request["params"], Some(key)).ok_or_else(|| {
        let advice = advice(method);
        Error::tool(format!("the server asks `{method}` as `{key}`, which this client does not answer: {advice}"))
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
    fn raise(&self) {
        let panic = self.panicked().take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    fn panicked(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        self.panicked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
