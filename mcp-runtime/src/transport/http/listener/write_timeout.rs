//! A connection whose client has to take what it is sent: who reads nothing is not written to for ever.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::connection_limit::{BusyGuard, IdleClock};

/// A stream that fails when nothing could be written for too long.
#[derive(Debug)]
pub(crate) struct WriteTimeout<S> {
    stream: S,
    time: Duration,
    /// There while nothing can be written.
    stuck: Option<Stuck>,
    wait: Arc<IdleClock>,
}

#[derive(Debug)]
struct Stuck {
    most: Pin<Box<Sleep>>,
    /// Who is sent a response is not yet expected to send the next request.
    _busy: BusyGuard,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(stream: S, time: Duration, wait: Arc<IdleClock>) -> Self {
        WriteTimeout { stream, time, stuck: None, wait }
    }

    fn judge(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stuck = None;
            self.wait.again();
            return written;
        }
        let (time, wait) = (self.time, &self.wait);
        let stuck = || Stuck { most: Box::pin(tokio::time::sleep(time)), _busy: wait.busy() };
        self.stuck
            .get_or_insert_with(stuck)
            .most
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
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
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
