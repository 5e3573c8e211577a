//! The methods `tasks/get`, `tasks/result`, `tasks/update`, `tasks/cancel` and `tasks/list`; `questions` are those of a task,
//! `takeover` runs the tasks of other replicas.

mod questions;
#[cfg(feature = "http")]
pub(crate) mod takeover;

use std::sync::Arc;

use serde_json::{Value, json};

use self::questions::OpenQuestions;
use super::router::Router;
use crate::ask::{SessionChannel, read_responses};
#[cfg(feature = "auth")]
use crate::auth::access::Access;
use crate::call::outbox::presence::Presence;
use crate::era::encode::task::RELATED;
use crate::era::{Accepted, Method, TaskNegotiation};
use crate::jsonrpc::error::{RpcError, shorten};
use crate::outcome::{Failure, Outcome, Question, Reply, Step};
use crate::protocol::Revision;
use crate::server::core::Core;
use crate::store::{TaskOutcome, TaskQuestion, TaskRecord, TaskStatus, with_timeout};
use crate::task::watch::TaskWatch;
use crate::task::{change, declared, load, mark_fetched, unavailable};

/// A request about one task.
struct TaskRequest {
    core: Arc<Core>,
    id: String,
    /// The caller's principal. Only the owner has access to a task.
    owner: Option<String>,
    /// What the caller may do.
    #[cfg(feature = "auth")]
    access: Option<Access>,
    revision: Revision,
}

/// Starts one of the methods.
pub(crate) fn method(router: &Router<'_>, call: &Accepted<'_>) -> Result<Step, Failure> {
    declared(router.invocation).map_err(Failure::MissingCapability)?;
    let channel = router.invocation.channel;
    let owner = channel.principal().map(ToString::to_string);
    let (core, revision) = (Arc::clone(channel.core), router.invocation.envelope.revision);
    if call.method == Method::TasksList {
        let cursor = call.params.get("cursor").filter(|cursor| cursor.get() != "null");
        return match owner {
            // There is one page.
            Some(_) if cursor.is_some() => Err(RpcError::invalid_params("Invalid params: unknown `cursor`").into()),
            #[cfg(feature = "auth")]
            Some(owner) => Ok(Step::Future(Box::pin(list(core, owner, channel.access().cloned())))),
            #[cfg(not(feature = "auth"))]
            Some(owner) => Ok(Step::Future(Box::pin(list(core, owner)))),
            // Anonymous callers share one owner: a list would show them each other's tasks.
            None => Err(crate::era::unknown_method(call.method.name()).into()),
        };
    }
    let id = call.params.string("taskId")?;
    let request = TaskRequest {
        core,
        id: id.into_owned(),
        owner,
        #[cfg(feature = "auth")]
        access: channel.access().cloned(),
        revision,
    };
    Ok(Step::Future(match call.method {
        Method::TasksUpdate => {
            let answers = responses(call)?;
            Box::pin(async move { request.update(answers).await })
        }
        Method::TasksCancel => Box::pin(async move { request.cancel().await }),
        Method::TasksResult => {
            let channel = SessionChannel::of(router.invocation);
            let presence = router.invocation.channel.presence();
            Box::pin(async move { request.result(channel, presence).await })
        }
        _ => Box::pin(async move { request.get().await }),
    }))
}

/// All tasks of an owner, but those whose scopes the caller lacks: their ids would be worth nothing.
async fn list(core: Arc<Core>, owner: String, #[cfg(feature = "auth")] access: Option<Access>) -> Outcome {
    let all = with_timeout(core.limits.store_timeout, "tasks", core.tasks.store.list(Some(&owner)));
    let mut all = all.await.map_err(unavailable)?;
    all.retain(|task| task.revision.task_negotiation() == TaskNegotiation::ByClient);
    #[cfg(feature = "auth")]
    all.retain(|task| task.permit(access.as_ref()).is_ok());
    Ok(Reply::Tasks(all))
}

/// The scopes of the tool whose task this is, if it is the owner's.
#[cfg(all(feature = "auth", feature = "http"))]
pub(crate) async fn scopes(core: &Core, id: &str, owner: Option<&str>) -> Vec<Box<str>> {
    let task = load(core, id).await.ok().flatten().filter(|task| task.owner.as_deref() == owner);
    task.map_or_else(Vec::new, |task| task.scopes.into_iter().map(String::into_boxed_str).collect())
}

