//! The HTTP transports: one endpoint for every revision.
//!
//! A request of 2026-07-28 is served by itself (`modern`); older ones belong to a session (`legacy`).
//! Which it is, the message says, and its headers must not contradict it.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>

mod alarm;
mod body;
mod guard;
mod headers;
mod legacy;
mod modern;
mod respond;
mod serve;
mod sessions;

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use serde_json::json;
use tokio::sync::Semaphore;

pub use body::Body;
use body::Incomplete;
use guard::Guard;
use headers::{Headers, mismatch};
use sessions::Sessions;

use crate::depth;
use crate::era::{self, Era};
use crate::error::{Result, RpcError};
use crate::handle::ServerHandle;
use crate::jsonrpc::{self, Message};
use crate::protocol::Revision;
use crate::server::Core;
use crate::shared::Phase;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A server as a service for HTTP requests: a tower `Service`, to be nested in axum or anything else
/// that takes one. Clones share everything.
#[derive(Clone)]
pub struct HttpService(Arc<Inner>);

struct Inner {
    core: Arc<Core>,
    sessions: Sessions,
    requests: Semaphore,
    options: Options,
}

#[derive(Default, Clone)]
struct Options {
    guard: Guard,
    principal: Option<Principal>,
}

type Principal = Arc<dyn Fn(&Parts) -> Option<String> + Send + Sync>;

impl HttpService {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let requests = Semaphore::new(core.limits.requests.min(Semaphore::MAX_PERMITS));
        HttpService(Arc::new(Inner { core, sessions: Sessions::default(), requests, options: Options::default() }))
    }

    /// Sets the host names the server answers to, without ports: `*` is any. Without, it answers to
    /// `localhost`, `127.0.0.1` and `[::1]`, so that no page in a browser can reach it by another name.
    #[track_caller]
    pub fn allow_hosts(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|options| options.guard.hosts = hosts.into_iter().map(Into::into).collect())
    }

    /// Sets the origins whose pages may call the server, like `https://app.example.com`. Without, those
    /// are the pages of the server's own hosts.
    #[track_caller]
    pub fn allow_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|options| options.guard.origins = origins.into_iter().map(Into::into).collect())
    }

    /// Says who makes a request, from what a layer in front has found out. A session belongs to who
    /// opened it; for others it does not exist.
    #[track_caller]
    pub fn principal(self, principal: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.with(|options| options.principal = Some(Arc::new(principal)))
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

    /// Serves on this address until SIGTERM, Ctrl-C or the handle ends it.
    pub async fn serve(self, address: impl tokio::net::ToSocketAddrs) -> Result<()> {
        serve::listen(self, tokio::net::TcpListener::bind(address).await?).await
    }

    /// Like [`serve`](Self::serve), on a listener that is there already.
    pub async fn serve_on(self, listener: tokio::net::TcpListener) -> Result<()> {
        serve::listen(self, listener).await
    }

    async fn respond<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        if let Some(why) = self.0.options.guard.refusal(&parts.headers, &parts.uri) {
            return respond::refuse(StatusCode::FORBIDDEN, RpcError::INVALID_REQUEST, &why);
        }
        if self.0.core.shared.phase() > Phase::Running {
            return respond::later(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down");
        }
        let Ok(_permit) = self.0.requests.try_acquire() else {
            return respond::later(StatusCode::SERVICE_UNAVAILABLE, "too many requests at a time");
        };
        match parts.method {
            Method::POST => match self.0.read(&parts, body).await {
                Ok(frame) => self.0.post(&parts, &frame).await,
                Err(refusal) => refusal,
            },
            Method::GET => self.0.get(&parts),
            Method::DELETE => self.0.delete(&parts),
            _ => respond::not_allowed("POST, GET, DELETE"),
        }
    }
}

