//! [`Listener`]: a socket that connections come from: TCP, Unix, or several at once.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::net::{TcpListener, TcpStream};

use crate::server::peer::Peer;

/// The most connections that wait to be accepted: what tokio asks the system for.
const LONGEST_QUEUE: usize = 1024;

/// A socket that [`serve_on`](crate::http::HttpService::serve_on) accepts connections from: a [`TcpListener`], a
/// [`UnixListener`](tokio::net::UnixListener), or [`Sockets`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a socket that a service can listen on",
    note = "give a `tokio::net::TcpListener` or `UnixListener`, or several as `mcp_runtime::http::Sockets`"
)]
pub trait Listener: Accept {}

impl<L: Accept> Listener for L {}

/// What the listener does with a socket. It cannot be named outside of the crate, so nothing else is a [`Listener`].
pub trait Accept: Send + Sync + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection, with the address of its other end if that has one.
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Self::Stream, Option<SocketAddr>)>>;

    /// Closes the socket, and returns the connections that the system has accepted for it.
    fn queued(self) -> Vec<(Self::Stream, Option<SocketAddr>)>;

    /// Where clients find the endpoint at this path, for the log.
    fn urls(&self, scheme: &str, path: &str) -> Vec<String>;

    /// Prepares a connection, in the task that serves it.
    fn prepare(_: &Self::Stream) {}

    /// Whether no connection can ever come from it.
    fn is_empty(&self) -> bool {
        false
    }
}

/// A connection that was accepted, and the peer at its other end if that has an address.
pub(super) type Accepted<L> = (<L as Accept>::Stream, Option<Peer>);

/// The next connection.
pub(super) async fn accept<L: Accept>(listener: &L) -> io::Result<Accepted<L>> {
    poll_fn(|cx| listener.poll_accept(cx)).await.map(with_peer)
}

/// The connections that wait; the socket is closed.
pub(super) fn queued<L: Accept>(listener: L) -> Vec<Accepted<L>> {
    listener.queued().into_iter().map(with_peer).collect()
}

fn with_peer<S>((stream, address): (S, Option<SocketAddr>)) -> (S, Option<Peer>) {
    (stream, address.map(|address| Peer::new(address.ip())))
}

impl Accept for TcpListener {
    type Stream = TcpStream;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, Option<SocketAddr>)>> {
        TcpListener::poll_accept(self, cx).map_ok(|(stream, address)| (stream, Some(address)))
    }

    fn queued(self) -> Vec<(TcpStream, Option<SocketAddr>)> {
        let Ok(listener) = self.into_std() else { return Vec::new() };
        // At once, and nothing else meanwhile: a client that connects between the last one and the end is cut off.
        let queued: Vec<_> = std::iter::from_fn(|| listener.accept().ok()).take(LONGEST_QUEUE).collect();
        drop(listener);
        let into_tokio = |(stream, address): (std::net::TcpStream, SocketAddr)| {
            let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            stream.ok().map(|stream| (stream, Some(address)))
        };
        queued.into_iter().filter_map(into_tokio).collect()
    }

    fn urls(&self, scheme: &str, path: &str) -> Vec<String> {
        self.local_addr().iter().map(|address| format!("{scheme}://{address}{path}")).collect()
    }

    fn prepare(stream: &TcpStream) {
        // A response is one write; Nagle's algorithm would only delay it.
        let _ = stream.set_nodelay(true);
    }
}

#[cfg(unix)]
impl Accept for UnixListener {
    type Stream = tokio::net::UnixStream;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Self::Stream, Option<SocketAddr>)>> {
        UnixListener::poll_accept(self, cx).map_ok(|(stream, _)| (stream, None))
    }

    fn queued(self) -> Vec<(Self::Stream, Option<SocketAddr>)> {
        let Ok(listener) = self.into_std() else { return Vec::new() };
        let queued: Vec<_> = std::iter::from_fn(|| listener.accept().ok()).take(LONGEST_QUEUE).collect();
        drop(listener);
        let into_tokio = |(stream, _): (std::os::unix::net::UnixStream, _)| {
            let stream = stream.set_nonblocking(true).and_then(|()| tokio::net::UnixStream::from_std(stream));
            stream.ok().map(|stream| (stream, None))
        };
        queued.into_iter().filter_map(into_tokio).collect()
    }

    fn urls(&self, scheme: &str, path: &str) -> Vec<String> {
        let address = self.local_addr().ok();
        let socket = address.as_ref().and_then(|address| address.as_pathname()).map(|path| path.display().to_string());
        vec![format!("{} ({scheme}, {path})", socket.as_deref().unwrap_or("a Unix socket"))]
    }
}

