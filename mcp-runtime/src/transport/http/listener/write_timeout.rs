//! The write timeout of a connection: a client that stops reading is disconnected.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::transport::http::idle_clock::{BusyGuard, IdleClock};

/// A stream whose writes fail after the client has read nothing for the length of a timeout.
#[derive(Debug)]
pub(crate) struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// The write that waits for the client, if one does.
    blocked: Option<BlockedWrite>,
    idle: Arc<IdleClock>,
}

#[derive(Debug)]
struct BlockedWrite {
    deadline: Pin<Box<Sleep>>,
    /// A client that still reads a response is not yet expected to send the next request.
    _busy: BusyGuard,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(stream: S, timeout: Duration, idle: Arc<IdleClock>) -> Self {
        WriteTimeout { stream, timeout, blocked: None, idle }
    }

    /// Starts the timeout when a write blocks, and resets it when one succeeds.
    fn check(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.blocked = None;
            self.idle.restart();
            return written;
        }
        let (timeout, idle) = (self.timeout, &self.idle);
        let blocked = || BlockedWrite { deadline: Box::pin(tokio::time::sleep(timeout)), _busy: idle.busy() };
        self.blocked
            .get_or_insert_with(blocked)
            .deadline
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "write timed out: the client does not read")))
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

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
