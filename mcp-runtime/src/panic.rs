//! Catches panics of user code, so that a panicking handler does not end a connection.

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
