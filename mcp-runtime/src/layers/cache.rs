//! [`Cache`]: results of read-only tools, by arguments and caller.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::{Call, CallKind, Layer, Next, Outcome};
use crate::sync::lock;

/// Keeps results of `read_only` tools for a while, and answers the same call with them.
///
/// The same call has the same tool, the same arguments (as JSON text), the same revision, and the same caller: user and
/// scopes, or [principal](crate::Context::principal). Callers without a name share results. A tool whose result depends
/// on anything else, such as a header, must not be cached. Errors, results with `isError` and results of calls that
/// [asked](Call::has_asked) are not kept.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_runtime::layers::Cache;
/// use mcp_runtime::prelude::*;
///
/// /// The exchange rate of a currency.
/// #[tool(read_only, layer = Cache::new(Duration::from_secs(60)).max_entries(200))]
/// async fn rate(currency: String) -> String {
///     format!("1 {currency} = …")
/// }
/// ```
///
/// A clone is the same cache: keep one to [`clear`](Self::clear) it. Each replica has its own.
#[derive(Clone)]
pub struct Cache {
    ttl: Duration,
    max_entries: usize,
    max_bytes: usize,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    entries: HashMap<Arc<str>, Entry>,
    /// The keys in the order of their entries, the oldest first.
    order: VecDeque<Arc<str>>,
    bytes: usize,
}

struct Entry {
    outcome: Outcome,
    bytes: usize,
    /// Never, if there is none.
    expires: Option<Instant>,
}

impl Cache {
    /// Keeps each result for so long; at most 1000 results and 16 MiB of them.
    pub fn new(ttl: Duration) -> Self {
        Cache { ttl, max_entries: 1000, max_bytes: 16 << 20, kept: Arc::default() }
    }

    /// The number of results at which the oldest one is dropped for a new one. Default: 1000.
    pub fn max_entries(mut self, entries: usize) -> Self {
        self.max_entries = entries;
        self
    }

    /// The size at which the oldest results are dropped for a new one, in bytes. A result that is larger than an eighth
    /// of it is not kept. Default: 16 MiB.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Drops all results: what they are made of has changed.
    pub fn clear(&self) {
        let dropped = std::mem::take(&mut *lock(&self.kept));
        drop(dropped);
    }

    fn find(&self, key: &str) -> Option<Outcome> {
        let kept = lock(&self.kept);
        let entry = kept.entries.get(key).filter(|entry| entry.is_current())?;
        entry.outcome.copied()
    }

    fn keep(&self, key: String, outcome: &Outcome) {
        let bytes = key.len().saturating_mul(2).saturating_add(outcome.size());
        if bytes > self.max_bytes / 8 || self.max_entries == 0 {
            return;
        }
        let Some(outcome) = outcome.copied() else { return };
        let key: Arc<str> = key.into();
        // A time too far away to be told is never.
        let expires = Instant::now().checked_add(self.ttl);
        let mut kept = lock(&self.kept);
        kept.remove(&key);
        while kept.entries.len() >= self.max_entries || kept.bytes + bytes > self.max_bytes {
            kept.drop_oldest();
        }
        kept.bytes += bytes;
        kept.order.push_back(Arc::clone(&key));
        kept.entries.insert(key, Entry { outcome, bytes, expires });
    }
}

impl Entry {
    fn is_current(&self) -> bool {
        self.expires.is_none_or(|expires| expires > Instant::now())
    }
}

impl Kept {
    /// Removes the entry that is to be replaced: expired, or made by another call at the same time.
    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes;
            self.order.retain(|other| **other != *key);
        }
    }

    fn drop_oldest(&mut self) {
        let oldest = self.order.pop_front();
        if let Some(entry) = oldest.and_then(|key| self.entries.remove(&key)) {
            self.bytes -= entry.bytes;
        }
    }
}

/// What makes a call the same as another. Lengths keep one part from looking like two.
fn key(call: &Call) -> String {
    let caller = call.caller().unwrap_or_default();
    format!("{}:{}{}:{caller}{}{}", call.name().len(), call.name(), caller.len(), call.revision(), call.arguments())
}

impl Layer for Cache {
    async fn call(&self, call: Call, next: Next) -> Outcome {
        if call.kind() != CallKind::Tool || !call.is_read_only() {
            return next.run(call).await;
        }
        let key = key(&call);
        if let Some(outcome) = self.find(&key) {
            return outcome;
        }
        let outcome = next.run(call.clone()).await;
        if !outcome.is_error() && !call.has_asked() {
            self.keep(key, &outcome);
        }
        outcome
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ToolResult;

    fn text(text: &str) -> Outcome {
        ToolResult::text(text).into()
    }

    #[tokio::test(start_paused = true)]
    async fn bounds_hold_and_results_expire() {
        let cache = Cache::new(Duration::from_secs(1)).max_entries(2).max_bytes(800);
        for key in ["a", "b", "c"] {
            cache.keep(key.to_owned(), &text(key));
        }
        assert!(cache.find("a").is_none() && cache.find("b").is_some() && cache.find("c").is_some());
        cache.keep("d".to_owned(), &text(&"x".repeat(101)));
        assert!(cache.find("d").is_none(), "too large to be kept");
        cache.keep("b".to_owned(), &text("again"));
        assert_eq!(lock(&cache.kept).order.len(), 2);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(cache.find("b").is_none());
        cache.keep("b".to_owned(), &text("new"));
        assert_eq!(cache.find("b").unwrap().as_tool().unwrap().texts().next(), Some("new"));
        cache.clear();
        let kept = lock(&cache.kept);
        assert_eq!((kept.bytes, kept.order.len()), (0, 0));
    }

    #[test]
    fn results_may_be_kept_for_ever() {
        let cache = Cache::new(Duration::MAX);
        cache.keep("a".to_owned(), &text("a"));
        assert!(cache.find("a").is_some());
    }

    #[test]
    fn bytes_are_bounded() {
        let cache = Cache::new(Duration::from_secs(1)).max_bytes(800);
        for number in 0..100 {
            cache.keep(number.to_string(), &text(&"x".repeat(90)));
            let kept = lock(&cache.kept);
            assert!(kept.bytes <= 800 && kept.entries.len() == kept.order.len());
        }
        assert_eq!(lock(&cache.kept).entries.len(), 8);
    }
}
