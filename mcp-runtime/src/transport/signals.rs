//! Graceful shutdown on SIGTERM and Ctrl-C.

use std::io;
use std::sync::Arc;

use tokio::runtime::Builder;

use crate::server::state::{Phase, ServerState};
use crate::sync::spawn_thread;

/// Shuts the server down on the first signal. On the second, or when nothing is served any more, the process
/// exits at once, as it would without this handler.
///
/// It runs on a thread and a runtime of its own: the user's runtime may have no I/O driver, or be blocked by a
/// handler, which is when users press Ctrl-C.
pub(crate) fn end_on_signal(shared: &Arc<ServerState>) -> io::Result<()> {
    let shared = Arc::clone(shared);
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _in_runtime = runtime.enter();
        Signals::new()?
    };
    let wait = move || {
        runtime.block_on(async {
            loop {
                let code = signals.next().await;
                if shared.phase() > Phase::Running || !shared.is_served() {
                    #[cfg(unix)]
                    super::stdio::log_pump::flush();
                    std::process::exit(code);
                }
                tracing::info!("shutting down; calls in flight may finish");
                shared.enter(Phase::Draining);
            }
        });
    };
    spawn_thread("mcp-signals", Box::new(wait))
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next signal, and returns the exit code for it.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => 128 + 15,
            _ = self.interrupt.recv() => 128 + 2,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    fn new() -> io::Result<Self> {
        Ok(Signals)
    }

    /// Waits for the next signal, and returns the exit code for it.
    async fn next(&mut self) -> i32 {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        130
    }
}
