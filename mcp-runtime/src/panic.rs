//! Catches panics of user code, so that a panicking handler does not end a connection; and tells those of a runtime that ends.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `code`; `None` if it panicked. The panic hook has reported it by then. User code shares no
/// framework state, so unwinding leaves none inconsistent.
pub(crate) fn catch<T>(code: impl FnOnce() -> T) -> Option<T> {
    let payload = match catch_unwind(AssertUnwindSafe(code)) {
        Ok(value) => return Some(value),
        Err(payload) => payload,
    };
    // The payload may panic in its own drop; the payload of that panic is leaked.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
    None
}

/// Whether the runtime is being shut down: its timers panic from then on, also those of handlers.
#[cfg(feature = "http")]
pub(crate) fn runtime_ends() -> bool {
    let mut timer = std::pin::pin!(tokio::time::sleep(std::time::Duration::from_secs(1)));
    let mut nobody = std::task::Context::from_waker(std::task::Waker::noop());
    catch(|| timer.as_mut().poll(&mut nobody)).is_none()
}
