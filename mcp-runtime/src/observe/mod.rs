//! Observing requests: [`Observer`], and what it is told. Set by [`Server::observe`](crate::Server::observe).

mod access_log;
mod finished;
#[cfg(feature = "otel")]
mod otel_metrics;
mod outcome;
mod repeated;
mod session_hash;
mod spans;

pub use self::access_log::AccessLog;
pub use self::finished::{Asked, ClientName, Finished, Notified, SessionEnded, Transport};
pub(crate) use self::finished::{ClientField, OTHER};
#[cfg(feature = "otel")]
pub use self::otel_metrics::OtelMetrics;
pub use self::outcome::Outcome;
pub(crate) use self::repeated::Repeated;
pub use self::session_hash::SessionHash;
pub use self::spans::Spans;

/// Is told what became of each request: for metrics, logs, audits and tests.
///
/// [`finished`](Self::finished) is called exactly once per request of a client, whatever becomes of it, on every
/// transport. It runs on the thread that has the answer: count and return. A panic is logged, and harms nobody.
///
/// A closure is an observer:
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use mcp_runtime::observe::Finished;
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
///
/// /// Add two integers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let calls = Arc::new(AtomicU64::new(0));
/// let counter = Arc::clone(&calls);
/// let server = Server::new("calculator", "1.0.0").tools(tools![add]).observe(move |request: &Finished<'_>| {
///     if request.method == "tools/call" {
///         counter.fetch_add(1, Ordering::Relaxed);
///     }
/// });
/// let client = TestClient::connect(server).await?;
/// client.call("add", json!({"a": 1, "b": 2})).await?;
/// assert_eq!(calls.load(Ordering::Relaxed), 1);
/// # Ok(())
/// # }
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Called once for every request of a client, when it is over: answered, refused, cancelled or dropped.
    fn finished(&self, request: &Finished<'_>);

    /// A request of the server's to a client is over: an elicitation, sampling or `roots/list`, in revisions with
    /// sessions. In 2026-07-28 questions are part of a result: [`Outcome::InputRequired`].
    fn asked(&self, request: &Asked<'_>) {
        let _ = request;
    }

    /// A notification of a client's was taken. One that is refused is not told of, unless that happens before its message is
    /// read, because it is too long, for example: then it may have been a request as well, and
    /// [`finished`](Self::finished) is told of a refused one with the method `_OTHER`.
    fn notified(&self, notification: &Notified<'_>) {
        let _ = notification;
    }

    /// A session is over: `initialize` has opened it. With a [backend](crate::Server::backend) or a session store, the
    /// replica that opened it tells; not if its copy of the session was idle or had to make room, because the session may
    /// go on at another.
    fn session_ended(&self, session: &SessionEnded) {
        let _ = session;
    }
}

impl<F: Fn(&Finished<'_>) + Send + Sync + 'static> Observer for F {
    fn finished(&self, request: &Finished<'_>) {
        self(request);
    }
}
