//! The inside of a `once` block. The handler is not dropped while it runs, so it cannot wait for a round.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;

use super::AskError;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs the work, marked as the inside of a `once` block.
pub(super) async fn inside<F: Future>(work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(|cx| {
        let _restore = RestoreOnDrop(INSIDE.replace(true));
        work.as_mut().poll(cx)
    })
    .await
}

/// Restores the previous value on drop.
struct RestoreOnDrop(bool);

impl Drop for RestoreOnDrop {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

/// Rejects an ask inside of a `once` block: the ask would wait for a round, and the round for the end of the
/// block. It is rejected in every revision, so that a test with any of them finds it.
pub(super) fn forbids_asking() -> Result<(), AskError> {
    if INSIDE.get() {
        return Err(AskError::Misused(
            "the client cannot be asked inside of `ctx.once`: ask before it, and use the answer inside".to_owned(),
        ));
    }
    Ok(())
}