/// Several sockets, TCP and Unix, that one service listens on. With the feature `systemd`, `Sockets::from_systemd` has those
/// of a socket unit.
///
/// ```no_run
/// use mcp_runtime::http::Sockets;
/// use mcp_runtime::prelude::*;
/// use tokio::net::{TcpListener, UnixListener};
///
/// # async fn serve(server: Server) -> Result<(), ServerError> {
/// let sockets = Sockets::default()
///     .tcp(TcpListener::bind("127.0.0.1:8080").await?)
///     .unix(UnixListener::bind("/run/mcp.sock")?);
/// server.into_service().serve_on(sockets).await
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Sockets {
    sockets: Vec<Socket>,
    /// The one to ask first, so that none is starved.
    next: AtomicUsize,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

impl Sockets {
    /// Adds a TCP socket.
    #[must_use]
    pub fn tcp(mut self, listener: TcpListener) -> Self {
        self.sockets.push(Socket::Tcp(listener));
        self
    }

    /// Adds a Unix socket.
    #[cfg(unix)]
    #[must_use]
    pub fn unix(mut self, listener: UnixListener) -> Self {
        self.sockets.push(Socket::Unix(listener));
        self
    }
}

impl Accept for Sockets {
    type Stream = SocketStream;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(SocketStream, Option<SocketAddr>)>> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        for turn in 0..self.sockets.len() {
            let accepted =
                match &self.sockets[first.wrapping_add(turn) % self.sockets.len()] {
                    Socket::Tcp(listener) => Accept::poll_accept(listener, cx)
                        .map_ok(|(stream, address)| (SocketStream::Tcp(stream), address)),
                    #[cfg(unix)]
                    Socket::Unix(listener) => Accept::poll_accept(listener, cx)
                        .map_ok(|(stream, address)| (SocketStream::Unix(stream), address)),
                };
            if accepted.is_ready() {
                return accepted;
            }
        }
        Poll::Pending
    }

    fn queued(self) -> Vec<(SocketStream, Option<SocketAddr>)> {
        let queued = self.sockets.into_iter().map(|socket| -> Vec<_> {
            match socket {
                Socket::Tcp(listener) => {
                    let queued = listener.queued().into_iter();
                    queued.map(|(stream, address)| (SocketStream::Tcp(stream), address)).collect()
                }
                #[cfg(unix)]
                Socket::Unix(listener) => {
                    let queued = listener.queued().into_iter();
                    queued.map(|(stream, address)| (SocketStream::Unix(stream), address)).collect()
                }
            }
        });
        queued.flatten().collect()
    }

    fn urls(&self, scheme: &str, path: &str) -> Vec<String> {
        let urls = self.sockets.iter().flat_map(|socket| match socket {
            Socket::Tcp(listener) => listener.urls(scheme, path),
            #[cfg(unix)]
            Socket::Unix(listener) => listener.urls(scheme, path),
        });
        urls.collect()
    }

    fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    fn prepare(stream: &SocketStream) {
        match stream {
            SocketStream::Tcp(stream) => TcpListener::prepare(stream),
            #[cfg(unix)]
            SocketStream::Unix(_) => {}
        }
    }
}

/// A connection from one of several [`Sockets`].
#[derive(Debug)]
pub enum SocketStream {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

/// Calls the same method of whichever stream it is.
macro_rules! whichever {
    ($stream:expr, $method:ident $(, $argument:expr)*) => {
        match $stream {
            SocketStream::Tcp(stream) => Pin::new(stream).$method($($argument),*),
            #[cfg(unix)]
            SocketStream::Unix(stream) => Pin::new(stream).$method($($argument),*),
        }
    };
}

impl AsyncRead for SocketStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        whichever!(self.get_mut(), poll_read, cx, buf)
    }
}

impl AsyncWrite for SocketStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        whichever!(self.get_mut(), poll_write, cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        whichever!(self.get_mut(), poll_write_vectored, cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            SocketStream::Tcp(stream) => stream.is_write_vectored(),
            #[cfg(unix)]
            SocketStream::Unix(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        whichever!(self.get_mut(), poll_flush, cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        whichever!(self.get_mut(), poll_shutdown, cx)
    }
}
