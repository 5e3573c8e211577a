//! The resources that were updated lately. A replica with the stream of a session may learn of a subscription, which was
//! made at another one, after the first update: the client was subscribed, and is told of it late.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

use crate::store::Change;
use crate::sync::lock;

/// How many updates are remembered. Beyond that, the oldest is forgotten.
const UPDATES: usize = 128;
/// A longer URI is not remembered.
const URI_BYTES: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct RecentUpdates(Mutex<Updates>);

#[derive(Debug, Default)]
struct Updates {
    newest_last: VecDeque<(Instant, String)>,
    /// When the newest of those that are not remembered was.
    forgotten: Option<Instant>,
}

impl RecentUpdates {
    /// Remembers an update, if this is one.
    pub(crate) fn record(&self, change: &Change) {
        let now = Instant::now();
        match change {
            Change::ResourceUpdated(uri) if uri.len() <= URI_BYTES => lock(&self.0).push(now, uri),
            Change::ResourceUpdated(_) | Change::All => lock(&self.0).forgotten = Some(now),
            _ => {}
        }
    }

    /// Whether the resource may have been updated since then.
    pub(crate) fn may_include(&self, uri: &str, since: Instant) -> bool {
        let updates = lock(&self.0);
        let after = updates.newest_last.iter().rev().take_while(|(at, _)| *at >= since);
        updates.forgotten.is_some_and(|at| at >= since) || after.into_iter().any(|(_, updated)| updated == uri)
    }
}

impl Updates {
    fn push(&mut self, now: Instant, uri: &str) {
        if self.newest_last.len() == UPDATES {
            self.forgotten = self.newest_last.pop_front().map(|(at, _)| at).max(self.forgotten);
        }
        self.newest_last.push_back((now, uri.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn update(uri: &str) -> Change {
        Change::ResourceUpdated(uri.to_owned())
    }

    #[test]
    fn updates_are_remembered_with_their_time() {
        let (updates, before) = (RecentUpdates::default(), Instant::now());
        updates.record(&update("a://1"));
        assert!(updates.may_include("a://1", before));
        assert!(!updates.may_include("a://2", before));
        assert!(!updates.may_include("a://1", Instant::now() + Duration::from_secs(1)));
    }

    #[test]
    fn what_is_not_remembered_may_be_anything() {
        for forgotten in [Change::All, update(&"a".repeat(URI_BYTES + 1))] {
            let (updates, before) = (RecentUpdates::default(), Instant::now());
            updates.record(&forgotten);
            assert!(updates.may_include("a://1", before), "{forgotten:?}");
            assert!(!updates.may_include("a://1", Instant::now() + Duration::from_secs(1)), "{forgotten:?}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let (updates, before) = (RecentUpdates::default(), Instant::now());
        for number in 0..=UPDATES {
            assert!(!updates.may_include("b://", before));
            updates.record(&update(&format!("a://{number}")));
        }
        assert!(updates.may_include("b://", before), "one was forgotten, and it may have been this");
        assert_eq!(lock(&updates.0).newest_last.len(), UPDATES);
    }
}
