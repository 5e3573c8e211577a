//! Locking, waiting for conditions, and spawning, the idioms of this crate.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{io, thread};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Locks a mutex and ignores poisoning. User code never runs under a framework lock, so a panic leaves
/// no half-made change.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `condition` holds. Code that makes it true calls `notify_waiters` afterwards. The waiter
/// registers before it checks, so that no wake-up is lost in between.
pub(crate) async fn until(notify: &Notify, mut condition: impl FnMut() -> bool + Send) {
    until_true(notify, &mut condition).await;
}

/// Waits until `value` returns `Some`, as [`until`] waits for a condition.
pub(crate) async fn until_some<T: Send>(notify: &Notify, mut value: impl FnMut() -> Option<T> + Send) -> T {
    let mut found = None;
    loop {
        until(notify, || {
            found = value();
            found.is_some()
        })
        .await;
        if let Some(value) = found.take() {
            return value;
        }
    }
}

/// Not generic, so that the wait is compiled once.
async fn until_true(notify: &Notify, condition: &mut (dyn FnMut() -> bool + Send)) {
    loop {
        let notified = notify.notified();
        if condition() {
            return;
        }
        notified.await;
    }
}

/// A future to spawn. Tokio compiles its task machinery for every type of future, twice (once per scheduler), about
/// 6 KB each. Boxed futures share one type. It costs an allocation next to the one of the task itself.
pub(crate) type BoxedTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// [`tokio::spawn`], for a task that nobody waits for.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    drop(spawn_boxed(Box::pin(task)));
}

/// [`tokio::spawn`], for a task that somebody waits for. Not inlined: 3 KB each.
#[inline(never)]
pub(crate) fn spawn_boxed(task: BoxedTask) -> JoinHandle<()> {
    tokio::spawn(task)
}

/// Runs `body` on a thread that nobody waits for. Boxed, so that the code around a thread is compiled once: 2 KB each.
pub(crate) fn spawn_thread(name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(body).map(drop)
}
