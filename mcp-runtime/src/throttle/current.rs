//! The place of the call that a thread polls. A handler inside of layers that occupies a thread of its own keeps it there,
//! even if the call has timed out.

use std::cell::RefCell;
use std::sync::Arc;

use super::places::Place;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Place>>> = const { RefCell::new(None) };
}

/// Runs `work` in a place.
pub(crate) fn within<T>(place: &mut Option<Arc<Place>>, work: impl FnOnce() -> T) -> T {
    /// Takes the place back, also if the work panics.
    struct Restore<'a> {
        place: &'a mut Option<Arc<Place>>,
        outer: Option<Arc<Place>>,
    }
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            *self.place = CURRENT.replace(self.outer.take());
        }
    }
    let outer = CURRENT.replace(place.take());
    let _restore = Restore { place, outer };
    work()
}

/// The place of the current call, if it has one.
pub(crate) fn current() -> Option<Arc<Place>> {
    CURRENT.with_borrow(Clone::clone)
}
