//! When a session expires, and the sweep that ends those that have: a client that has left does not come to be told so.

use std::sync::Arc;
use std::time::Duration;

use super::{Session, Sessions};
use crate::limits::Limits;
use crate::store::sweeper::{Expiring, Sweep, shrink};

/// A session ends at most this part of its idle timeout late: sessions that expire one after the other are ended together.
const SWEEPS_PER_TIMEOUT: u32 = 8;
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

impl Expiring for Sessions {
    fn remove_expired(&self, _: Duration) -> Sweep<'_> {
        Box::pin(async { self.end_expired() })
    }
}

impl Sessions {
    /// Ends the sessions that have expired, and returns how long it is until more may have.
    fn end_expired(&self) -> Option<Duration> {
        let (mut ended, mut next) = (Vec::new(), None::<Duration>);
        let mut table = self.table();
        table.retain(|_, session| {
            let limits = &session.core.limits;
            let remaining = session.remaining(session.age(), limits);
            if remaining.is_zero() {
                ended.push(Arc::clone(session));
                return false;
            }
            // A session that is busy now expires this long after it is idle.
            let wait = remaining.min(limits.session_idle_timeout).max(sweep_interval(limits));
            next = next.into_iter().chain([wait]).min();
            true
        });
        shrink(&mut table);
        drop(table);
        for session in ended {
            session.end_expired();
        }
        next
    }
}

fn sweep_interval(limits: &Limits) -> Duration {
    (limits.session_idle_timeout / SWEEPS_PER_TIMEOUT).min(LONGEST_INTERVAL)
}

impl Session {
    /// Ends a session that has expired. The copy of one in a store was not used here, but may have been at another replica.
    pub(super) fn end_expired(&self) {
        let is_over = self.control.is_closing() || self.age() >= self.core.limits.session_lifetime;
        if self.stored.is_some() && !is_over {
            self.control.forget_session();
        }
        self.control.abort();
    }

    /// Whether the session has expired, at this age.
    pub(super) fn has_expired(&self, age: Duration, limits: &Limits) -> bool {
        self.remaining(age, limits).is_zero()
    }

    /// How long it is until the session expires if it is not used, at this age. A session with a running call or an open
    /// stream is not idle. One that was shut down expires when its calls have finished, whether or not the client waits
    /// for that.
    fn remaining(&self, age: Duration, limits: &Limits) -> Duration {
        if self.control.is_closing() && !self.control.in_flight.is_busy() {
            return Duration::ZERO;
        }
        let lifetime = limits.session_lifetime.saturating_sub(age);
        if self.is_busy() {
            return lifetime;
        }
        lifetime.min(limits.session_idle_timeout.saturating_sub(self.idle(age)))
    }
}
