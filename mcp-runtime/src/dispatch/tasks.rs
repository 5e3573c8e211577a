//! What clients ask of tasks: where one is, what came of it, to go on with an answer, to end it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};

use super::router::{Router, string};
use crate::ask::{AskError, SessionChannel, read_responses};
use crate::era::encode::task::RELATED;
use crate::era::{Accepted, Method, TaskNegotiation};
use crate::jsonrpc::error::{RpcError, shorten};
use crate::jsonrpc::object::JsonStr;
use crate::outcome::{Failure, Outcome, Question, Reply, Step};
use crate::protocol::Revision;
use crate::server::core::Core;
use crate::store::{TaskOutcome, TaskQuestion, TaskRecord, TaskStatus, with_timeout};
use crate::task::watch::TaskWatch;
use crate::task::{change, declared, load, unavailable};

/// Who asks for which task.
struct TaskRequest {
    core: Arc<Core>,
    id: String,
    owner: Option<String>,
    revision: Revision,
}

/// Takes one of the methods.
pub(crate) fn method(router: &Router<'_>, call: &Accepted<'_>) -> Result<Step, Failure> {
    declared(&router.invocation).map_err(Failure::MissingCapability)?;
    let channel = router.invocation.channel;
    let owner = channel.principal().map(ToString::to_string);
    let (core, revision) = (Arc::clone(channel.core), router.invocation.envelope.revision);
    if call.method == Method::TasksList {
        let cursor = call.params.get("cursor").filter(|cursor| cursor.get() != "null");
        return match owner {
            // All of them are on the first page.
            Some(_) if cursor.is_some() => Err(RpcError::invalid_params("Invalid params: unknown `cursor`").into()),
            Some(owner) => Ok(Step::Future(Box::pin(list(core, owner)))),
            // They could be anybody's.
            None => Err(crate::era::unknown_method(call.method.name()).into()),
        };
    }
    let JsonStr(id) = string(&call.params, "taskId")?;
    let asked = TaskRequest { core, id: id.into_owned(), owner, revision };
    Ok(Step::Future(match call.method {
        Method::TasksUpdate => {
            let answers = responses(call)?;
            Box::pin(async move { asked.update(answers).await })
        }
        Method::TasksCancel => Box::pin(async move { asked.cancel().await }),
        Method::TasksResult => {
            let exchange = SessionChannel::of(&router.invocation);
            Box::pin(async move { asked.result(exchange).await })
        }
        _ => Box::pin(async move { asked.task().await.map(|task| Reply::Task(Box::new(task))) }),
    }))
}

async fn list(core: Arc<Core>, owner: String) -> Outcome {
    let all = with_timeout(core.limits.store_timeout, "tasks", core.tasks.store.list(Some(&owner)));
    let mut all = all.await.map_err(unavailable)?;
    all.retain(|task| task.revision.task_negotiation() == TaskNegotiation::ByClient);
    Ok(Reply::Tasks(all))
}

/// The answers of a `tasks/update`, without those that are malformed.
fn responses(call: &Accepted<'_>) -> Result<Vec<(String, Value)>, RpcError> {
    let raw = call.params.get("inputResponses");
    let raw = raw.ok_or_else(|| RpcError::wrong_field("inputResponses", "object", "missing"))?;
    Ok(read_responses(raw)?.into_iter().flatten().collect())
}

impl TaskRequest {
    /// The task, if it is there and theirs: one that is not theirs is not there.
    async fn task(&self) -> Result<TaskRecord, Failure> {
        let task = load(&self.core, &self.id).await.map_err(unavailable)?;
        let theirs = |task: &TaskRecord| {
            task.owner == self.owner && task.revision.task_negotiation() == self.revision.task_negotiation()
        };
        task.filter(theirs).ok_or_else(|| {
            let text = format!("Unknown task: {}; it may be over for too long", shorten(&self.id));
            RpcError::invalid_params(text).with_data(json!({"taskId": shorten(&self.id)})).into()
        })
    }

    /// Gives it answers. What was not asked, or has been answered, is ignored, and what is no answer.
    async fn update(self, answers: Vec<(String, Value)>) -> Outcome {
        self.task().await?;
        let done = change(&self.core, &self.id, |task| {
            let mut taken = false;
            for (key, answer) in &answers {
                let fits = |question: &TaskQuestion| Question::fits(&question.method, answer);
                if task.questions.get(key).is_some_and(fits) {
                    task.questions.remove(key);
                    task.answers.insert(key.clone(), answer.clone());
                    taken = true;
                }
            }
            taken
        });
        done.await.map_err(unavailable)?;
        Ok(Reply::Acknowledged)
    }

