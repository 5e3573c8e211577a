//! [`RefusedCall`]: the answer to a call that was refused after it had to wait.

use crate::call::telemetry::watch::Watch;
use crate::outcome::{Failure, Outcome};
use crate::throttle::refusal::Throttled;

#[cfg(feature = "auth")]
use crate::auth::access::Denied;

/// Why a call was refused: over HTTP, the status of a response says so if it has nothing else.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The caller lacks scopes.
    #[cfg(feature = "auth")]
    Denied(Box<Denied>),
    /// It is over a limit.
    Throttled(Box<Throttled>),
    /// A shutdown does not wait for it.
    ShutDown,
}

impl Refusal {
    pub(crate) fn of(outcome: &Outcome) -> Option<Self> {
        match outcome {
            #[cfg(feature = "auth")]
            Err(Failure::Forbidden(denied)) => Some(Refusal::Denied(denied.clone())),
            Err(Failure::Throttled(throttled)) => Some(Refusal::Throttled(throttled.clone())),
            Err(Failure::ShutDown) => Some(Refusal::ShutDown),
            _ => None,
        }
    }
}

/// The answer to a refused call: one line, and why. Observers are told when it is known with which status it is sent.
#[derive(Debug)]
pub(crate) struct RefusedCall {
    pub(crate) refusal: Refusal,
    line: Vec<u8>,
    watch: Watch,
}

impl RefusedCall {
    pub(crate) fn new(refusal: Refusal, line: Vec<u8>, watch: Watch) -> Self {
        RefusedCall { refusal, line, watch }
    }

    /// The line, to be sent among others: the status of the response, if there is one, says nothing of it.
    pub(crate) fn into_line(self) -> Vec<u8> {
        self.watch.finish(&self.line);
        self.line
    }

    /// The line, to be sent alone, in a response with this status.
    pub(crate) fn into_response(mut self, status: u16) -> (Refusal, Vec<u8>) {
        if let Some(watched) = self.watch.get() {
            watched.status(status);
        }
        self.watch.finish(&self.line);
        (self.refusal, self.line)
    }
}
