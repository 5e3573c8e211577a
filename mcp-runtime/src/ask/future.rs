//! An ask, from the line that makes it to its answer.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};
use std::time::Duration;

use serde_json::Value;

use super::{AskError, Dialogue};
use crate::call::context::Context;
use crate::call::notifier::Notifier;
use crate::era::encode::notification;
use crate::outcome::Question;
use crate::protocol::Revision;

type Decode<T> = Box<dyn FnOnce(Value) -> Result<T, AskError> + Send>;
type AnswerFuture<T> = Pin<Box<dyn Future<Output = Result<T, AskError>> + Send>>;

/// A question to the client; awaited, its answer. Several at once (`tokio::join!`) are asked together.
#[must_use = "nobody is asked until it is awaited"]
pub struct Ask<T>(AskState<T>);

enum AskState<T> {
    Planned(Plan<T>),
    Asked(AnswerFuture<T>),
    Over,
}

struct Plan<T> {
    dialogue: Arc<Dialogue>,
    question: Result<Question, AskError>,
    key: String,
    limit: Option<Duration>,
    decode: Decode<T>,
}

impl<T: 'static> Ask<T> {
    pub(super) fn new(
        dialogue: &Arc<Dialogue>,
        question: Result<Question, AskError>,
        decode: impl FnOnce(Value) -> Result<T, AskError> + Send + 'static,
    ) -> Self {
        let (dialogue, key) = (Arc::clone(dialogue), dialogue.next_key());
        Ask(AskState::Planned(Plan { dialogue, question, key, limit: None, decode: Box::new(decode) }))
    }

    /// Names it. Without, it goes by its place among the questions of the call; with a name, the order
    /// may differ from one run to the next. No two of a call have the same.
    pub fn key(self, key: impl Into<String>) -> Self {
        self.plan(|plan| plan.key = key.into())
    }

    /// Waits so long for an answer, in a session; without, [`Limits::answer_timeout`](crate::Limits::answer_timeout).
    pub fn timeout(self, limit: Duration) -> Self {
        self.plan(|plan| plan.limit = Some(limit))
    }

    fn plan(mut self, change: impl FnOnce(&mut Plan<T>)) -> Self {
        if let AskState::Planned(plan) = &mut self.0 {
            change(plan);
        }
        self
    }
}

impl<T: 'static> Plan<T> {
    fn begin(self) -> AnswerFuture<T> {
        let Plan { dialogue, question, key, limit, decode } = self;
        Box::pin(async move { decode(dialogue.ask(&key, question?, limit).await?) })
    }
}

// What it holds is not pinned.
impl<T> Unpin for Ask<T> {}

impl<T: 'static> Future for Ask<T> {
    type Output = Result<T, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Self::Output> {
        if let AskState::Planned(_) = self.0
            && let AskState::Planned(plan) = std::mem::replace(&mut self.0, AskState::Over)
        {
            self.0 = AskState::Asked(plan.begin());
        }
        let AskState::Asked(answer) = &mut self.0 else { panic!("an ask was polled after it was answered") };
        let answer = answer.as_mut().poll(cx);
        if answer.is_ready() {
            self.0 = AskState::Over;
        }
        answer
    }
}

impl<T> fmt::Debug for Ask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            AskState::Planned(plan) => f.debug_struct("Ask").field("key", &plan.key).finish_non_exhaustive(),
            AskState::Asked(_) | AskState::Over => f.write_str("Ask"),
        }
    }
}

/// Somebody agreed to visit a page, from [`Context::elicit_url`].
#[derive(Debug, Clone)]
pub struct UrlElicitation {
    id: String,
    notifier: Arc<Notifier>,
    revision: Revision,
}

impl UrlElicitation {
    pub(super) fn new(context: &Context, id: String) -> Self {
        UrlElicitation { id, notifier: Arc::clone(&context.notifier), revision: context.revision() }
    }

    /// Tells the client that what had to be done at the page is done. Only 2025-11-25 has a message for
    /// that; for other clients nothing happens.
    pub async fn complete(&self) {
        if self.revision.has_elicitation_ids() {
            self.notifier.send(notification::elicitation_complete(&self.id)).await;
        }
    }
}
