//! A pending call whose handler gives long answers: it waits for its turn before it is polled.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::profile::BlockingProfile;
use super::turns::{self, Turn};

/// The turns of one call: it has one while its handler runs, if the handler's answers are long, and none while it waits.
#[derive(Default)]
pub(crate) struct CallTurns {
    profile: Option<Arc<BlockingProfile>>,
    waiting: Option<Pin<Box<dyn Future<Output = Turn> + Send>>>,
    turn: Option<Turn>,
}

impl CallTurns {
    pub(crate) fn new(profile: Option<Arc<BlockingProfile>>) -> Self {
        CallTurns { profile, waiting: None, turn: None }
    }

    /// Polls a call when it is its turn.
    pub(crate) fn poll<T>(&mut self, cx: &mut Context<'_>, step: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        if self.profile.as_ref().is_none_or(|profile| profile.long_answer().is_none()) {
            return step(cx);
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(turns::take()));
        let Poll::Ready(mut turn) = waiting.as_mut().poll(cx) else { return Poll::Pending };
        self.waiting = None;
        let poll = turn.run(|| step(cx));
        // Kept for the encoding of the answer.
        self.turn = poll.is_ready().then_some(turn);
        poll
    }

    /// Encodes the answer. `length` tells how long it has become.
    pub(crate) fn encode<T>(mut self, encode: impl FnOnce() -> T, length: impl FnOnce(&T) -> usize) -> T {
        let encoded = match &mut self.turn {
            Some(turn) => turn.run(encode),
            None => encode(),
        };
        if let Some(profile) = &self.profile {
            profile.answered(length(&encoded));
        }
        encoded
    }
}
