//! The HTTP transport: [`HttpService`], one endpoint for clients of every revision.
//!
//! A request of 2026-07-28 is served by itself (`stateless`); an older one belongs to a session (`session`), unless
//! the service keeps none (`sessionless`). `route` decides once, by the message and by headers that must not
//! contradict it. `legacy_sse` serves the transport of 2024-11-05, `listener` is the TCP server.
//!
//! A request that can be answered at once is served by plain functions, which return [`Responding`]. A future has
//! room for every path it might take, hyper keeps it in each connection, and by the next request it has left the
//! cache. So a future is boxed where it begins to wait. `benches/README.md` has the figures.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>
#![allow(clippy::result_large_err, reason = "an error is a response, and made once per request")]

mod atomic_duration;
mod caller;
mod edge;
mod endpoint;
mod idle_clock;
mod legacy_no_session;
mod legacy_sse;
mod listener;
mod options;
mod quota;
mod refusals;
pub(super) mod request;
mod response;
mod route;
mod session;
mod stateless;

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use edge::Edge;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use idle_clock::{BusyGuard, IdleClock};
use legacy_sse::SseSessions;
pub use listener::socket::{Listener, SocketStream, Sockets};
use quota::{MOST_REQUESTS, Quotas};
use refusals::{Refusals, Unlogged};
use request::HttpRequest;
use request::arrivals::Arrivals;
pub use request::forwarded::Forwarded;
use request::headers::Headers;
use request::origin::OriginPolicy;
use request::proxies::Proxies;
use request::watched::UnclaimedPost;
pub use response::body::Body;
use session::Sessions;
use session::stores::Stores;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[cfg(feature = "auth")]
use crate::auth::gate::Gate;
use crate::call::blocking::watchdog;
use crate::call::telemetry::watch::OverUnixSocket;
use crate::dispatch::tasks::takeover;
use crate::error::{Result, ServerError};
use crate::jsonrpc::error::RpcError;
use crate::server::Server;
use crate::server::core::Core;
use crate::server::handle::ServerHandle;
use crate::server::memory::Owner;
use crate::server::peer::Peer;
use crate::server::state::Phase;

/// A response, or a future of one. Most requests are answered at once, without the allocation of a future.
enum Responding<'a> {
    Done(Response<Body>),
    Later(Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>),
}

impl<'a> Responding<'a> {
    fn later(response: impl Future<Output = Response<Body>> + Send + 'a) -> Self {
        Responding::Later(Box::pin(response))
    }

