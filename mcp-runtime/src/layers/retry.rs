//! [`Retry`]: repeats calls that failed for a moment.

use std::fmt;
use std::time::Duration;

use super::{Call, ErrorKind, Layer, Next, Outcome};
use crate::handler::layer::Idle;
use crate::protocol::ToolAnnotations;
use crate::random;

type Predicate = Box<dyn Fn(&Outcome) -> bool + Send + Sync>;

/// Repeats calls that fail, a few times and ever later.
///
/// Only calls that [may be repeated](Call::is_idempotent), and whose handler has not asked the client, whose user would be
/// asked again. By default, only errors that the handler returns are worth another attempt: not invalid
/// arguments, protocol errors, refusals, panics, and results with `isError`.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_runtime::layers::Retry;
/// use mcp_runtime::prelude::*;
///
/// let server = Server::new("weather", "1.0.0").layer(Retry::new(3).backoff(Duration::from_millis(200)));
/// ```
///
/// The timeout of the call covers all attempts, and the pauses between them.
pub struct Retry {
    attempts: u32,
    backoff: Duration,
    max_backoff: Duration,
    all: bool,
    worthwhile: Predicate,
}

impl Retry {
    /// At most so many attempts, the first one included.
    pub fn new(attempts: u32) -> Self {
        let worthwhile = |outcome: &Outcome| {
            matches!(outcome.error().map(super::CallError::kind), Some(ErrorKind::Handler | ErrorKind::Unavailable))
        };
        Retry {
            attempts: attempts.max(1),
            backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            all: false,
            worthwhile: Box::new(worthwhile),
        }
    }

    /// The pause before the second attempt; it doubles with each one. Default: 100 ms. Each pause is shortened by a
    /// random part of up to its half, so that clients that failed together do not return together.
    pub fn backoff(mut self, first: Duration) -> Self {
        self.backoff = first;
        self
    }

    /// The longest pause. Default: 5 s.
    pub fn max_backoff(mut self, longest: Duration) -> Self {
        self.max_backoff = longest;
        self
    }

    /// Repeats calls of every handler, also of tools that are neither `read_only` nor `idempotent`. Only for handlers
    /// whose failure means that nothing has happened.
    pub fn even_if_not_idempotent(mut self) -> Self {
        self.all = true;
        self
    }

    /// Decides which outcomes are worth another attempt.
    ///
    /// ```
    /// use mcp_runtime::layers::Retry;
    ///
    /// let retry = Retry::new(3).when(|outcome| {
    ///     let error = outcome.error().and_then(|error| error.downcast_ref::<std::io::Error>());
    ///     error.is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut)
    /// });
    /// ```
    pub fn when(mut self, worthwhile: impl Fn(&Outcome) -> bool + Send + Sync + 'static) -> Self {
        self.worthwhile = Box::new(worthwhile);
        self
    }

    fn pause(&self, attempt: u32) -> Duration {
        let doubled = self.backoff.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
        let pause = doubled.min(self.max_backoff);
        let mut part = [0];
        // Without randomness, the pause is the longest.
        let _ = random::fill(&mut part);
        pause.saturating_sub(pause / 2 / 255 * u32::from(part[0]))
    }
}

impl Layer for Retry {
    async fn call(&self, call: Call, next: Next) -> Outcome {
        if !self.all && !call.is_idempotent() {
            return next.run(call).await;
        }
        for attempt in 1..self.attempts {
            // A layer around this one may have asked already, which is not repeated.
            let asks = call.asks();
            let outcome = next.run(call.clone()).await;
            if !(self.worthwhile)(&outcome) || call.asks() != asks || call.ctx().is_cancelled() {
                return outcome;
            }
            tokio::time::sleep(self.pause(attempt)).await;
        }
        next.run(call).await
    }

    fn idle(&self, annotations: &ToolAnnotations) -> Option<Idle> {
        let hints = [annotations.read_only_hint, annotations.idempotent_hint];
        let idle = Idle {
            text: "its layer `Retry` repeats no call, because the tool is neither `read_only` nor `idempotent`",
            remedy: "`#[tool(idempotent)]` if a repeated call has no further effect, or `Retry::even_if_not_idempotent`; \
                     else remove the layer",
        };
        (!self.all && !hints.contains(&Some(true))).then_some(idle)
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry").field("attempts", &self.attempts).finish_non_exhaustive()
    }
}