    /// Ends it. Where the client is told what became of it, one that was over is an error.
    async fn cancel(self) -> Outcome {
        self.task().await?;
        let ended = change(&self.core, &self.id, |task| {
            (task.status, task.status_message) = (TaskStatus::Cancelled, Some("the client cancelled it".to_owned()));
            task.questions.clear();
            task.answers.clear();
            true
        });
        match (ended.await.map_err(unavailable)?, self.revision.task_negotiation()) {
            (_, TaskNegotiation::ByServer) => Ok(Reply::Acknowledged),
            (Some(task), _) => Ok(Reply::Task(Box::new(task))),
            (None, _) => Err(RpcError::invalid_params("This task is over; it cannot be cancelled any more").into()),
        }
    }

    /// What came of it, when it is over. Meanwhile its questions are asked here.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#input-required-status>
    async fn result(self, exchange: Option<SessionChannel>) -> Outcome {
        let watch = TaskWatch::over(&self.core, &self.id);
        let mut news = watch.news();
        let mut asking = Asking { asked: HashMap::new(), tasks: JoinSet::new() };
        loop {
            news.borrow_and_update();
            let task = self.task().await?;
            asking.keep(&task.questions).await;
            if task.status.is_over() {
                return concluded(task);
            }
            match &exchange {
                Some(exchange) => asking.ask(exchange, &self, &task.questions),
                None if task.questions.is_empty() => {}
                None => {
                    let text = "this task waits for an answer; ask for its result with `Accept: text/event-stream`";
                    return Err(RpcError::invalid_request(text).into());
                }
            }
            // Nobody tells that its time is over.
            let _ = tokio::time::timeout(task.left(), TaskWatch::happens(&mut news)).await;
        }
    }
}

/// The questions of a task that somebody is asked who waits for it.
struct Asking {
    asked: HashMap<String, AbortHandle>,
    tasks: JoinSet<()>,
}

impl Asking {
    /// Takes back what is not asked any more.
    async fn keep(&mut self, questions: &BTreeMap<String, TaskQuestion>) {
        for (_, asked) in self.asked.iter().filter(|(key, asked)| !questions.contains_key(*key) && !asked.is_finished())
        {
            asked.abort();
        }
        if questions.is_empty() {
            // Before anything else is said.
            self.tasks.shutdown().await;
        }
        while self.tasks.try_join_next().is_some() {}
    }

    /// Asks what was not asked here before.
    fn ask(&mut self, exchange: &SessionChannel, asked: &TaskRequest, questions: &BTreeMap<String, TaskQuestion>) {
        for (key, question) in questions {
            if !self.asked.contains_key(key) {
                let (exchange, core, id) = (exchange.clone(), Arc::clone(&asked.core), asked.id.clone());
                let (name, question) = (key.clone(), question.clone());
                let task = self.tasks.spawn(async move { ask(&exchange, &core, &id, name, question).await });
                self.asked.insert(key.clone(), task);
            }
        }
    }
}

/// Asks a question of a task's on the stream of whoever waits for it. The first answer counts.
async fn ask(exchange: &SessionChannel, core: &Core, id: &str, key: String, question: TaskQuestion) {
    let mut asked = question.clone();
    asked.params["_meta"][RELATED] = json!({"taskId": id});
    let answer = match exchange.ask(&asked.method, &asked.params, core.limits.answer_timeout).await {
        Ok(answer) if Question::fits(&question.method, &answer) => answer,
        Ok(_) => refusal(RpcError::INVALID_PARAMS.into(), "the client's answer has no form of one"),
        Err(AskError::ClientError { code, message }) => refusal(code, &message),
        // Whoever waits next is asked.
        Err(_) => return,
    };
    let given = change(core, id, |task| {
        let open = task.questions.remove(&key).is_some();
        if open {
            task.answers.insert(key.clone(), answer.clone());
        }
        open
    });
    if given.await.is_err() {
        tracing::error!(task = id, "an answer to a task could not be kept");
    }
}

/// A client's error, in the place of an answer.
fn refusal(code: i64, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}})
}

/// Exactly what the call would have been answered, and which task that was.
fn concluded(task: TaskRecord) -> Outcome {
    match task.outcome {
        Some(TaskOutcome::Result(mut result)) => {
            result["_meta"][RELATED] = json!({"taskId": task.id});
            Ok(Reply::Rendered(result))
        }
        Some(TaskOutcome::Error(error)) => match serde_json::from_value(error) {
            Ok(error) => Err(Failure::Protocol(error)),
            Err(_) => Err(Failure::Panicked),
        },
        None => Err(RpcError::invalid_params("This task was cancelled; nothing came of it").into()),
    }
}
