//! The endpoint: reads the message of a request, routes it, and dispatches it to the module that serves it.

use std::sync::Arc;

use http::{Method, Response, StatusCode};

use super::idle_clock::IdleClock;
use super::quota::Rejected;
use super::request::{HttpRequest, body};
#[cfg(feature = "auth")]
use super::response::denied;
use super::route::{self, EmptyRoute, MessageRoute, Route, Target, Unanswered};
use super::session::{open, serve};
use super::{Admitted, Body, Responding, Service, legacy_no_session, legacy_sse, response, stateless};
use crate::call::blocking::profile::{LONG, some_answers_are_long};
use crate::call::blocking::turns;
use crate::call::in_flight::CallKind;
use crate::dispatch::long_answers;
use crate::era::{self, RequestParams};
use crate::error::Result;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{self, Id, Message, Request, depth};
use crate::server::memory::Owner;

impl Service {
    /// Answers a request. `path` is the default path of the endpoint; `None` accepts every path. The request is
    /// `admitted` as soon as its message has arrived.
    pub(super) async fn answer<B>(
        &self,
        http: HttpRequest<'_>,
        body: B,
        path: Option<&str>,
        idle: Option<&Arc<IdleClock>>,
        admitted: &mut Option<Admitted>,
    ) -> Response<Body>
    where
        B: http_body::Body,
    {
        let target = route::target(http.parts, self.options.endpoint.as_deref().or(path), self.options.legacy_sse);
        let has_message = match target {
            Target::Endpoint => http.parts.method == Method::POST,
            Target::SseMessages => {
                if let Some(post) = http.unclaimed {
                    post.is_sse(legacy_sse::session_id(http.parts));
                }
                true
            }
            Target::SseStream | Target::SseWrongMethod | Target::NotFound => false,
        };
        #[cfg(feature = "auth")]
        let access = match self.authorize(&http, &target).await {
            Ok(access) => access,
            Err(refusal) => {
                // Boxed, so that requests that are served do not carry its size.
                Box::pin(body::discard(body, self.core.limits.request_timeout)).await;
                return *refusal;
            }
        };
        #[cfg(feature = "auth")]
        if let (Some(post), Some(user)) = (http.unclaimed, access.as_ref().and_then(|access| access.user.as_ref())) {
            post.is_by(Some(user.principal()));
        }
        let mut http = HttpRequest {
            #[cfg(feature = "auth")]
            access: access.as_ref(),
            ..http
        };
        if !has_message {
            *admitted = self.admit(idle);
            if admitted.is_none() {
                return Rejected::Requests.answer(Id::NULL);
            }
            #[cfg_attr(not(feature = "auth"), allow(unused_mut))]
            let mut response = self.without_message(&http, &target).finish().await;
            #[cfg(feature = "auth")]
            denied::expire(&mut response, access.as_ref());
            return response;
        }
        let charge = || self.core.memory.open(Owner::of(None, http.peer));
        let restart = || idle.into_iter().for_each(|idle| idle.restart());
        let read = body::read(body, http.headers, &self.core.limits, &self.arrivals, charge, restart);
        let (frame, held) = match read.await {
            Ok((frame, charge)) => (frame, charge.map(Arc::new)),
            Err(refusal) => return *refusal,
        };
        if let Some(post) = http.unclaimed {
            post.arrived(frame.len());
        }
        // Only now: a message that arrives slowly takes no place from others.
        *admitted = self.admit(idle);
        if admitted.is_none() {
            return Rejected::Requests.answer(Id::NULL);
        }
        http.held = held.as_ref();
        let responding = match target {
            Target::SseMessages => Responding::later(self.sse_message(http, &frame)),
            _ if frame.len() > LONG => Responding::later(self.post_long(http, &frame)),
            _ => self.post(&http, &frame, false),
        };
        #[cfg_attr(not(feature = "auth"), allow(unused_mut))]
        let mut response = responding.finish().await;
        #[cfg(feature = "auth")]
        denied::expire(&mut response, access.as_ref());
        response
    }

