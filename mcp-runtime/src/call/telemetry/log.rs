//! The call a thread is working for, so that what it says to `tracing` finds its client.
#![cfg_attr(not(feature = "tracing-layer"), allow(dead_code, reason = "for the layer"))]

use std::cell::RefCell;
use std::sync::Arc;

use serde::Serialize;

use crate::call::notifier::Notifier;
use crate::era::encode::notification;
use crate::protocol::LogLevel;

thread_local! {
    static CURRENT: RefCell<Option<CallLog>> = const { RefCell::new(None) };
}

/// Where a call's events go.
#[derive(Debug, Clone)]
pub(crate) struct CallLog {
    notifier: Arc<Notifier>,
    /// The least grave its client wants.
    level: LogLevel,
}

impl CallLog {
    pub(crate) fn new(notifier: Arc<Notifier>, level: LogLevel) -> Self {
        CallLog { notifier, level }
    }

    /// Runs `work` for a call, or for none.
    pub(crate) fn with<T>(log: Option<&CallLog>, work: impl FnOnce() -> T) -> T {
        /// Puts back what was there, however the work ends.
        struct Restore(Option<CallLog>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let Some(log) = log else { return work() };
        let _restore = Restore(CURRENT.replace(Some(log.clone())));
        work()
    }

    /// The call this thread is working for.
    pub(crate) fn current() -> Option<CallLog> {
        // A thread that is ending works for nobody.
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }

    pub(crate) fn wants(&self, level: LogLevel) -> bool {
        level >= self.level
    }

    /// Sends a message if there is room for it; nobody waits for a log.
    pub(crate) fn say(&self, level: LogLevel, logger: &str, data: &impl Serialize) {
        if self.notifier.may_log() {
            self.notifier.try_send(notification::log(level, Some(logger), data, None));
        }
    }
}
