//! The inside of what is done once: it must not be cut off, so nothing in there can wait for another
//! round.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;

use super::AskError;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Does the work, and knows that it does.
pub(super) async fn inside<F: Future>(work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(|cx| {
        let _mark = Mark(INSIDE.replace(true));
        work.as_mut().poll(cx)
    })
    .await
}

/// What was so before, until it is so again.
struct Mark(bool);

impl Drop for Mark {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

/// A question in there would wait for its answer, and its answer for the end of the work. It is refused
/// in every revision, so that whoever tests with one knows.
pub(super) fn forbids_asking() -> Result<(), AskError> {
    if INSIDE.get() {
        return Err(AskError::Misused(
            "nobody can be asked inside of `ctx.once`: ask before, and use the answer in there".to_owned(),
        ));
    }
    Ok(())
}
