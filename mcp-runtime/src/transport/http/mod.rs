//! The HTTP transports: one endpoint for every revision.
//!
//! A request of 2026-07-28 is served by itself (`stateless`); an older one belongs to a session (`session`), unless
//! the server has none (`sessionless`). `route` decides once, by the message and by headers that must not
//! contradict it.
//!
//! A request that can be answered at once is served by plain functions, which return [`Responding`]. A future has
//! room for every path it might take, hyper keeps it in each connection, and by the next request it has left the
//! cache. So a future is boxed where it begins to wait. `benches/README.md` has the figures.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>
#![allow(clippy::result_large_err, reason = "a refusal is a response, and made once")]

mod atomic_duration;
mod caller;
mod endpoint;
mod legacy_sse;
mod listener;
mod quota;
pub(super) mod request;
mod response;
mod route;
mod session;
mod sessionless;
mod stateless;

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::request::Parts;
use http::{Request, Response, StatusCode};
use legacy_sse::SseSessions;
use quota::{MOST_REQUESTS, Quotas};
use session::Sessions;
use tokio::sync::Semaphore;

use crate::error::{Result, ServerError};
use crate::jsonrpc::error::RpcError;
use crate::server::Server;
use crate::server::core::Core;
use crate::server::handle::ServerHandle;
use crate::server::state::Phase;
use crate::store::{EventStore, SessionStore};
use crate::transport::http::request::body_budget::BodyBudget;
use crate::transport::http::request::headers::Headers;
use crate::transport::http::request::origin::OriginPolicy;
pub use crate::transport::http::response::body::Body;
use crate::transport::http::session::stores::Stores;

/// What comes of a request: a response at once, or when what it waits for is there. Most are done at once,
/// and pay for no more.
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

/// A server as a service for HTTP requests: a tower `Service`, to be nested in axum or anything else
/// that takes one. Clones share everything.
#[derive(Clone)]
pub struct HttpService(Arc<Service>);

struct Service {
    core: Arc<Core>,
    sessions: Arc<Sessions>,
    sse: Arc<SseSessions>,
    /// Places for requests; a stream has one until it is over.
    requests: Arc<Semaphore>,
    /// What of them each caller has.
    shares: Arc<Quotas>,
    /// What may be in memory of long messages.
    bodies: BodyBudget,
    options: Options,
}

#[derive(Default)]
struct Options {
    guard: OriginPolicy,
    principal: Option<Principal>,
    /// Where sessions are kept besides.
    stores: Option<Arc<Stores>>,
    /// The path of the endpoint; none if whoever nests the service decides that.
    endpoint: Option<String>,
    stateless: bool,
    sse: bool,
    keep_signals: bool,
}

impl Options {
    fn has_sessions(&self) -> bool {
        !self.stateless
    }
}

type Principal = Arc<dyn Fn(&Parts) -> Option<String> + Send + Sync>;

impl Server {
    /// The server as a service for HTTP, to be nested in axum or anything else that takes a tower
    /// `Service`. For the feature `http`.
    pub fn into_service(self) -> HttpService {
        let keep_signals = self.signals_disabled;
        HttpService::new(self.into_core(), keep_signals)
    }

    /// Serves clients of every revision over HTTP, on one endpoint, until SIGTERM or Ctrl-C. For the
    /// feature `http`.
    pub async fn serve_http(self, address: impl tokio::net::ToSocketAddrs) -> Result<(), ServerError> {
        self.into_service().serve(address).await
    }
}

impl HttpService {
    pub(crate) fn new(core: Arc<Core>, keep_signals: bool) -> Self {
        let requests = Arc::new(Semaphore::new(core.limits.requests.min(MOST_REQUESTS as usize)));
        let (shares, bodies) = (Arc::new(Quotas::new(&core.limits)), BodyBudget::new(&core.limits));
        let (sessions, sse) = (Arc::default(), Arc::default());
        let options = Options { keep_signals, ..Options::default() };
        HttpService(Arc::new(Service { core, sessions, sse, requests, shares, bodies, options }))
    }