/// The answers of a `tasks/update`.
fn responses(call: &Accepted<'_>) -> Result<Vec<(String, Value)>, RpcError> {
    let raw = call.params.get("inputResponses");
    let raw = raw.ok_or_else(|| RpcError::wrong_field("inputResponses", "object", "missing"))?;
    read_responses(raw)
}

impl TaskRequest {
    /// The task. A task of another principal is unknown.
    async fn task(&self) -> Result<TaskRecord, Failure> {
        let task = load(&self.core, &self.id).await.map_err(unavailable)?;
        let accessible = |task: &TaskRecord| {
            task.owner == self.owner && task.revision.task_negotiation() == self.revision.task_negotiation()
        };
        let task = task.filter(accessible).ok_or_else(|| {
            let text = format!("Unknown task: {}; it may have expired", shorten(&self.id));
            RpcError::invalid_params(text).with_data(json!({"taskId": shorten(&self.id)}))
        })?;
        #[cfg(feature = "auth")]
        task.permit(self.access.as_ref()).map_err(Failure::Forbidden)?;
        Ok(task)
    }

    /// Returns the task, in the extension with its outcome.
    async fn get(self) -> Outcome {
        let task = self.task().await?;
        if self.revision.task_negotiation() == TaskNegotiation::ByServer {
            mark_fetched(&self.core, &task).await;
        }
        Ok(Reply::Task(Box::new(task)))
    }

    /// Delivers answers. Unknown keys and questions that were answered before are ignored. If an answer has the wrong
    /// shape for its question, none is delivered and the questions stay open: a client that has answered once would
    /// not answer again.
    async fn update(self, answers: Vec<(String, Value)>) -> Outcome {
        self.task().await?;
        let mut malformed = None;
        let done = change(&self.core, &self.id, |task| {
            malformed = answers.iter().find_map(|(key, answer)| mismatch(key, answer, task.questions.get(key)?));
            let mut changed = false;
            for (key, answer) in answers.iter().filter(|_| malformed.is_none()) {
                if task.questions.remove(key).is_some() {
                    task.answers.insert(key.clone(), answer.clone());
                    changed = true;
                }
            }
            changed
        });
        done.await.map_err(unavailable)?;
        malformed.map_or(Ok(Reply::Acknowledged), |error| Err(error.into()))
    }

    /// Cancels the task. In 2025-11-25, cancelling a task that has ended is an error.
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
            (None, _) => Err(RpcError::invalid_params("This task has ended and cannot be cancelled").into()),
        }
    }

    /// Waits until the task has ended, and returns its outcome. Its questions are asked on this request's stream, which
    /// also carries its notifications.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#input-required-status>
    async fn result(self, channel: Option<SessionChannel>, presence: Option<Presence>) -> Outcome {
        let watch = TaskWatch::over(&self.core, &self.id);
        let mut news = watch.news();
        let mut asking = OpenQuestions::new(&self.core, &self.id, channel, presence);
        loop {
            news.borrow_and_update();
            let task = self.task().await?;
            asking.retain(&task.questions).await;
            if task.status.is_over() {
                mark_fetched(&self.core, &task).await;
                return concluded(task);
            }
            if !asking.ask(&task.questions) {
                let text = "the task waits for an answer; request its result with `Accept: text/event-stream`";
                return Err(RpcError::invalid_request(text).into());
            }
            tokio::select! {
                // Expiry sends no notification.
                _ = tokio::time::timeout(task.remaining(), TaskWatch::happens(&mut news)) => {}
                () = asking.may_claim() => {}
            }
        }
    }
}

/// What is wrong with an answer to a question, if it has the wrong shape.
fn mismatch(key: &str, answer: &Value, question: &TaskQuestion) -> Option<RpcError> {
    if Question::fits(&question.method, answer) {
        return None;
    }
    let (field, expected) = (format!("inputResponses.{}", shorten(key)), Question::shape(&question.method));
    let text = format!("Invalid params: `{field}` does not answer `{}`: send {expected}", question.method);
    Some(RpcError::invalid_params(text).with_data(json!({"field": field, "expected": expected})))
}

/// The response that the call would have had, with the id of its task.
fn concluded(task: TaskRecord) -> Outcome {
    match task.outcome {
        Some(TaskOutcome::Result(mut result)) => {
            result["_meta"][RELATED] = json!({"taskId": task.id});
            Ok(Reply::Rendered(Box::new(result)))
        }
        Some(TaskOutcome::Error(error)) => match RpcError::of_json(&error) {
            Some(error) => Err(Failure::Protocol(error)),
            None => Err(Failure::Panicked),
        },
        None => Err(RpcError::invalid_params("This task was cancelled; it has no result").into()),
    }
}