impl Inner {
    /// The body of a POST, if it is one.
    async fn read<B>(&self, parts: &Parts, body: B) -> Result<Bytes, Response<Body>>
    where
        B: http_body::Body,
        B::Error: Into<BoxError>,
    {
        let kind = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            let text = "a message is sent as `Content-Type: application/json`";
            return Err(respond::refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, RpcError::INVALID_REQUEST, text));
        }
        let limits = &self.core.limits;
        let mut gathering = std::pin::pin!(body::gather(body, limits.message_bytes));
        // Most are there whole; only for the others is there a clock.
        let at_once = poll_fn(|cx| match gathering.as_mut().poll(cx) {
            Poll::Ready(gathered) => Poll::Ready(Some(gathered)),
            Poll::Pending => Poll::Ready(None),
        });
        let gathered = match at_once.await {
            Some(gathered) => Ok(gathered),
            None => tokio::time::timeout(limits.request_time, gathering).await,
        };
        match gathered {
            Ok(Ok(frame)) => Ok(frame),
            Ok(Err(Incomplete::TooLong)) => {
                let text = format!("the message is longer than {} bytes", limits.message_bytes);
                Err(respond::refuse(StatusCode::PAYLOAD_TOO_LARGE, RpcError::INVALID_REQUEST, &text))
            }
            Ok(Err(Incomplete::Broken)) => {
                let text = "the message did not arrive whole";
                Err(respond::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text))
            }
            Err(_) => {
                let text = "the message took too long to arrive";
                Err(respond::refuse(StatusCode::REQUEST_TIMEOUT, RpcError::INVALID_REQUEST, text))
            }
        }
    }

    async fn post(&self, parts: &Parts, frame: &[u8]) -> Response<Body> {
        let headers = Headers(&parts.headers);
        if depth::exceeds(frame, self.core.limits.depth) {
            return match jsonrpc::refuse_deep(frame, self.core.limits.depth) {
                Some(rejection) => bad(rejection.id, &rejection.error),
                None => respond::empty(StatusCode::ACCEPTED),
            };
        }
        if frame.trim_ascii_start().first() == Some(&b'[') {
            return self.in_session(parts, frame).await;
        }
        let request = match jsonrpc::parse(frame) {
            Ok(Message::Request(request)) => request,
            Ok(Message::Notification(_)) if !parts.headers.contains_key(&legacy::SESSION) => {
                return respond::empty(StatusCode::ACCEPTED);
            }
            Ok(Message::Notification(_) | Message::Response) => return self.in_session(parts, frame).await,
            Err(rejection) => {
                self.core.hooks.protocol_error(frame, &rejection.error);
                return bad(rejection.id, &rejection.error);
            }
        };
        let version = match headers.get(&headers::VERSION) {
            Ok(version) => version,
            Err(error) => return bad(request.id, &error),
        };
        let read = era::read(&request);
        match era::of(&request, read.as_ref().ok(), version) {
            Era::Modern => {
                let catalog = self.core.shared.catalog();
                modern::serve(&self.core, &catalog, &request, read, headers).await
            }
            Era::Contradiction => {
                let text = "`initialize` has no place in the revision the header names".to_owned();
                bad(request.id, &mismatch(text))
            }
            Era::Unknown(version) => {
                let error = RpcError::new(RpcError::UNSUPPORTED_VERSION, "Unsupported protocol version")
                    .with_data(json!({"supported": Revision::MODERN, "requested": version}));
                bad(request.id, &error)
            }
            Era::Legacy if request.method == "initialize" && !parts.headers.contains_key(&legacy::SESSION) => {
                legacy::open(&self.core, &self.sessions, self.principal(parts).as_deref(), frame)
            }
            Era::Legacy => match self.session(parts) {
                Ok(session) => legacy::request(&session, &request, read).await,
                Err(refusal) => refusal,
            },
        }
    }

    /// Takes a message of the legacy era, which belongs to a session.
    async fn in_session(&self, parts: &Parts, frame: &[u8]) -> Response<Body> {
        match self.session(parts) {
            Ok(session) => legacy::message(&session, frame).await,
            Err(refusal) => refusal,
        }
    }

    fn session(&self, parts: &Parts) -> Result<Arc<sessions::Session>, Response<Body>> {
        let Some(id) = parts.headers.get(&legacy::SESSION) else {
            let text = "send `initialize` first and its `Mcp-Session-Id` with every request, or describe the request in its `_meta`";
            return Err(respond::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text));
        };
        let found =
            id.to_str().ok().and_then(|id| self.sessions.find(id, self.principal(parts).as_deref(), &self.core.limits));
        found.ok_or_else(|| {
            let text = "there is no such session; send `initialize` to open one";
            respond::refuse(StatusCode::NOT_FOUND, RpcError::INVALID_REQUEST, text)
        })
    }

    fn get(&self, parts: &Parts) -> Response<Body> {
        let accepts = parts.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let streams = accepts.flat_map(|value| value.split(',')).any(|kind| {
            matches!(kind.split(';').next().unwrap_or_default().trim(), "text/event-stream" | "text/*" | "*/*")
        });
        if !parts.headers.contains_key(&legacy::SESSION) || self.is_modern(parts) {
            return respond::not_allowed("POST");
        }
        if !streams {
            return respond::refuse(
                StatusCode::NOT_ACCEPTABLE,
                RpcError::INVALID_REQUEST,
                "what is here is a stream of events: send `Accept: text/event-stream`",
            );
        }
        match self.session(parts) {
            Ok(session) => legacy::stream(&session),
            Err(refusal) => refusal,
        }
    }

    fn delete(&self, parts: &Parts) -> Response<Body> {
        if self.is_modern(parts) {
            return respond::not_allowed("POST");
        }
        match self.session(parts) {
            Ok(_) => {
                let id = parts.headers.get(&legacy::SESSION).and_then(|id| id.to_str().ok()).unwrap_or_default();
                self.sessions.end(id, self.principal(parts).as_deref());
                respond::empty(StatusCode::NO_CONTENT)
            }
            Err(refusal) => refusal,
        }
    }

    fn is_modern(&self, parts: &Parts) -> bool {
        Headers(&parts.headers).get(&headers::VERSION).is_ok_and(|version| version.is_some_and(era::is_modern_date))
    }

    fn principal(&self, parts: &Parts) -> Option<String> {
        self.options.principal.as_ref().and_then(|principal| principal(parts))
    }
}

fn bad(id: jsonrpc::Id<'_>, error: &RpcError) -> Response<Body> {
    let mut line = Vec::new();
    era::encode::error(id, error, &mut line);
    respond::json(StatusCode::BAD_REQUEST, line)
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
        Box::pin(async move { Ok(service.respond(request).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("sessions", &self.0.sessions).finish_non_exhaustive()
    }
}