    /// A place among the requests being served, until the response has been sent. `None` if there are too many.
    fn admit(&self, idle: Option<&Arc<IdleClock>>) -> Option<Admitted> {
        let permit = Arc::clone(&self.requests).try_acquire_owned().ok()?;
        Some(Admitted { _permit: permit, _busy: idle.map(IdleClock::busy) })
    }

    /// Answers a request without a message: GET, DELETE, or a wrong method.
    fn without_message<'a>(&'a self, http: &HttpRequest<'a>, target: &Target) -> Responding<'a> {
        let route = match target {
            Target::Endpoint => route::classify_empty(http, self.options.has_sessions()),
            Target::SseStream => {
                let response = self.open_sse(http).unwrap_or_else(|rejected| rejected.answer(Id::NULL));
                return Responding::Done(response);
            }
            Target::SseWrongMethod | Target::SseMessages => EmptyRoute::NotAllowed("GET"),
            Target::NotFound => return Responding::Done(response::empty(StatusCode::NOT_FOUND)),
        };
        match route {
            EmptyRoute::EventStream => Responding::later(self.event_stream(*http)),
            EmptyRoute::EndSession => Responding::later(self.end_session(*http)),
            EmptyRoute::Refuse(status, error) => Responding::Done(response::error(status, Id::NULL, &error)),
            EmptyRoute::NotAllowed(methods) => Responding::Done(response::not_allowed(methods)),
        }
    }

    /// Receives a message over HTTP+SSE.
    async fn sse_message(&self, http: HttpRequest<'_>, frame: &[u8]) -> Response<Body> {
        #[cfg(feature = "auth")]
        if let Some(refusal) = self.denial(&http, frame) {
            return refusal.finish().await;
        }
        match self.principal(&http) {
            Ok(principal) => self.sse.message(&http, principal.as_deref(), frame).await,
            Err(rejected) => rejected.answer(Id::NULL),
        }
    }

    /// Opens a stream of HTTP+SSE.
    fn open_sse(&self, http: &HttpRequest<'_>) -> Result<Response<Body>, Rejected> {
        let principal = self.principal(http)?;
        let permit = self.quota_permit(Owner::of(principal.as_ref(), http.peer), CallKind::Stream)?;
        let mut response = self.sse.open(&self.core, principal, http);
        response.body_mut().keep(permit);
        Ok(response)
    }

    /// Like [`post`](Self::post), for a message that takes long to parse: in its turn, and not on a thread that other
    /// connections wait for.
    async fn post_long(&self, http: HttpRequest<'_>, frame: &[u8]) -> Response<Body> {
        let responding = turns::take().await.run(|| self.post(&http, frame, true));
        responding.finish().await
    }

