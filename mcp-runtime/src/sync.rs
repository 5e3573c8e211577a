//! Locking and waiting, as every part of the crate does them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Locks a mutex, poisoned or not. User code never runs under a lock of ours, so a panic leaves nothing half done.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `condition` holds. Whoever makes it hold calls `notify_waiters` afterwards: the waiter
/// registers before it looks, so no wake-up is lost in between.
pub(crate) async fn until(notify: &Notify, mut condition: impl FnMut() -> bool) {
    until_some(notify, || condition().then_some(())).await;
}

/// Waits until `value` is there, as [`until`] waits for a condition.
pub(crate) async fn until_some<T>(notify: &Notify, mut value: impl FnMut() -> Option<T>) -> T {
    loop {
        let notified = notify.notified();
        if let Some(value) = value() {
            return value;
        }
        notified.await;
    }
}
