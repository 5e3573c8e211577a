//! The current call of a thread: the destination of its `tracing` events.
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

/// The destination of a call's `tracing` events.
#[derive(Debug, Clone)]
pub(crate) struct CallLog {
    notifier: Arc<Notifier>,
    /// The lowest level the client wants.
    level: LogLevel,
}

impl CallLog {
    pub(crate) fn new(notifier: Arc<Notifier>, level: LogLevel) -> Self {
        CallLog { notifier, level }
    }

    /// Runs `work` with `log` as the current call. Without a log, the current call stays as it is.
    #[inline]
    pub(crate) fn with<T>(log: Option<&CallLog>, work: impl FnOnce() -> T) -> T {
        /// Restores the previous value, also if the work panics.
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

    /// The current call of this thread.
    pub(crate) fn current() -> Option<CallLog> {
        // The value is gone while a thread exits.
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }

    pub(crate) fn wants(&self, level: LogLevel) -> bool {
        level >= self.level
    }

    /// Sends a message, or drops it if the client's queue is full: `tracing` events cannot wait.
    pub(crate) fn send(&self, level: LogLevel, logger: &str, data: &impl Serialize) {
        if self.notifier.may_log() {
            self.notifier.try_send(notification::log(level, Some(logger), data, None));
        }
    }
}