    async fn finish(self) -> Response<Body> {
        match self {
            Responding::Done(response) => response,
            Responding::Later(response) => response.await,
        }
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A server as an HTTP service: listen with [`serve`](Self::serve), or nest it in axum or any other framework that takes
/// a [tower `Service`](tower_service::Service). Requires the feature `http`.
///
/// Made by [`Server::into_service`](crate::Server::into_service). One endpoint serves clients of every
/// [`Revision`](crate::Revision) since 2025-03-26; [`legacy_sse`](Self::legacy_sse) adds those of 2024-11-05. Set options
/// first, then clone: clones share the sessions and the state of the server.
///
/// ```no_run
/// use mcp_runtime::prelude::*;
///
/// /// Add two integers.
/// #[tool(read_only)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), ServerError> {
///     let server = Server::new("calculator", "1.0.0").tools(tools![add]);
///     let service = server.into_service().allow_hosts(["mcp.example.com", "localhost"]);
///     service.serve("0.0.0.0:8080").await
/// }
/// ```
///
/// In axum, authentication is middleware, and axum listens. Start the server's shutdown with axum's: open
/// streams would keep the application running.
///
/// ```ignore
/// let service = server.into_service().principal(|parts| parts.extensions.get::<User>().map(|user| user.id.clone()));
/// let handle = service.handle();
/// let router = axum::Router::new().nest_service("/mcp", service).layer(authentication);
/// axum::serve(listener, router)
///     .with_graceful_shutdown(async move {
///         let _ = tokio::signal::ctrl_c().await;
///         handle.start_shutdown();
///     })
///     .await?;
/// ```
///
/// # Responses
///
/// Errors are JSON-RPC errors with a status:
///
/// | status | reason |
/// |---|---|
/// | 400, 404, 405, 406, 415 | the request is malformed, or its method, path or headers are wrong; 404 also: the session is unknown or expired |
/// | 401 | with the feature `auth`: there is no valid token |
/// | 403 | the host or origin is not [allowed](Self::allow_hosts), or the caller lacks scopes |
/// | 408, 413 | the message arrives too slowly, or is too long |
/// | 429 | a quota of the [principal](Self::principal) is exhausted; with `Retry-After` |
/// | 503 | a limit of the server is reached, a store fails, or the server shuts down; with `Retry-After` |
///
/// The limits are those of [`Limits`](crate::Limits).
#[derive(Clone)]
pub struct HttpService(Arc<Service>);

struct Service {
    core: Arc<Core>,
    sessions: Arc<Sessions>,
    sse: Arc<SseSessions>,
    /// Permits for concurrent requests. A stream holds one until it ends.
    requests: Arc<Semaphore>,
    quotas: Arc<Quotas>,
    refusals: Refusals,
    /// The messages that are still arriving.
    arrivals: Arrivals,
    options: Options,
}

#[derive(Default)]
struct Options {
    origin_policy: OriginPolicy,
    principal: Option<PrincipalHook>,
    /// Verifies tokens; or what is wrong with its set-up.
    #[cfg(feature = "auth")]
    gate: Option<Result<Gate, String>>,
    proxies: Proxies,
    /// CORS, health probes and request ids, if any of them is switched on.
    edge: Option<Box<Edge>>,
    /// The session store and the event store, if sessions are stored.
    stores: Option<Arc<Stores>>,
    /// The path of the endpoint. `None`: `/mcp` for a listener, every path for a nested service.
    endpoint: Option<String>,
    stateless: bool,
    legacy_sse: bool,
    /// Whether signals are left to the application.
    keep_signals: bool,
}

impl Options {
    fn has_sessions(&self) -> bool {
        !self.stateless
    }
}

type PrincipalHook = Arc<dyn Fn(&Parts) -> Option<String> + Send + Sync>;

impl Server {
    /// Turns the server into an [`HttpService`], to set options of HTTP, or to nest it in axum or any other framework
    /// that takes a tower `Service`. Requires the feature `http`.
    pub fn into_service(mut self) -> HttpService {
        let keep_signals = self.signals_disabled;
        let (stores, set_up) = (self.stores.take(), self.http.take());
        #[cfg(feature = "auth")]
        let auth = self.auth.auth.take();
        let service = HttpService::new(self.into_core(), keep_signals);
        #[cfg(feature = "auth")]
        let service = match auth {
            Some(auth) if !auth.is_local() => service.authorize(auth),
            _ => service,
        };
        let service = match stores {
            Some(stores) => service.with_stores(stores),
            None => service,
        };
        service.set_up(set_up)
    }

    /// Serves clients over HTTP at `/mcp`, until SIGTERM, Ctrl-C or a [`ServerHandle`] shuts the server down. Short for
    /// [`into_service().serve(address)`](HttpService::serve). Requires the feature `http`.
    ///
    /// Only requests to `localhost`, `127.0.0.1` and `[::1]` are accepted; see [`HttpService::allow_hosts`].
    ///
    /// # Errors
    ///
    /// If the address cannot be bound: it is held by another process, for example, which the error names if it can.
    pub async fn serve_http(self, address: impl tokio::net::ToSocketAddrs) -> Result<(), ServerError> {
        self.into_service().serve(address).await
    }
}

impl HttpService {
    pub(crate) fn new(core: Arc<Core>, keep_signals: bool) -> Self {
        watchdog::start();
        let requests = Arc::new(Semaphore::new(core.limits.requests.min(MOST_REQUESTS as usize)));
        let (quotas, arrivals) = (Arc::new(Quotas::new(&core.limits)), Arrivals::new(core.limits.connections));
        let (sessions, sse, refusals) = (Arc::default(), Arc::default(), Refusals::default());
        let options = Options { keep_signals, ..Options::default() };
        HttpService(Arc::new(Service { core, sessions, sse, requests, quotas, refusals, arrivals, options }))
    }

    /// A handle to the server: to add and remove handlers, to announce changes, or to shut it down.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle::new(Arc::clone(&self.0.core.shared))
    }

    /// Shuts a nested service down gracefully. With [`serve`](Self::serve), use the [handle](Self::handle) instead.
    ///
    /// From now on requests are answered 503, and streams end with their result. Waits for calls in flight and running
    /// tasks, up to [`Limits::drain_timeout`](crate::Limits::drain_timeout), and then ends all sessions.
    pub async fn shutdown(&self) {
        self.handle().start_shutdown();
        let permits = u32::try_from(self.0.core.limits.requests).unwrap_or(MOST_REQUESTS).min(MOST_REQUESTS);
        let done = async {
            let _ = self.0.requests.acquire_many(permits).await;
            self.0.sessions.idle().await;
        };
        let limit = self.0.core.limits.drain_timeout;
        let (in_time, ()) = tokio::join!(tokio::time::timeout(limit, done), self.0.core.tasks.end(limit));
        if in_time.is_err() {
            self.0.give_up(Some(limit), self.0.requests.acquire_many(permits)).await;
        }
        self.0.sessions.end_all();
    }

    /// Answers a request. `path` is the default path of the endpoint; `None` accepts every path. `peer` is the other end
    /// of the connection and `idle` its clock, if the listener knows them.
    fn respond<'a, B>(
        &'a self,
        request: Request<B>,
        path: Option<&'a str>,
        peer: Option<Peer>,
        idle: Option<&'a Arc<IdleClock>>,
    ) -> impl Future<Output = Result<Response<Body>, Infallible>> + use<'a, B>
    where
        B: http_body::Body,
    {
        // Outside of the future, which would carry the size of the whole request as long as it lives.
        let (parts, body) = request.into_parts();
        let mut parts = Arc::new(parts);
        // Of the listener's connections, those over Unix sockets have no address.
        if self.0.core.watcher.is_some() && idle.is_some() && peer.is_none() {
            Arc::make_mut(&mut parts).extensions.insert(OverUnixSocket);
        }
        let peer = self.0.peer(peer, &mut parts);
        if let Some(edge) = &self.0.options.edge {
            edge.receive(&mut parts);
        }
        async move {
            let (headers, mut admitted) = (Headers::of(&parts.headers), None);
            let aside = self.0.aside(&parts);
            let unclaimed = match aside {
                Some(_) => None,
                None => UnclaimedPost::of(&self.0.core, &parts, &headers, peer),
            };
            let mut response = match aside {
                Some(aside) => {
                    let _busy = idle.map(IdleClock::busy);
                    aside.await
                }
                None => match self.0.refusal(&headers, &parts, idle.is_some()) {
                    Some(refusal) => refusal,
                    None => {
                        let http =
                            HttpRequest { unclaimed: unclaimed.as_deref(), ..HttpRequest::new(&parts, &headers, peer) };
                        self.0.answer(http, body, path, idle, &mut admitted).await
                    }
                },
            };
            if let Some(post) = &unclaimed {
                post.responded(&response);
            }
            // Only here, at the end of the way: a response is large, and is copied wherever it is changed.
            self.0.conclude(&mut response, &parts, peer, admitted);
            if let Some(edge) = &self.0.options.edge {
                edge.dress(&mut response, &headers, &parts, &self.0.options.origin_policy);
            }
            Ok(response)
        }
    }
}

