//! SIGTERM and Ctrl-C: a server that is told to end drains as if its client had gone.

use std::sync::Arc;
use std::{io, thread};

use tokio::runtime::Builder;

use crate::server::state::{Phase, ServerState};

/// Ends the server on the first signal. On the second, or when it is not served any more, the
/// process ends at once, as it would have without us.
///
/// On a thread and a runtime of its own: the user's may have no I/O driver, or be held up by a
/// handler, which is when somebody reaches for Ctrl-C.
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
                    std::process::exit(code);
                }
                tracing::info!("told to end; calls in flight may finish");
                shared.enter(Phase::Draining);
            }
        });
    };
    thread::Builder::new().name("mcp-signals".to_owned()).spawn(wait)?;
    Ok(())
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

    /// The exit code of a process that ends by the next signal.
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

    /// The exit code of a process that ends by the next signal.
    async fn next(&mut self) -> i32 {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        130
    }
}
