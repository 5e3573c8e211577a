//! [`Next`]: what a layer surrounds.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Run;
use super::call::Call;
use super::chain::Chain;
use super::outcome::Outcome;
use crate::outcome::Failure;
use crate::panic::catch;

/// What a [layer](super::Layer) surrounds: the layers inside of it, and the handler.
#[derive(Clone)]
pub struct Next {
    pub(super) chain: Arc<Chain>,
    /// The layer that is next; the handler if there are no more.
    pub(super) at: usize,
}

impl Next {
    /// Runs the rest of the call: the layers inside of this one, then the handler.
    ///
    /// The arguments are checked and decoded each time, so that a call can be repeated. What the handler
    /// [asks](crate::Context::elicit) is numbered over the whole call: repeat only calls that have not asked.
    pub async fn run(&self, call: Call) -> Outcome {
        Caught(self.chain.run(self.at, call)).await
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next")
    }
}

/// A run whose panic is its outcome, for the layers around it.
struct Caught(Run);

impl Future for Caught {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let run = &mut self.0;
        catch(|| run.as_mut().poll(cx)).unwrap_or(Poll::Ready(Outcome::failed(Failure::Panicked)))
    }
}
