//! The write timeout of a connection: a client that stops reading, or reads too slowly, is disconnected.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::server::memory::MemoryBudget;
use crate::transport::http::idle_clock::{BusyGuard, IdleClock};

/// The least a client must read of what waits for it, in bytes per second.
const LEAST_RATE: u32 = 8 * 1024;
/// How long a client has to reach that rate while memory is short. Otherwise it has the timeout.
const SHORT_WINDOW: Duration = Duration::from_secs(2);

/// A stream whose writes fail when the client reads nothing, or too slowly, for the length of a timeout.
#[derive(Debug)]
pub(crate) struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// What waits for the client, if anything does.
    blocked: Option<BlockedWrite>,
    idle: Arc<IdleClock>,
    memory: Arc<MemoryBudget>,
}

/// Writes that have waited for the client, until all is flushed.
#[derive(Debug)]
struct BlockedWrite {
    since: Instant,
    /// What the client has read since then.
    written: usize,
    next_check: Pin<Box<Sleep>>,
    /// A client that still reads a response is not yet expected to send the next request.
    _busy: BusyGuard,
}

impl BlockedWrite {
    /// Whether the client has read too little in the time it had. If it has not, it gets that time again.
    fn is_too_slow(&mut self, window: Duration) -> bool {
        let now = Instant::now();
        let waited = now - self.since;
        if waited < window {
            return false;
        }
        // With a part of a second a client must not read more than it can.
        let least = u64::from(LEAST_RATE).saturating_mul(waited.as_secs()).max(1);
        if (self.written as u64) < least {
            return true;
        }
        (self.since, self.written) = (now, 0);
        false
    }
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(stream: S, timeout: Duration, idle: Arc<IdleClock>, memory: Arc<MemoryBudget>) -> Self {
        WriteTimeout { stream, timeout, blocked: None, idle, memory }
    }

    /// Starts the timeout when a write blocks, and counts what the client reads from then on.
    fn check(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(result) = written {
            if let (Some(blocked), Ok(count)) = (&mut self.blocked, &result) {
                blocked.written += count;
            }
            self.idle.restart();
            return Poll::Ready(result);
        }
        let interval = self.timeout.min(SHORT_WINDOW);
        let idle = &self.idle;
        let blocked = self.blocked.get_or_insert_with(|| BlockedWrite {
            since: Instant::now(),
            written: 0,
            next_check: Box::pin(tokio::time::sleep(interval)),
            _busy: idle.busy(),
        });
        while blocked.next_check.as_mut().poll(cx).is_ready() {
            let window = if self.memory.is_short() { interval } else { self.timeout };
            if blocked.is_too_slow(window) {
                let text = "write timed out: the client does not read, or reads too slowly";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)));
            }
            blocked.next_check.as_mut().reset(Instant::now() + interval);
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.check(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when all is written: the client has read it, or the system keeps it for the client.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Ready(flushed) => {
                self.blocked = None;
                Poll::Ready(flushed)
            }
            // TLS has a buffer of its own: it takes what the client does not read.
            Poll::Pending => self.check(cx, Poll::Pending).map_ok(drop),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::limits::Limits;

    /// A stream that takes all, and never gets rid of it.
    struct Hoard;

    impl AsyncWrite for Hoard {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_buffer_keeps_counts_as_unread() {
        let (idle, memory) = (Arc::default(), Arc::new(MemoryBudget::new(&Limits::default())));
        let mut stream = WriteTimeout::new(Hoard, Duration::from_secs(30), Arc::clone(&idle), memory);
        let begun = Instant::now();
        let written = poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, b"a response")).await;
        assert_eq!(written.unwrap(), 10);
        let flushed = poll_fn(|cx| Pin::new(&mut stream).poll_flush(cx)).await;
        assert_eq!(flushed.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= Duration::from_secs(30) && idle.is_busy());
    }
}
