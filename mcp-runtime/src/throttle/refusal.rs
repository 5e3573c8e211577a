//! [`Throttled`]: what a caller beyond a limit is told, and when to come back.

use std::time::Duration;

use serde_json::json;

use super::rate::RateLimit;
use crate::jsonrpc::error::RpcError;

/// A request beyond a limit. Nothing of it has run, so it may be repeated.
#[derive(Debug, Clone)]
pub(crate) struct Throttled {
    text: String,
    /// After which a repeated request may be served.
    retry_after: Duration,
    /// How many requests are served at once, if that is the limit.
    limit: Option<u32>,
    /// Whether it is the server that is busy, whoever calls: over HTTP 503 instead of 429.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has a status"))]
    pub(crate) is_busy: bool,
    /// What the operator can change.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP logs refusals"))]
    pub(crate) change: &'static str,
}

impl Throttled {
    /// A request over a rate limit.
    pub(super) fn over_rate(limit: &RateLimit, what: &str, wait: Duration) -> Self {
        let text = format!("Too many requests: {what} allows {limit}. Wait {}, then try again.", seconds(wait));
        let change = "`Server::rate_limit`, the `rate` of handlers; `HttpService::principal`, `trust_proxies`";
        Throttled { text, retry_after: wait, limit: Some(limit.most_at_once()), is_busy: false, change }
    }

    /// A call for which there is no place, neither to run nor to wait.
    pub(super) fn busy(what: &str, running: usize) -> Self {
        let retry_after = Duration::from_secs(1);
        let text = format!(
            "Too many calls at once: {what} runs {running} of them, and as many wait as may. Wait {}, then try again.",
            seconds(retry_after)
        );
        Throttled { text, retry_after, limit: None, is_busy: true, change: "the `max_concurrent` of the handler" }
    }

    /// A call or stream of a caller who has as many as they may have.
    pub(crate) fn too_many(text: impl Into<String>) -> Self {
        let change =
            "`Limits::in_flight`, `streams`, `sessions_per_principal`; `HttpService::principal`, `trust_proxies`";
        Throttled { text: text.into(), retry_after: Duration::from_secs(1), limit: None, is_busy: false, change }
    }

    /// A call that needs a thread, of which all are taken, whoever calls.
    pub(crate) fn no_thread() -> Self {
        let text = "Too many calls in flight: wait for an answer, then try again";
        Throttled { is_busy: true, change: "`Limits::in_flight`", ..Self::too_many(text) }
    }

    /// The JSON-RPC error. MCP has no code for it yet; other servers use the same, and a proposal has the same data.
    pub(crate) fn to_error(&self) -> RpcError {
        let millis = self.retry_after.as_nanos().div_ceil(1_000_000);
        let mut data = json!({"retryAfterMs": u64::try_from(millis).unwrap_or(u64::MAX)});
        if let Some(limit) = self.limit {
            data["limit"] = json!(limit);
            data["remaining"] = json!(0);
        }
        RpcError::new(RpcError::THROTTLED, self.text.clone()).with_data(data)
    }

    /// For the header `Retry-After`.
    #[cfg(feature = "http")]
    pub(crate) fn retry_after_seconds(&self) -> u64 {
        self.retry_after.as_secs() + u64::from(self.retry_after.subsec_nanos() > 0)
    }

    #[cfg(feature = "http")]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// A time to wait, rounded up.
fn seconds(time: Duration) -> String {
    let tenths = time.as_millis().div_ceil(100).max(1);
    match (tenths / 10, tenths % 10) {
        (1, 0) => "1 second".to_owned(),
        (whole, 0) => format!("{whole} seconds"),
        (whole, tenth) if whole < 10 => format!("{whole}.{tenth} seconds"),
        (whole, _) => format!("{} seconds", whole + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_names_its_own_limit() {
        let rate = Throttled::over_rate(&RateLimit::per_second(1), "it", Duration::ZERO);
        assert!(rate.change.contains("`rate`") && !rate.is_busy);
        let busy = Throttled::busy("it", 1);
        assert!(busy.change.contains("`max_concurrent`") && busy.is_busy);
        let many = Throttled::too_many("too many");
        assert!(many.change.contains("`Limits::in_flight`") && !many.is_busy);
        assert!(Throttled::no_thread().change.contains("`Limits::in_flight`") && Throttled::no_thread().is_busy);
        for refusal in [busy, many] {
            assert_eq!(refusal.to_error().data.as_deref(), Some(&json!({"retryAfterMs": 1000})));
        }
    }

    #[test]
    fn time_to_wait_is_rounded_up() {
        let told = |millis| seconds(Duration::from_millis(millis));
        assert_eq!([told(0), told(1), told(100), told(950)], ["0.1 seconds", "0.1 seconds", "0.1 seconds", "1 second"]);
        assert_eq!([told(1400), told(30_000), told(30_200)], ["1.4 seconds", "30 seconds", "31 seconds"]);
        let wait = |wait| Throttled::over_rate(&RateLimit::per_second(1), "it", wait);
        assert_eq!(
            wait(Duration::from_nanos(1)).to_error().data.as_deref(),
            Some(&json!({"retryAfterMs": 1, "limit": 1, "remaining": 0}))
        );
        #[cfg(feature = "http")]
        assert_eq!(
            [1, 1_000_000_000, 1_000_000_001].map(|nanos| wait(Duration::from_nanos(nanos)).retry_after_seconds()),
            [1, 1, 2]
        );
    }
}
