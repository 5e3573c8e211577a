//! The listener: accepts connections, of TCP and others, limits them, and drains them at shutdown.

mod bind;
mod clock;
mod connection_limit;
mod descriptors;
mod holder;
mod overdue;
pub(crate) mod socket;
#[cfg(feature = "systemd")]
mod systemd;
mod tls;
mod write_timeout;

use std::future::{poll_fn, ready};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::ToSocketAddrs;

use self::connection_limit::{ConnectionLimit, FIRST_REQUEST, Leave, Slot};
use self::socket::{Accept, Accepted, Listener};
use self::write_timeout::WriteTimeout;
use super::HttpService;
use crate::dispatch::tasks::takeover;
use crate::error::{Result, ServerError};
use crate::server::peer::Peer;
use crate::server::state::Phase;
use crate::transport::signals;

/// The default path of the endpoint.
const PATH: &str = "/mcp";
/// The least that hyper takes as the limit of its buffer.
const SMALLEST_HEAD: usize = 8192;
/// How long to wait after a failed `accept`.
const ACCEPT_RETRY: Duration = Duration::from_millis(20);

impl HttpService {
    /// Serves on this address until SIGTERM, Ctrl-C or the [handle](Self::handle) shuts the server down.
    ///
    /// Then the listener is closed, streams end with their result, and running requests have
    /// [`Limits::drain_timeout`](crate::Limits::drain_timeout) to finish. Whoever has connected by then may send a request.
    /// Calls that run longer are answered with an error, 503 if nothing of the response was sent. Observers are told of every
    /// request before this returns.
    ///
    /// The address is logged as a `tracing` event of level info, with the port that was chosen for port 0.
    ///
    /// # Errors
    ///
    /// If authorization is not set up well. If the address cannot be bound. On Linux the error names the process that holds it, if that can be told.
    pub async fn serve(self, address: impl ToSocketAddrs) -> Result<(), ServerError> {
        self.serve_on(bind::bind(address).await?).await
    }

    /// Like [`serve`](Self::serve), on a socket that is already bound: a [`TcpListener`](tokio::net::TcpListener), a
    /// [`UnixListener`](tokio::net::UnixListener), or several as [`Sockets`](super::Sockets).
    ///
    /// Whoever connects over a Unix socket has no address; a proxy there is named as `unix` in
    /// [`trust_proxies`](Self::trust_proxies).
    pub async fn serve_on(self, listener: impl Listener) -> Result<(), ServerError> {
        self.serve_with(listener, "http", log_url, |stream| ready(Ok(stream))).await
    }

    /// Serves on a listener whose connections begin with a handshake. `tell` says where it listens.
    async fn serve_with<L, H, F, S>(
        self,
        listener: L,
        scheme: &str,
        tell: fn(&str),
        handshake: H,
    ) -> Result<(), ServerError>
    where
        L: Accept,
        H: Fn(L::Stream) -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        #[cfg(feature = "auth")]
        self.check_authorization()?;
        if let Some(mistake) = self.0.options.hidden_endpoint(Some(self.path())) {
            return Err(ServerError::msg(mistake));
        }
        if listener.is_empty() {
            return Err(ServerError::msg(
                "there is no socket to listen on: add one with `Sockets::tcp` or `Sockets::unix`",
            ));
        }
        if !self.0.options.keep_signals {
            signals::end_on_signal(&self.0.core.shared)?;
        }
        self.0.core.secrets.agree().await;
        takeover::start(&self.0.core);
        #[cfg(feature = "auth")]
        self.preload_authorization();
        for url in listener.urls(scheme, self.path()) {
            tell(&url);
        }
        listen(self, listener, handshake).await
    }
}

#[cfg(feature = "cli")]
impl HttpService {
    /// Like [`serve`](Self::serve), and tells the person who started the server where it listens, instead of the log, which
    /// they may be reading, too.
    pub(crate) async fn serve_by_hand(self, address: &str) -> Result<(), ServerError> {
        let listener = bind::bind(address).await?;
        self.serve_with(listener, "http", |url| eprintln!("listening on {url}"), |stream| ready(Ok(stream))).await
    }
}

impl HttpService {
    /// The path of the endpoint.
    fn path(&self) -> &str {
        self.0.options.endpoint.as_deref().unwrap_or(PATH)
    }
}

fn log_url(url: &str) {
    tracing::info!("listening on {url}");
}

