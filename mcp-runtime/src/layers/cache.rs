//! [`Cache`]: results of read-only tools, by arguments and caller.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::{Call, CallKind, Layer, Next, Outcome};
use crate::handler::layer::Idle;
use crate::protocol::ToolAnnotations;
use crate::sync::lock;

/// Keeps results of `read_only` tools for a while, and answers the same call with them.
///
/// The same call has the same tool, the same arguments (as JSON text), the same revision, and the same caller: the user
/// with their client and scopes, or the [principal](crate::Context::principal). Callers without a name share results. A
/// tool whose result depends on anything else, such as a header or another claim of the token, must not be cached. Errors,
/// results with `isError` and results of handlers that asked are not kept. A tool that replaces another of its name begins
/// without results.
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
/// A clone is the same cache: keep one to [`clear`](Self::clear) it. Each replica has its own, and so has each tool of each
/// server that a cache is shared by; the bounds are for all of them.
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
    /// How often all results were dropped.
    cleared: u64,
}

/// When a call looked for its result: what it returns is as old as that.
#[derive(Clone, Copy)]
struct Missed {
    cleared: u64,
}

/// What an entry takes besides its key and its result: its places in the map and in the order.
const ENTRY_BYTES: usize = 2 * size_of::<(Arc<str>, Entry)>();

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

    /// The memory at which the oldest results are dropped for a new one, in bytes: of results, with their `_meta`, and of
    /// the arguments and callers that they are found by. A result that takes more than an eighth of it is not kept.
    /// Default: 16 MiB.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Drops all results: what they are made of has changed. Calls that run now return theirs, but none is kept.
    pub fn clear(&self) {
        let dropped = {
            let mut kept = lock(&self.kept);
            let cleared = kept.cleared.wrapping_add(1);
            std::mem::replace(&mut *kept, Kept { cleared, ..Kept::default() })
        };
        drop(dropped);
    }

    fn find(&self, key: &str) -> Result<Outcome, Missed> {
        let kept = lock(&self.kept);
        let entry = kept.entries.get(key).filter(|entry| entry.is_current());
        entry.and_then(|entry| entry.outcome.copied()).ok_or(Missed { cleared: kept.cleared })
    }

    fn keep(&self, key: String, outcome: &Outcome, missed: Missed) {
        let bytes = ENTRY_BYTES.saturating_add(key.len()).saturating_add(outcome.footprint());
        if bytes > self.max_bytes / 8 || self.max_entries == 0 {
            return;
        }
        let Some(outcome) = outcome.copied() else { return };
        let key: Arc<str> = key.into();
        // A time too far away to be told is never.
        let expires = Instant::now().checked_add(self.ttl);
        let mut kept = lock(&self.kept);
        if kept.cleared != missed.cleared {
            return;
        }
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

/// What makes a call the same as another. The length keeps one part from looking like two.
fn key(call: &Call) -> String {
    let caller = call.caller().unwrap_or_default();
    format!("{} {}:{caller}{}{}", call.handler_id(), caller.len(), call.revision(), call.arguments())
}

impl Layer for Cache {
    async fn call(&self, call: Call, next: Next) -> Outcome {
        if call.kind() != CallKind::Tool || !call.is_read_only() {
            return next.run(call).await;
        }
        let key = key(&call);
        let missed = match self.find(&key) {
            Ok(outcome) => return outcome,
            Err(missed) => missed,
        };
        // A layer around this one may have asked already, which says nothing about the handler.
        let asks = call.asks();
        let outcome = next.run(call.clone()).await;
        if !outcome.is_error() && call.asks() == asks {
            self.keep(key, &outcome, missed);
        }
        outcome
    }

    fn idle(&self, annotations: &ToolAnnotations) -> Option<Idle> {
        let idle = Idle {
            text: "its layer `Cache` keeps no result, because the tool is not `read_only`",
            remedy: "`#[tool(read_only)]` if a call changes nothing; else remove the layer",
        };
        (annotations.read_only_hint != Some(true)).then_some(idle)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::{Content, ResourceContents, ResourceDescriptor, ToolResult};

    fn text(text: &str) -> Outcome {
        ToolResult::text(text).into()
    }

    fn keep(cache: &Cache, key: &str, outcome: &Outcome) {
        let missed = Missed { cleared: lock(&cache.kept).cleared };
        cache.keep(key.to_owned(), outcome, missed);
    }

    /// What an entry with a key of one byte and such a text takes.
    fn bytes_of(text: &Outcome) -> usize {
        ENTRY_BYTES + 1 + text.footprint()
    }

    #[tokio::test(start_paused = true)]
    async fn bounds_hold_and_results_expire() {
        let most = 8 * bytes_of(&text(&"x".repeat(100)));
        let cache = Cache::new(Duration::from_secs(1)).max_entries(2).max_bytes(most);
        for key in ["a", "b", "c"] {
            keep(&cache, key, &text(key));
        }
        assert!(cache.find("a").is_err() && cache.find("b").is_ok() && cache.find("c").is_ok());
        keep(&cache, "d", &text(&"x".repeat(101)));
        assert!(cache.find("d").is_err(), "too large to be kept");
        keep(&cache, "d", &text(&"x".repeat(100)));
        assert!(cache.find("d").is_ok());
        keep(&cache, "d", &text("again"));
        assert_eq!(lock(&cache.kept).order.len(), 2);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(cache.find("d").is_err());
        keep(&cache, "d", &text("new"));
        assert_eq!(cache.find("d").ok().unwrap().as_tool().unwrap().texts().next(), Some("new"));
        cache.clear();
        let kept = lock(&cache.kept);
        assert_eq!((kept.bytes, kept.order.len()), (0, 0));
    }

    #[test]
    fn results_may_be_kept_for_ever() {
        let cache = Cache::new(Duration::MAX);
        keep(&cache, "a", &text("a"));
        assert!(cache.find("a").is_ok());
    }

    #[test]
    fn bytes_are_bounded() {
        let one = text(&"x".repeat(90));
        let most = 8 * bytes_of(&one) + 7;
        let cache = Cache::new(Duration::from_secs(1)).max_bytes(most);
        for key in 'a'..='z' {
            keep(&cache, &key.to_string(), &one);
            let kept = lock(&cache.kept);
            assert!(kept.bytes <= most && kept.entries.len() == kept.order.len());
        }
        assert_eq!(lock(&cache.kept).entries.len(), 8);
    }

    #[test]
    fn parts_that_no_model_reads_are_counted() {
        let long = "x".repeat(5000);
        let link = ResourceDescriptor::new("a://b", long.clone()).with_title(long.clone());
        let nested = json!({"a": [{"b": [long]}]});
        let results = [
            ToolResult::text("").with_meta("tests.example/a", long.clone()),
            ToolResult::text("").with_meta("tests.example/a", nested),
            ToolResult::new((0..100).map(|_| Content::text(""))),
            ToolResult::new([Content::link(link)]),
            ToolResult::new([Content::text("").with_meta(long.clone(), 1)]),
            ToolResult::new([Content::resource(ResourceContents::text("").with_uri(long.clone()))]),
            ToolResult::new([Content::image([], long.clone())]),
        ];
        for result in results.map(Outcome::from) {
            assert!(result.footprint() > 5000, "{result:?}");
        }
    }

    #[test]
    fn result_from_before_the_cache_was_cleared_is_not_kept() {
        let cache = Cache::new(Duration::from_secs(1));
        let Err(missed) = cache.find("a") else { panic!("nothing is kept yet") };
        cache.clear();
        cache.keep("a".to_owned(), &text("old"), missed);
        assert!(cache.find("a").is_err());
        keep(&cache, "a", &text("new"));
        assert!(cache.find("a").is_ok());
    }
}
