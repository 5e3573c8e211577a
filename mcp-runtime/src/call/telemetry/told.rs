//! [`Telemetry`]: who is told of requests, sessions and questions.

use std::fmt;

use crate::observe::{Observer, Spans};
use crate::panic;

/// Who is told of requests.
#[derive(Default)]
pub(crate) struct Telemetry {
    pub(crate) observers: Vec<Box<dyn Observer>>,
    pub(crate) spans: Option<Spans>,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("observers", &self.observers.len()).field("spans", &self.spans).finish()
    }
}

impl Telemetry {
    pub(super) fn tell(&self, tell: impl Fn(&dyn Observer)) {
        for observer in &self.observers {
            if panic::catch(|| tell(&**observer)).is_none() {
                tracing::error!("an observer panicked");
            }
        }
    }
}