    /// Parses the message of a POST and routes it. `has_turn`: whether it is its turn already.
    fn post<'a>(&'a self, http: &HttpRequest<'a>, frame: &'a [u8], has_turn: bool) -> Responding<'a> {
        #[cfg(feature = "auth")]
        if let Some(refusal) = self.denial(http, frame) {
            return refusal;
        }
        let has_sessions = self.options.has_sessions();
        if depth::exceeds(frame, self.core.limits.depth) {
            return match jsonrpc::refuse_deep(frame, self.core.limits.depth) {
                Some(rejection) => Responding::Done(bad_request(rejection.id, &rejection.error)),
                // It may be a response: the call that waits for it is told.
                None if has_sessions && http.names_session() => {
                    http.claim();
                    Responding::later(self.message_in_session(*http, frame))
                }
                None => {
                    http.claim();
                    Responding::Done(response::empty(StatusCode::ACCEPTED))
                }
            };
        }
        let message = if frame.trim_ascii_start().first() == Some(&b'[') {
            Unanswered::Batch
        } else {
            match jsonrpc::parse(frame) {
                Ok(Message::Request(request)) => {
                    if let Some(post) = http.unclaimed {
                        post.names(&request.method);
                    }
                    let params = era::read(&request);
                    if !has_turn && let Some(expected) = self.long_answer(&request, params.as_ref()) {
                        return Responding::later(self.request_in_turn(*http, frame, request, params, expected));
                    }
                    return self.request(http, frame, request, params);
                }
                Ok(Message::Notification(notification)) => {
                    let message = Unanswered::Notification(&notification.method);
                    return self.message(http, frame, &route::classify_message(http, message, has_sessions));
                }
                Ok(Message::Response(_)) => Unanswered::Response,
                Err(rejection) => {
                    self.core.hooks.protocol_error(frame, &rejection.error);
                    return Responding::Done(bad_request(rejection.id, &rejection.error));
                }
            }
        };
        self.message(http, frame, &route::classify_message(http, message, has_sessions))
    }

    /// Serves a message that is not a request.
    fn message<'a>(&'a self, http: &HttpRequest<'a>, frame: &'a [u8], route: &MessageRoute) -> Responding<'a> {
        // Neither a notification nor a response is told of. The requests of a batch are, once its session is found.
        if !matches!(route, MessageRoute::Batch) {
            http.claim();
        }
        match route {
            MessageRoute::Batch => Responding::later(self.batch_in_session(*http, frame)),
            MessageRoute::InSession => Responding::later(self.message_in_session(*http, frame)),
            MessageRoute::LoneNotification => Responding::Done(legacy_no_session::notification(self, http, frame)),
            MessageRoute::Ignore => Responding::Done(response::empty(StatusCode::ACCEPTED)),
        }
    }

    /// Routes and serves a request.
    fn request<'a>(
        &'a self,
        http: &HttpRequest<'a>,
        frame: &'a [u8],
        request: Request<'a>,
        params: Result<RequestParams<'a>, RpcError>,
    ) -> Responding<'a> {
        match route::classify(http, &request, params.as_ref().ok(), self.options.has_sessions()) {
            Route::Stateless => stateless::serve(self, http, &request, params),
            Route::Open => match self.principal(http) {
                Ok(principal) => Responding::later(self.open_session(*http, principal, frame)),
                Err(rejected) => Responding::Done(rejected.answer(request.id)),
            },
            Route::Sessionless(revision) => {
                Responding::later(legacy_no_session::request(self, *http, revision, request, frame))
            }
            // Fast path: without a store, and unless the session itself changes, nothing has to be awaited.
            Route::InSession
                if self.options.stores.is_none() && !matches!(&*request.method, "initialize" | "shutdown") =>
            {
                match self.local_session(http) {
                    Ok(session) => serve::request(&session, http, &request, params),
                    Err(refusal) => Responding::Done(refusal),
                }
            }
            Route::InSession => Responding::later(self.request_in_session(*http, request, params)),
            Route::Refuse(status, error) => Responding::Done(response::error(status, request.id, &error)),
        }
    }

    /// The length to expect of the answer, if the handler that a request names has given long ones lately.
    #[inline]
    fn long_answer(&self, request: &Request<'_>, params: Result<&RequestParams<'_>, &RpcError>) -> Option<usize> {
        if !some_answers_are_long() {
            return None;
        }
        long_answers::expected(&self.core.shared.catalog(), &request.method, params.ok()?.params())
    }

    /// Like [`request`](Self::request), for a call whose answer takes long to make. Without room for an answer of the
    /// expected length it is not even begun.
    async fn request_in_turn<'a>(
        &'a self,
        http: HttpRequest<'a>,
        frame: &'a [u8],
        request: Request<'a>,
        params: Result<RequestParams<'a>, RpcError>,
        expected: usize,
    ) -> Response<Body> {
        let Some(_expected) = self.core.memory.charge(Owner::of(None, http.peer), expected) else {
            return response::later(StatusCode::SERVICE_UNAVAILABLE, &response::no_memory().message);
        };
        let responding = turns::take().await.run(|| self.request(&http, frame, request, params));
        responding.finish().await
    }

    async fn open_session(&self, http: HttpRequest<'_>, principal: Option<Arc<str>>, frame: &[u8]) -> Response<Body> {
        let stores = self.options.stores.as_ref();
        open::open(&self.core, &self.sessions, stores, principal.as_deref(), &http, frame).await
    }
}

/// 400, with a JSON-RPC error.
pub(super) fn bad_request(id: Id<'_>, error: &RpcError) -> Response<Body> {
    response::error(StatusCode::BAD_REQUEST, id, error)
}
