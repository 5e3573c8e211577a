//! `Ask`, the future of an answer.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};
use std::time::Duration;

use serde_json::Value;

use super::question::Posed;
use super::{AskError, Dialogue};
use crate::outcome::Question;

/// Makes the question, for the key of the ask.
type Pose = Box<dyn FnOnce(&str) -> Result<Question, AskError> + Send>;
/// Reads an answer, to the ask with this key.
type Decode<T> = Box<dyn Fn(&str, Value) -> Result<T, AskError> + Send>;
type AnswerFuture<T> = Pin<Box<dyn Future<Output = Result<T, AskError>> + Send>>;

/// A question to the client, from [`Context::elicit`](crate::Context::elicit),
/// [`elicit_url`](crate::Context::elicit_url), [`sample`](crate::Context::sample) or
/// [`list_roots`](crate::Context::list_roots).
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
    question: Pose,
    key: String,
    limit: Option<Duration>,
    retries: usize,
    decode: Decode<T>,
}

impl<T: 'static> Ask<T> {
    pub(super) fn new(
        dialogue: &Arc<Dialogue>,
        question: impl FnOnce(&str) -> Result<Question, AskError> + Send + 'static,
        decode: impl Fn(&str, Value) -> Result<T, AskError> + Send + 'static,
    ) -> Self {
        let (dialogue, key) = (Arc::clone(dialogue), dialogue.next_key());
        let (question, decode) = (Box::new(question), Box::new(decode));
        Ask(AskState::Planned(Plan { dialogue, question, key, limit: None, retries: 0, decode }))
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
    /// It means the same in every revision. Between the rounds of 2026-07-28 no handler waits: a client that
    /// retries the call too late has its answer ignored, and the handler gets the error then.
    pub fn timeout(self, limit: Duration) -> Self {
        self.plan(|plan| plan.limit = Some(limit))
    }

    /// Checks the answer with `check`, which returns what is wrong with it, in words for the user.
    ///
    /// An answer that fails the check is asked for again, as often as [`retries`](Self::retries) says, with a message
    /// that tells what was wrong. After that, the ask fails with [`AskError::Invalid`].
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Stay { nights: u8, guests: u8 }
    ///
    /// /// Book a room.
    /// #[tool]
    /// async fn book(ctx: &Context) -> Result<String> {
    ///     let room = |stay: &Stay| if stay.guests > 4 { Err("our rooms have four beds") } else { Ok(()) };
    ///     let stay: Stay = ctx.elicit("How long, and how many?").validate(room).retries(2).await?;
    ///     Ok(format!("{} nights for {}", stay.nights, stay.guests))
    /// }
    /// ```
    pub fn validate<E: fmt::Display>(self, check: impl Fn(&T) -> Result<(), E> + Send + 'static) -> Self {
        let AskState::Planned(plan) = self.0 else { return self };
        let before = plan.decode;
        let decode = move |key: &str, answer| {
            let value = before(key, answer)?;
            check(&value).map_err(|wrong| AskError::Invalid(wrong.to_string()))?;
            Ok(value)
        };
        Ask(AskState::Planned(Plan { decode: Box::new(decode), ..plan }))
    }

    /// Asks again, up to `retries` times, if the answer does not fit the question or fails the check of
    /// [`validate`](Self::validate). Default: 0, the ask fails with [`AskError::Invalid`].
    ///
    /// The user reads what was wrong below the message. A user who declines or dismisses the question is not asked
    /// again. Each retry counts against [`Limits::asks_per_call`](crate::Limits::asks_per_call), and has the full
    /// [`timeout`](Self::timeout).
    pub fn retries(self, retries: usize) -> Self {
        self.plan(|plan| plan.retries = retries)
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
        let Plan { dialogue, question, key, limit, retries, decode } = self;
        Box::pin(async move {
            let question = question(&key)?;
            let keys = attempt_keys(key, retries.min(dialogue.asks_per_call));
            let repeats = (keys.len() > 1).then(|| question.digest());
            let mut posed = Posed { question: question.clone(), repeats, limit };
            for attempt in dialogue.newest_attempt(&keys).. {
                let answer = dialogue.ask(&keys[attempt], posed).await?;
                match decode(&keys[0], answer) {
                    Err(AskError::Invalid(why)) if attempt + 1 < keys.len() => {
                        posed = Posed { question: question.again(&why), repeats, limit };
                    }
                    done => return done,
                }
            }
            unreachable!("the last attempt returns")
        })
    }
}

/// The keys of an ask and its retries: each is a question of its own to the client.
fn attempt_keys(key: String, retries: usize) -> Vec<String> {
    let again: Vec<String> = (2..=retries + 1).map(|attempt| format!("{key}#{attempt}")).collect();
    std::iter::once(key).chain(again).collect()
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
