//! `once` blocks: each runs once in all rounds of a dialogue, and in all copies of a round.
//!
//! The handler is not dropped while a block runs, so the inside of a block cannot wait for a round.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Channel, Dialogue};
use crate::ask::AskError;
use crate::ask::rounds::RoundHold;
use crate::error::Result;

impl Dialogue {
    /// Runs `work`, or returns what it returned in an earlier run of the call, or in a copy of this one.
    pub(crate) async fn once<T>(&self, key: &str, work: impl Future<Output = Result<T>>) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
    {
        let _running = self.begin_once(key)?;
        // Cloned, since `Deserialize` is user code and must not run under the lock.
        let before = self.state().once_results.get(key).cloned();
        if let Some(value) = before {
            return Ok(serde_json::from_value(value)?);
        }
        let claim = match &self.claims {
            None => None,
            Some(claims) => match claims.claim(self.id(), key).await? {
                Ok(claim) => Some(claim),
                Err(value) => {
                    self.state().once_results.insert(key.to_owned(), value.clone());
                    return Ok(serde_json::from_value(value)?);
                }
            },
        };
        #[cfg(feature = "http")]
        let effect = match self.job.get() {
            Some(job) => job.effect().await,
            None => None,
        };
        let value = {
            let _working = self.claims.as_ref().map(|_| self.work());
            inside(work).await?
        };
        let json = serde_json::to_value(&value);
        if let Some(claim) = claim {
            claim.settle(json.as_ref().ok());
        }
        #[cfg(feature = "http")]
        if let (Some(effect), Ok(json)) = (effect, &json) {
            effect.returned(key, json).await?;
        }
        self.state().once_results.insert(key.to_owned(), json?);
        Ok(value)
    }

    /// How many asks were made, and how many `once` blocks run or have returned, in this run of the call. An earlier
    /// round of it is repeated by this one, and counted again.
    pub(crate) fn asks(&self) -> usize {
        let state = self.state();
        state.asks + state.once_keys.len()
    }

    /// Whether a block runs that copies of this run wait for, or will not repeat.
    pub(crate) fn is_in_claimed_once(&self) -> bool {
        self.claims.is_some() && self.state().claimed_blocks > 0
    }

    fn work(&self) -> WorkGuard<'_> {
        self.state().claimed_blocks += 1;
        WorkGuard(self)
    }

    fn begin_once(&self, key: &str) -> Result<OnceGuard<'_>> {
        if !self.state().once_keys.insert(key.into()) {
            let text =
                format!("two `once` of one call have the key `{key}`, and only one would be done; give each its own");
            return Err(AskError::Misused(text).into());
        }
        let hold = match &self.channel {
            Channel::Rounds(rounds) => Some(rounds.hold()),
            Channel::Unreachable(_) | Channel::Session(_) => None,
        };
        Ok(OnceGuard { dialogue: self, key: key.into(), _hold: hold })
    }
}

/// A `once` block that runs. It must not be cut off, so it holds the round open.
struct OnceGuard<'a> {
    dialogue: &'a Dialogue,
    key: Box<str>,
    _hold: Option<RoundHold<'a>>,
}

impl Drop for OnceGuard<'_> {
    fn drop(&mut self) {
        // A block that failed may be tried again.
        let mut state = self.dialogue.state();
        if !state.once_results.contains_key(&*self.key) {
            state.once_keys.remove(&*self.key);
        }
    }
}

/// A claimed block that runs.
struct WorkGuard<'a>(&'a Dialogue);

impl Drop for WorkGuard<'_> {
    fn drop(&mut self) {
        self.0.state().claimed_blocks -= 1;
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs the work, marked as the inside of a `once` block.
async fn inside<F: Future>(work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(|cx| {
        let _restore = RestoreOnDrop(INSIDE.replace(true));
        work.as_mut().poll(cx)
    })
    .await
}

/// Restores the previous value on drop.
struct RestoreOnDrop(bool);

impl Drop for RestoreOnDrop {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

/// Rejects an ask inside of a `once` block: the ask would wait for a round, and the round for the end of the
/// block. It is rejected in every revision, so that a test with any of them finds it.
pub(super) fn forbids_asking() -> Result<(), AskError> {
    if INSIDE.get() {
        return Err(AskError::Misused(
            "the client cannot be asked inside of `ctx.once`: ask before it, and use the answer inside".to_owned(),
        ));
    }
    Ok(())
}