    /// Sets the host names the server answers to, without ports: `*` is any. Without, it answers to
    /// `localhost`, `127.0.0.1` and `[::1]`, so that no page in a browser can reach it by another name.
    ///
    /// The list replaces that default: name `localhost` in it, too, if it should go on working. An empty
    /// list is the default.
    ///
    /// ```
    /// use mcp_runtime::Server;
    ///
    /// let service = Server::new("maps", "1.0.0").into_service().allow_hosts(["mcp.example.com", "localhost"]);
    /// ```
    ///
    /// # Panics
    ///
    /// On what can never match: a name with a scheme, a path or a port, or none at all.
    #[track_caller]
    pub fn allow_hosts(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let hosts: Vec<String> = hosts.into_iter().map(Into::into).collect();
        for host in &hosts {
            if let Err(mistake) = crate::transport::http::request::origin::check_host(host) {
                panic!("{mistake}");
            }
        }
        self.with(|options| options.guard.hosts = hosts)
    }

    /// Sets the origins whose pages may call the server, like `https://app.example.com`. Without, those
    /// are the pages of the server's own hosts. The list replaces that default; an empty list is it.
    ///
    /// This is about who is let in: the header `Origin` of a request is held against the list. A browser
    /// lets a page of another origin read the answer only if that has CORS headers, too. They come from a
    /// layer in front, like the `CorsLayer` of `tower-http`, which also answers what browsers ask first
    /// (`OPTIONS`):
    ///
    /// ```ignore
    /// let page = "https://app.example.com".parse::<HeaderValue>()?;
    /// let cors = CorsLayer::new()
    ///     .allow_origin(page)
    ///     .allow_methods([Method::POST, Method::GET, Method::DELETE])
    ///     .allow_headers(AllowHeaders::mirror_request())
    ///     .expose_headers([HeaderName::from_static("mcp-session-id")]);
    /// let service = server.into_service().allow_hosts(["mcp.example.com"]).allow_origins(["https://app.example.com"]);
    /// let router = Router::new().nest_service("/mcp", service).layer(cors);
    /// ```
    ///
    /// # Panics
    ///
    /// On what can never match: an origin without a scheme, or with a path.
    #[track_caller]
    pub fn allow_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let origins: Vec<String> = origins.into_iter().map(Into::into).collect();
        for origin in &origins {
            if let Err(mistake) = crate::transport::http::request::origin::check_origin(origin) {
                panic!("{mistake}");
            }
        }
        self.with(|options| options.guard.origins = origins)
    }

    /// Says who makes a request, from what a layer in front has found out. A session belongs to who
    /// opened it; for others it does not exist. What one caller may have at a time
    /// ([`Limits::in_flight`](crate::Limits::in_flight), [`Limits::streams`](crate::Limits::streams))
    /// is counted by it, too. Handlers have it as `ctx.principal()`.
    ///
    /// `None` is an anonymous caller, who is served like any other. Whoever should not be served is
    /// refused before, by a layer in front.
    #[track_caller]
    pub fn principal(self, principal: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.with(|options| options.principal = Some(Arc::new(principal)))
    }

    /// Keeps sessions of clients of 2025-03-26 to 2025-11-25 in a store, so that any replica can serve
    /// them, and the same one after a restart. See [`store`](crate::store).
    ///
    /// Each request looks its session up there. What runs stays where it began: a cancellation must
    /// reach the replica that runs the call.
    #[track_caller]
    pub fn session_store(self, store: Arc<impl SessionStore>) -> Self {
        self.with(|options| options.stores = Some(Arc::new(Stores::new(store))))
    }

    /// Keeps the events of their streams in a store, so that a client which was cut off can go on at any
    /// replica. Comes after [`session_store`](Self::session_store): without it no other replica knows
    /// the session.
    #[track_caller]
    pub fn event_store(self, store: Arc<impl EventStore>) -> Self {
        assert!(
            self.0.options.stores.is_some(),
            "set the session store first: without it no other replica knows a session"
        );
        self.with(|options| {
            if let Some(stores) = options.stores.as_mut().and_then(Arc::get_mut) {
                stores.events = Some(store);
            }
        })
    }

    /// Keeps no sessions for clients of 2025-03-26 to 2025-11-25: every request is served by itself, so
    /// that any replica can serve it. They are then told of nothing between requests, and
    /// `logging/setLevel` and `resources/subscribe` have no effect.
    #[track_caller]
    pub fn stateless(self) -> Self {
        self.with(|options| options.stateless = true)
    }

    /// Serves clients of 2024-11-05, too, which open a stream with `GET …/sse` and send messages with
    /// `POST …/messages`. That transport is deprecated; without this it is off.
    #[track_caller]
    pub fn legacy_sse(self) -> Self {
        self.with(|options| options.sse = true)
    }

    /// Sets the path of the endpoint; requests for others are not found. For [`serve`](Self::serve) it
    /// is `/mcp`; a service that is nested elsewhere takes every path it is given.
    #[track_caller]
    pub fn endpoint(self, path: impl Into<String>) -> Self {
        self.with(|options| options.endpoint = Some(path.into()))
    }

    #[track_caller]
    fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        let inner = Arc::get_mut(&mut self.0).expect("set options before the service is cloned");
        change(&mut inner.options);
        self
    }

    /// A handle on the server.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle::new(Arc::clone(&self.0.core.shared))
    }

    /// Ends the server gracefully, where it is not [served](Self::serve) but nested in something that
    /// is: from now on requests are answered 503, streams end with their result, and what runs has
    /// [`Limits::drain`](crate::Limits::drain_timeout) to finish.
    pub async fn shutdown(&self) {
        self.handle().start_shutdown();
        let places = u32::try_from(self.0.core.limits.requests).unwrap_or(MOST_REQUESTS).min(MOST_REQUESTS);
        let done = async {
            let _ = self.0.requests.acquire_many(places).await;
            self.0.sessions.at_rest().await;
        };
        let grace = self.0.core.limits.drain_timeout;
        let _ = tokio::join!(tokio::time::timeout(grace, done), self.0.core.tasks.end(grace));
        self.0.sessions.end_all();
    }

    /// Answers a request; on a path of its own, unless it takes every path it is given. Who is `busy` with
    /// it is so until the response is over.
    fn respond<'a, B, T>(
        &'a self,
        request: Request<B>,
        path: Option<&'a str>,
        busy: T,
    ) -> impl Future<Output = Result<Response<Body>, Infallible>> + use<'a, B, T>
    where
        B: http_body::Body,
        B::Error: Into<BoxError>,
        T: Send + 'static,
    {
        // Out here: what a future is given it has room for as long as it lives.
        let (parts, body) = request.into_parts();
        let parts = Arc::new(parts);
        async move {
            let mut response = self.0.respond(&parts, body, path).await;
            response.body_mut().keep(busy);
            Ok(response)
        }
    }
}

impl Service {
    async fn respond<B>(&self, parts: &Arc<Parts>, body: B, path: Option<&str>) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<BoxError>,
    {
        let headers = Headers::of(&parts.headers);
        if let Some(why) = self.options.guard.refusal(&headers, &parts.uri) {
            return response::refuse(StatusCode::FORBIDDEN, RpcError::INVALID_REQUEST, &why);
        }
        if self.core.shared.phase() > Phase::Running {
            return response::later(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down");
        }
        let Ok(place) = Arc::clone(&self.requests).try_acquire_owned() else {
            return response::later(StatusCode::SERVICE_UNAVAILABLE, "too many requests at a time");
        };
        let mut response = self.answer(parts, &headers, body, path).await;
        response.body_mut().keep(place);
        response
    }
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
        Box::pin(async move { service.respond(request, None, ()).await })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("sessions", &self.0.sessions).finish_non_exhaustive()
    }
}