impl Service {
    /// What is known of a request when it has been answered: `admitted` is kept for a stream, a long text is charged, a
    /// refusal logged.
    #[inline]
    fn conclude(&self, response: &mut Response<Body>, parts: &Parts, peer: Option<Peer>, admitted: Option<Admitted>) {
        response.body_mut().keep(admitted);
        if !response.body_mut().charge(&self.core.memory, || Owner::of(None, peer)) {
            *response = response::later(StatusCode::SERVICE_UNAVAILABLE, &response::no_memory().message);
        }
        if response.status().as_u16() >= 400 {
            self.refusals.report(response, peer, parts.extensions.get());
        }
    }

    /// The response to a request that is not served at all, whatever it says: it is refused, or a browser's preflight. The
    /// listener is closed when the server shuts down, and what it has accepted is served; whoever else may come to a nested
    /// service is told to go elsewhere.
    fn refusal(&self, headers: &Headers<'_>, parts: &Parts, by_listener: bool) -> Option<Response<Body>> {
        let has_proxies = !self.options.proxies.is_empty();
        let forwarded = if has_proxies { parts.extensions.get().and_then(Forwarded::host) } else { None };
        if let Some(why) = self.options.origin_policy.refusal(headers, &parts.uri, forwarded) {
            return Some(response::refuse(StatusCode::FORBIDDEN, RpcError::INVALID_REQUEST, &why));
        }
        let last = if by_listener { Phase::Draining } else { Phase::Running };
        let shuts_down = self.core.shared.phase() > last;
        if shuts_down {
            let text = "the server is shutting down; retry later";
            let mut refusal = response::later(StatusCode::SERVICE_UNAVAILABLE, text);
            // The log has the shutdown.
            refusal.extensions_mut().insert(Unlogged);
            return Some(refusal);
        }
        self.options.edge.as_ref()?.preflight(parts)
    }
}

/// A request that is being served.
struct Admitted {
    _permit: OwnedSemaphorePermit,
    /// Its connection is not idle.
    _busy: Option<BusyGuard>,
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        takeover::start(&service.0.core);
        Box::pin(async move { service.respond(request, None, None, None).await })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let service = &self.0;
        f.debug_struct("HttpService")
            .field("sessions", &service.sessions)
            .field("sse", &service.sse)
            .field("free_requests", &service.requests.available_permits())
            .finish_non_exhaustive()
    }
}
