//! The TCP listener: accepts connections, limits them, and drains them at shutdown.

mod bind;
mod clock;
mod connection_limit;
mod descriptors;
mod holder;
mod write_timeout;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};

use self::connection_limit::{ConnectionLimit, FIRST_REQUEST, Leave, Slot};
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
/// The most connections that wait to be accepted: what tokio asks the system for.
const LONGEST_QUEUE: usize = 1024;
/// How long to wait after a failed `accept`.
const ACCEPT_RETRY: Duration = Duration::from_millis(20);

impl HttpService {
    /// Serves on this address until SIGTERM, Ctrl-C or the [handle](Self::handle) shuts the server down.
    ///
    /// Then the listener is closed, streams end with their result, and running requests have
    /// [`Limits::drain_timeout`](crate::Limits::drain_timeout) to finish. Whoever has connected by then may send a request.
    ///
    /// The address is logged as a `tracing` event of level info, with the port that was chosen for port 0.
    ///
    /// # Errors
    ///
    /// If authorization is not set up well. If the address cannot be bound. On Linux the error names the process that holds it, if that can be told.
    pub async fn serve(self, address: impl ToSocketAddrs) -> Result<(), ServerError> {
        self.serve_on(bind::bind(address).await?).await
    }

    /// Like [`serve`](Self::serve), on a listener that is already bound.
    pub async fn serve_on(self, listener: TcpListener) -> Result<(), ServerError> {
        #[cfg(feature = "auth")]
        self.check_authorization()?;
        if !self.0.options.keep_signals {
            signals::end_on_signal(&self.0.core.shared)?;
        }
        self.0.core.secrets.agree().await;
        takeover::start(&self.0.core);
        #[cfg(feature = "auth")]
        self.preload_authorization();
        listen(self, listener).await
    }
}

#[cfg(feature = "cli")]
impl HttpService {
    /// Like [`serve`](Self::serve), and tells the person who started the server where it listens.
    pub(crate) async fn serve_by_hand(self, address: &str) -> Result<(), ServerError> {
        let listener = bind::bind(address).await?;
        if let Some(url) = self.url(&listener) {
            eprintln!("listening on {url}");
        }
        self.serve_on(listener).await
    }
}

impl HttpService {
    /// Where clients find the endpoint.
    fn url(&self, listener: &TcpListener) -> Option<String> {
        let path = self.0.options.endpoint.as_deref().unwrap_or(PATH);
        listener.local_addr().ok().map(|address| format!("http://{address}{path}"))
    }
}

/// Accepts connections until the server shuts down. Then open connections have `Limits::drain_timeout` to
/// finish.
async fn listen(service: HttpService, listener: TcpListener) -> Result<(), ServerError> {
    if let Some(url) = service.url(&listener) {
        tracing::info!("listening on {url}");
    }
    let core = Arc::clone(&service.0.core);
    let _serving = core.shared.serving();
    let mut limit = ConnectionLimit::new(descriptors::within(core.limits.connections), core.limits.request_timeout);
    let queued = accept(&service, listener, &mut limit).await;
    limit.start_shutdown();
    let drained = async {
        let answered = async {
            for (stream, address) in queued {
                limit.room().await;
                spawn(&service, stream, address, &mut limit);
            }
            limit.start_shutdown();
            limit.drained().await;
            service.0.sessions.idle().await;
        };
        tokio::join!(answered, core.tasks.running.at_most(0));
    };
    tokio::select! {
        _ = tokio::time::timeout(core.limits.drain_timeout, drained) => {}
        () = core.shared.reaches(Phase::Aborted) => {}
    }
    core.tasks.end(Duration::ZERO).await;
    // A clone of the service may be nested elsewhere, and would keep sessions and their calls alive.
    service.0.sessions.end_all();
    Ok(())
}

/// Accepts connections until the server shuts down, and closes the socket then. Returns the connections that are not served
/// yet: their clients take them for accepted, and may have sent a request.
async fn accept(service: &HttpService, listener: TcpListener, limit: &mut ConnectionLimit) -> Vec<Accepted> {
    let mut shutdown = std::pin::pin!(service.0.core.shared.reaches(Phase::Draining));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = limit.tick() => continue,
            () = &mut shutdown => return queued(listener),
        };
        match accepted {
            Ok((stream, address)) => {
                tokio::select! {
                    () = limit.room() => {}
                    () = &mut shutdown => {
                        return std::iter::once((stream, address)).chain(queued(listener)).collect();
                    }
                }
                spawn(service, stream, address, limit);
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

type Accepted = (TcpStream, SocketAddr);

/// Closes the listener, and returns the connections that the system has accepted for it.
fn queued(listener: TcpListener) -> Vec<Accepted> {
    let Ok(listener) = listener.into_std() else { return Vec::new() };
    // At once, and nothing else meanwhile: a client that connects between the last one and the end is cut off.
    let queued: Vec<_> = std::iter::from_fn(|| listener.accept().ok()).take(LONGEST_QUEUE).collect();
    drop(listener);
    let into_tokio = |(stream, address): (std::net::TcpStream, SocketAddr)| {
        stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream)).ok().map(|stream| (stream, address))
    };
    queued.into_iter().filter_map(into_tokio).collect()
}

fn spawn(service: &HttpService, stream: TcpStream, address: SocketAddr, limit: &mut ConnectionLimit) {
    let peer = Peer::new(address.ip());
    limit.spawn(peer, |slot| serve(service.clone(), stream, peer, slot));
}

async fn serve(service: HttpService, stream: TcpStream, peer: Peer, mut slot: Slot) {
    // A response is one write; Nagle's algorithm would only delay it.
    let _ = stream.set_nodelay(true);
    let limits = &service.0.core.limits;
    let mut builder = http1::Builder::new();
    // The connection limit has a timeout for that, without a timer per request.
    builder.header_read_timeout(None).max_buf_size(limits.head_bytes.max(SMALLEST_HEAD));
    let idle = Arc::clone(&slot.idle);
    let respond = service_fn(|request| service.respond(request, Some(PATH), Some(peer), Some(&idle)));
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
