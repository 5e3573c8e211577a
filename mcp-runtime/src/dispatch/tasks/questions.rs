//! The questions of a task, asked on the stream of a request that waits for its result.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#input-required-status>

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use crate::ask::{AskError, SessionChannel};
use crate::call::outbox::presence::Presence;
use crate::call::task_streams::WaitingStream;
use crate::era::encode::task::RELATED;
use crate::jsonrpc::error::RpcError;
use crate::outcome::Question;
use crate::server::core::Core;
use crate::store::TaskQuestion;
use crate::sync::BoxedTask;
use crate::task::change;
use crate::task::claims::{AskedElsewhere, QuestionClaim};

/// The questions of a task that were sent to a client that waits for its result.
pub(super) struct OpenQuestions {
    core: Arc<Core>,
    task: String,
    /// `None` if the client cannot be asked on this stream.
    channel: Option<SessionChannel>,
    presence: Option<Presence>,
    /// Has the task's notifications sent to this stream.
    _stream: Option<WaitingStream>,
    asked: Vec<Asked>,
    tasks: JoinSet<()>,
    /// A waiter that asks a question which this one does not.
    elsewhere: Option<AskedElsewhere>,
    releases: watch::Receiver<u64>,
}

/// A question that was sent, and the claim it was sent under.
struct Asked {
    key: String,
    claim: u64,
    task: AbortHandle,
}

impl OpenQuestions {
    pub(super) fn new(
        core: &Arc<Core>,
        task: &str,
        channel: Option<SessionChannel>,
        presence: Option<Presence>,
    ) -> Self {
        let stream = channel.as_ref().zip(presence.clone());
        OpenQuestions {
            _stream: stream.and_then(|(channel, presence)| channel.follow(task, presence)),
            core: Arc::clone(core),
            task: task.to_owned(),
            channel,
            presence,
            asked: Vec::new(),
            tasks: JoinSet::new(),
            elsewhere: None,
            releases: core.tasks.claims.releases(),
        }
    }

    /// Withdraws the questions that the task no longer asks, and those that another waiter has taken over.
    pub(super) async fn retain(&mut self, questions: &BTreeMap<String, TaskQuestion>) {
        let claims = &self.core.tasks.claims;
        self.asked.retain(|asked| {
            let is_lost = !asked.task.is_finished() && !claims.holds(&self.task, &asked.key, asked.claim);
            if is_lost || !questions.contains_key(&asked.key) {
                asked.task.abort();
            }
            !is_lost
        });
        if questions.is_empty() {
            // Their cancellations precede the result.
            self.tasks.shutdown().await;
        }
        while self.tasks.try_join_next().is_some() {}
    }

    /// Sends the questions that are new and that no other waiter asks. Returns false if the client cannot be asked.
    pub(super) fn ask(&mut self, questions: &BTreeMap<String, TaskQuestion>) -> bool {
        self.elsewhere = None;
        // Before the claims are looked at, so that no release is missed.
        self.releases.borrow_and_update();
        let Some(channel) = &self.channel else { return questions.is_empty() };
        for (key, question) in questions {
            if self.asked.iter().any(|asked| asked.key == *key) {
                continue;
            }
            match self.core.tasks.claims.claim(&self.task, key, self.presence.as_ref()) {
                Err(elsewhere) => self.elsewhere = Some(elsewhere),
                Ok(claim) => {
                    let number = claim.number();
                    let (channel, core, id) = (channel.clone(), Arc::clone(&self.core), self.task.clone());
                    let (name, question) = (key.clone(), question.clone());
                    let task: BoxedTask =
                        Box::pin(async move { ask(&channel, &core, &id, name, question, claim).await });
                    self.asked.push(Asked { key: key.clone(), claim: number, task: self.tasks.spawn(task) });
                }
            }
        }
        true
    }

    /// Waits until a question that another waiter asks may be free: that waiter has gone, or its client has.
    pub(super) async fn may_claim(&mut self) {
        let Some(AskedElsewhere(presence)) = &self.elsewhere else { return std::future::pending().await };
        // A client that is absent itself takes over nothing.
        let left = async {
            match (presence, &self.presence) {
                (Some(presence), Some(own)) if own.is_present() => presence.left().await,
                (Some(presence), None) => presence.left().await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.releases.changed() => {}
            () = left => {}
        }
    }
}

/// Asks a task's question on the stream of a client that waits for its result, and stores the answer.
async fn ask(
    channel: &SessionChannel,
    core: &Core,
    id: &str,
    key: String,
    question: TaskQuestion,
    // Released when the answer is stored, or there will be none.
    _claim: QuestionClaim,
) {
    let mut asked = question.clone();
    asked.params["_meta"][RELATED] = json!({"taskId": id});
    let answer = match channel.ask(&asked.method, &asked.params, core.limits.answer_timeout).await {
        Ok(answer) if Question::fits(&question.method, &answer) => answer,
        Ok(_) => refusal(RpcError::INVALID_PARAMS.into(), "the client's answer has the wrong shape"),
        Err(AskError::ClientError { code, message }) => refusal(code, &message),
        // The question stays open for the next `tasks/result`.
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
        tracing::error!("failed to store the answer to a question of a task");
    }
}

/// A client's error in place of an answer.
fn refusal(code: i64, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}})
}
