//! `Ask`, the future of an answer.

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

/// A question to the client, from [`Context::elicit`], [`elicit_url`](Context::elicit_url),
/// [`sample`](Context::sample) or [`list_roots`](Context::list_roots).
///
/// `Ask` is a future: it asks when it is first polled, and resolves to the answer or an [`AskError`]. Dropping
/// it withdraws the question. Several asks in a `tokio::join!` are asked at the same time, which saves a round
/// in 2026-07-28.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use std::time::Duration;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Confirm { /** Go ahead? */ sure: bool }
///
/// /// Move files into the first root.
/// #[tool]
/// async fn tidy_up(ctx: &Context) -> Result<String> {
///     let confirm = ctx.elicit::<Confirm>("Tidy up?").key("confirm").timeout(Duration::from_secs(60));
///     let (confirm, roots) = tokio::join!(confirm, ctx.list_roots());
///     let (confirm, roots) = (confirm?, roots?);
///     Ok(if confirm.sure { format!("tidied up {} roots", roots.len()) } else { "nothing done".to_owned() })
/// }
/// ```
#[must_use = "an `Ask` does nothing until it is awaited"]
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

    /// Sets the key that matches this ask with its answer when the handler runs again.
    ///
    /// By default, asks are matched by their order in the handler. Set a key where the order may differ from
    /// one run to the next, as in a loop over a set. Keys are unique in a call: a second ask with the same key
    /// fails with [`AskError::Misused`].
    pub fn key(self, key: impl Into<String>) -> Self {
        self.plan(|plan| plan.key = key.into())
    }

    /// Sets how long to wait for the answer, instead of [`Limits::answer_timeout`](crate::Limits::answer_timeout).
    /// After that, the ask fails with [`AskError::TimedOut`].
    ///
    /// It applies to sessions and tasks. Between the rounds of 2026-07-28 no handler waits, and the state that
    /// the client carries expires after `Limits::answer_timeout`.
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

// The future inside is boxed; nothing else is pinned.
impl<T> Unpin for Ask<T> {}

impl<T: 'static> Future for Ask<T> {
    type Output = Result<T, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Self::Output> {
        if let AskState::Planned(_) = self.0
            && let AskState::Planned(plan) = std::mem::replace(&mut self.0, AskState::Over)
        {
            self.0 = AskState::Asked(plan.begin());
        }
        let AskState::Asked(answer) = &mut self.0 else { panic!("`Ask` polled after completion") };
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

/// The user's consent to visit a page, from [`Context::elicit_url`].
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

    /// Notifies the client that the user is done with the page. Only 2025-11-25 has a notification for that;
    /// with other revisions, nothing happens.
    pub async fn complete(&self) {
        if self.revision.has_elicitation_ids() {
            self.notifier.send(notification::elicitation_complete(&self.id)).await;
        }
    }
}
