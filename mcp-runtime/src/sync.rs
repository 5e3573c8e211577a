//! Locking, waiting for conditions, and spawning, the idioms of this crate.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Locks a mutex and ignores poisoning. User code never runs under a framework lock, so a panic leaves
/// no half-made change.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `condition` holds. Code that makes it true calls `notify_waiters` afterwards. The waiter
/// registers before it checks, so that no wake-up is lost in between.
pub(crate) async fn until(notify: &Notify, mut condition: impl FnMut() -> bool) {
    until_some(notify, || condition().then_some(())).await;
}

/// Waits until `value` returns `Some`, as [`until`] waits for a condition.
pub(crate) async fn until_some<T>(notify: &Notify, mut value: impl FnMut() -> Option<T>) -> T {
    loop {
        let notified = notify.notified();
        if let Some(value) = value() {
            return value;
        }
        notified.await;
    }
}

/// A future to spawn. Tokio compiles its task machinery for every type of future, twice (once per scheduler), about
/// 6 KB each. Boxed futures share one type. It costs an allocation next to the one of the task itself.
pub(crate) type BoxedTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// [`tokio::spawn`], for a task that nobody waits for.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    let task: BoxedTask = Box::pin(task);
    tokio::spawn(task);
}