/// Accepts connections until the server shuts down. Then open connections have `Limits::drain_timeout` to
/// finish.
async fn listen<L, H, F, S>(service: HttpService, listener: L, handshake: H) -> Result<(), ServerError>
where
    L: Accept,
    H: Fn(L::Stream) -> F + Send + Sync + 'static,
    F: Future<Output = io::Result<S>> + Send + 'static,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let core = Arc::clone(&service.0.core);
    let _serving = core.shared.serving();
    let mut limit = ConnectionLimit::new(descriptors::within(core.limits.connections), core.limits.request_timeout);
    let handshake = Arc::new(handshake);
    let spawn = |(stream, peer): Accepted<L>, limit: &mut ConnectionLimit| {
        // Who has no address is one peer.
        let of = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), Peer::network);
        let handshake = Arc::clone(&handshake);
        // In the connection's task: a panic of the application's ends that connection, not the listener.
        let handshake = async move {
            L::prepare(&stream);
            handshake(stream).await
        };
        limit.spawn(of, |slot| serve(service.clone(), handshake, peer, slot));
    };
    let queued = accept(&service, listener, &mut limit, &spawn).await;
    limit.start_shutdown();
    let drained = async {
        let answered = async {
            for accepted in queued {
                limit.room().await;
                spawn(accepted, &mut limit);
            }
            limit.start_shutdown();
            limit.drained().await;
            service.0.sessions.idle().await;
        };
        tokio::join!(answered, core.tasks.running.at_most(0));
    };
    let timeout = core.limits.drain_timeout;
    let (is_done, after) = tokio::select! {
        drained = tokio::time::timeout(timeout, drained) => (drained.is_ok(), Some(timeout)),
        () = core.shared.reaches(Phase::Aborted) => (false, None),
    };
    if !is_done {
        service.0.give_up(after, limit.drained()).await;
        limit.close().await;
    }
    core.tasks.end(Duration::ZERO).await;
    // A clone of the service may be nested elsewhere, and would keep sessions and their calls alive.
    service.0.sessions.end_all();
    if let Some(replica) = &core.tasks.replica {
        // Clients open their streams elsewhere at once, and must not find them held.
        replica.released(core.limits.store_timeout).await;
    }
    Ok(())
}

/// Accepts connections until the server shuts down, and closes the socket then. Returns the connections that are not served
/// yet: their clients take them for accepted, and may have sent a request.
async fn accept<L: Accept>(
    service: &HttpService,
    listener: L,
    limit: &mut ConnectionLimit,
    spawn: impl Fn(Accepted<L>, &mut ConnectionLimit),
) -> Vec<Accepted<L>> {
    let mut shutdown = std::pin::pin!(service.0.core.shared.reaches(Phase::Draining));
    loop {
        let accepted = tokio::select! {
            accepted = socket::accept(&listener) => accepted,
            () = limit.tick() => continue,
            () = &mut shutdown => return socket::queued(listener),
        };
        match accepted {
            Ok(accepted) => {
                tokio::select! {
                    () = limit.room() => {}
                    () = &mut shutdown => {
                        return std::iter::once(accepted).chain(socket::queued(listener)).collect();
                    }
                }
                spawn(accepted, limit);
            }
            // Too many open files, or a client that disconnected already: the listener itself is fine.
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                limit.evict();
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

async fn serve<S>(
    service: HttpService,
    handshake: impl Future<Output = io::Result<S>>,
    peer: Option<Peer>,
    mut slot: Slot,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let handshake = tokio::select! {
        biased;
        made = handshake => made,
        () = too_late(&mut slot) => return,
    };
    let stream = match handshake {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "handshake failed"),
    };
    let limits = &service.0.core.limits;
    let mut builder = http1::Builder::new();
    // The connection limit has a timeout for that, without a timer per request.
    builder.header_read_timeout(None).max_buf_size(limits.head_bytes.max(SMALLEST_HEAD));
    let idle = Arc::clone(&slot.idle);
    let respond = service_fn(|request| service.respond(request, Some(PATH), peer, Some(&idle)));
    let stream = TokioIo::new(WriteTimeout::new(
        stream,
        limits.write_timeout,
        Arc::clone(&idle),
        Arc::clone(&service.0.core.memory),
    ));
    let mut connection = std::pin::pin!(builder.serve_connection(stream, respond));
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = slot.asked(Leave::AfterFirst) => {
            // Boxed: few connections come here, and all have room for what is awaited.
            if let Some(ended) = Box::pin(first_request(connection.as_mut(), &mut slot)).await {
                return report(ended);
            }
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                biased;
                ended = connection.as_mut() => ended,
                // Half a request, perhaps. One that has arrived is still served.
                () = slot.asked(Leave::Now) => if idle.is_busy() { connection.await } else { return },
            }
        }
    };
    report(ended);
}

/// Waits until a connection without a request has to go: when it is asked to, or a moment after a shutdown has begun.
async fn too_late(slot: &mut Slot) {
    slot.asked(Leave::AfterFirst).await;
    let _ = tokio::time::timeout(FIRST_REQUEST, slot.asked(Leave::WhenIdle)).await;
}

/// Waits until the first request has arrived, for a moment: a graceful shutdown of hyper closes a connection that has sent
/// nothing yet. Returns how the connection ended, if it did.
async fn first_request<C>(mut connection: Pin<&mut C>, slot: &mut Slot) -> Option<hyper::Result<()>>
where
    C: Future<Output = hyper::Result<()>>,
{
    let idle = Arc::clone(&slot.idle);
    let arrived = poll_fn(|cx| {
        if idle.is_busy() || idle.has_served() {
            return Poll::Ready(None);
        }
        match connection.as_mut().poll(cx) {
            Poll::Pending if !idle.is_busy() && !idle.has_served() => Poll::Pending,
            Poll::Pending => Poll::Ready(None),
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
        }
    });
    tokio::select! {
        ended = arrived => ended,
        () = slot.asked(Leave::WhenIdle) => None,
        () = tokio::time::sleep(FIRST_REQUEST) => None,
    }
}

fn report(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "connection closed with an error");
    }
}
