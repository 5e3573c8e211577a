//! Graceful shutdown on SIGTERM and Ctrl-C; on Windows, on the events of a console.

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

/// What ends a process with a console: keys, its window, and the end of Windows. After the last three Windows itself ends
/// the process, five seconds later.
#[cfg(windows)]
struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
    terminate: tokio::signal::windows::CtrlBreak,
    close: tokio::signal::windows::CtrlClose,
    logoff: tokio::signal::windows::CtrlLogoff,
    shutdown: tokio::signal::windows::CtrlShutdown,
}

#[cfg(windows)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::windows;

        Ok(Signals {
            interrupt: windows::ctrl_c()?,
            terminate: windows::ctrl_break()?,
            close: windows::ctrl_close()?,
            logoff: windows::ctrl_logoff()?,
            shutdown: windows::ctrl_shutdown()?,
        })
    }

    /// Waits for the next signal, and returns the exit code for it: `STATUS_CONTROL_C_EXIT`.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.close.recv() => {}
            _ = self.logoff.recv() => {}
            _ = self.shutdown.recv() => {}
        }
        0xC000_013A_u32.cast_signed()
    }
}

#[cfg(not(any(unix, windows)))]
struct Signals;

#[cfg(not(any(unix, windows)))]
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
