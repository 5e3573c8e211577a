//! Panics of user code: caught where it is called, so that none ends a connection.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `code`; `None` if it panicked. The panic hook has told the log by then. Nothing of the
/// framework is shared with what panicked, so there is no broken state to see.
pub(crate) fn catch<T>(code: impl FnOnce() -> T) -> Option<T> {
    let payload = match catch_unwind(AssertUnwindSafe(code)) {
        Ok(value) => return Some(value),
        Err(payload) => payload,
    };
    // What was thrown may panic when it is dropped; what that throws is left alone.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
    None
}
