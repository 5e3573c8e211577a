//! The server of the HTTP tests: handlers that wait, notify, block and fail, and count their calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::Site;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::{ErrorCode, Limits, Revision};

/// The handlers, and the counts of their calls.
#[derive(Debug, Default)]
pub struct TestServer {
    /// Calls that began.
    pub begun: AtomicUsize,
    /// Calls that ran to their end.
    pub finished: AtomicUsize,
    /// Calls that are over, finished or not.
    pub dropped: AtomicUsize,
    /// Blocking calls that noticed their cancellation.
    pub noticed: AtomicUsize,
}

struct Dropped<'a>(&'a AtomicUsize);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[handlers]
#[allow(clippy::unused_self, reason = "handlers of one value, some of which need nothing of it")]
impl TestServer {
    /// Add two numbers.
    #[tool]
    fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }

    /// Sleep.
    #[tool]
    async fn sleep(&self, ms: u64) -> String {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let _dropped = Dropped(&self.dropped);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.finished.fetch_add(1, Ordering::SeqCst);
        format!("slept {ms}")
    }

    /// Tell of every step.
    #[tool]
    async fn steps(&self, ctx: &Context, n: u32) -> String {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let _dropped = Dropped(&self.dropped);
        for step in 1..=n {
            ctx.progress(step, n).await;
            ctx.log(LogLevel::Warning, format!("step {step}")).await;
            tokio::time::sleep(Duration::from_millis(12)).await;
        }
        self.finished.fetch_add(1, Ordering::SeqCst);
        format!("{n} steps")
    }

    /// Tell once, without waiting.
    #[tool]
    async fn murmur(&self, ctx: &Context) -> &'static str {
        ctx.log(LogLevel::Warning, "hm").await;
        "murmured"
    }

    /// Tell once, and then wait for long.
    #[tool]
    async fn hum(&self, ctx: &Context) {
        ctx.log(LogLevel::Warning, "hm").await;
        tokio::time::sleep(Duration::from_secs(10 * 60)).await;
    }

    /// Block until nobody waits any more.
    #[tool(blocking)]
    fn block(&self, ctx: &Context) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        for _ in 0..2000 {
            if ctx.is_cancelled() {
                self.noticed.fetch_add(1, Ordering::SeqCst);
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Say far too much.
    #[tool]
    async fn babble(&self, ctx: &Context) -> &'static str {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let _dropped = Dropped(&self.dropped);
        for _ in 0..4000 {
            ctx.log(LogLevel::Warning, "x".repeat(8 * 1024)).await;
        }
        "done"
    }

    /// Where things are.
    #[tool]
    fn place(
        &self,
        #[arg(header = "Region")] region: Option<String>,
        #[arg(header = "Tenant-Id")] tenant: Option<i64>,
        #[arg(header = "Dry")] dry: Option<bool>,
    ) -> String {
        format!("{region:?} {tenant:?} {dry:?}")
    }

    /// Panic at once.
    #[tool]
    fn panic(&self) {
        panic!("a secret");
    }

    /// Panic later.
    #[tool]
    async fn panic_later(&self) {
        tokio::time::sleep(Duration::from_millis(5)).await;
        panic!("a secret");
    }

    /// Fail, as a tool does.
    #[tool]
    fn fail(&self) -> Result<()> {
        Err(Error::msg("it is raining"))
    }

    /// Fail with a code of one's own.
    #[tool]
    fn fail_own(&self) -> Result<()> {
        Err(Error::application(ErrorCode::new(4004), "not here"))
    }

    /// Fail as the protocol does.
    #[tool]
    fn fail_params(&self) -> Result<()> {
        Err(Error::invalid_params("no such thing"))
    }

    /// Change the weather.
    #[tool]
    fn change(&self, ctx: &Context) {
        ctx.server().resource_updated("weather://now");
    }

    /// Say much.
    #[tool]
    fn long(&self, n: usize) -> String {
        "x".repeat(n)
    }

    /// The weather.
    #[resource("weather://now", subscribe)]
    fn weather(&self) -> &'static str {
        "rain"
    }

    /// A note.
    #[resource("note://{id}")]
    fn note(&self, id: String) -> String {
        id
    }

    /// Greet.
    #[prompt]
    fn greet(&self) -> &'static str {
        "hello"
    }
}

/// A tool to add while serving.
#[tool]
pub fn extra() -> &'static str {
    "extra"
}

/// A server with these handlers.
pub fn server(state: &Arc<TestServer>) -> Server {
    Server::new("test-server", "1.0.0").dynamic().disable_signals().mount(Arc::clone(state))
}

/// The server, listening.
pub async fn site() -> (Site, Arc<TestServer>) {
    site_within(|_| {}).await
}

/// The server, listening, with other limits.
pub async fn site_within(change: impl FnOnce(&mut Limits)) -> (Site, Arc<TestServer>) {
    let state = Arc::default();
    let mut limits = Limits::default();
    change(&mut limits);
    (Site::of(server(&state).limits(limits)).await, state)
}

/// The revisions that have sessions over HTTP.
pub const SESSIONS: [Revision; 3] = [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25];
