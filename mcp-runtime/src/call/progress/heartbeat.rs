//! The heartbeat of a call: progress that the server reports while the handler reports none, so that the client does not
//! give up.
//!
//! Only a call that is pending after its first poll, and whose client has asked for progress, has one: a timer, until the
//! call is over. A report of the handler's own puts the next beat off. What is sent is a little more progress each time, less
//! than any handler reports, with the time that has passed as its message.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Progress;
use crate::call::blocking::call_turns::CallTurns;
use crate::call::notifier::Notifier;
use crate::era::encode::notification::{self, NotificationTo};
use crate::outcome::Outcome;
use crate::protocol::Revision;

/// The shortest time between two beats.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest: a time that can be told, whatever the server's limit is.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A call that is run to its end.
pub(crate) type Accompanied = Pin<Box<dyn Future<Output = (Outcome, CallTurns)> + Send>>;
/// Adds its heartbeat to a call.
pub(crate) type Accompany = fn(Accompanied, Duration, Beats) -> Accompanied;

/// The heartbeat of a call.
pub(crate) struct Heartbeat {
    accompany: Accompany,
    every: Duration,
    beats: Beats,
}

/// What a heartbeat reports, and to whom.
#[derive(Debug)]
pub(crate) struct Beats {
    pub(crate) progress: Arc<Progress>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) revision: Revision,
}

impl Heartbeat {
    /// Beats every so often. `accompany` is that of the handler.
    pub(crate) fn new(accompany: Accompany, every: Duration, beats: Beats) -> Self {
        Heartbeat { accompany, every: every.clamp(SHORTEST, LONGEST), beats }
    }

    /// The call with its heartbeat.
    pub(crate) fn accompany(self, call: Accompanied) -> Accompanied {
        (self.accompany)(call, self.every, self.beats)
    }
}

impl fmt::Debug for Heartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Heartbeat").field(&self.beats).finish()
    }
}

/// An [`Accompany`].
pub(crate) fn accompany(mut call: Accompanied, every: Duration, beats: Beats) -> Accompanied {
    Box::pin(async move {
        let begun = Instant::now();
        let mut timer = Box::pin(sleep_until(begun + every));
        loop {
            tokio::select! {
                biased;
                answer = &mut call => return answer,
                () = &mut timer => timer.as_mut().reset(beats.beat(begun, every)),
            }
        }
    })
}

impl Beats {
    /// Reports progress, unless the handler has. Returns when the next beat is due.
    fn beat(&self, begun: Instant, every: Duration) -> Instant {
        self.progress.beat(every, |done, total| {
            let message = format!("still running after {} s", begun.elapsed().as_secs());
            let to = NotificationTo { revision: self.revision, task: None };
            // A client whose queue is full has something to read already.
            self.notifier.beat(notification::progress(&self.progress.token, done, total, Some(&message), to));
        })
    }
}
