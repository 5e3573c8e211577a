//! The endpoint: reads a request, and hands it to whoever its route names.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};

use super::quota::Rejected;
use super::request::HttpRequest;
use super::request::body::{self, Incomplete};
use super::request::body_budget::BodyPermit;
use super::request::headers::{Field, Headers};
use super::route::{self, Posted, Route, Target};
use super::session::{open, serve};
use super::{Body, BoxError, Responding, Service, response, sessionless, stateless};
use crate::era;
use crate::error::Result;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{self, Id, Message, Request, depth};

const JSON: &[u8] = b"application/json";

impl Service {
    /// Answers a request. `path` is where the endpoint is, unless an option says otherwise.
    pub(super) async fn answer<B>(
        &self,
        parts: &Arc<Parts>,
        headers: &Headers<'_>,
        body: B,
        path: Option<&str>,
    ) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<BoxError>,
    {
        let target = route::target(parts, self.options.endpoint.as_deref().or(path), self.options.sse);
        let has_message = match target {
            Target::Endpoint => parts.method == Method::POST,
            Target::SseMessages => true,
            Target::SseStream | Target::SseWrongMethod | Target::NotFound => false,
        };
        let http = HttpRequest::new(parts, headers);
        if !has_message {
            return self.without_message(&http, &target).finish().await;
        }
        let (frame, _permit) = match self.read(headers, body).await {
            Ok(read) => read,
            Err(refusal) => return refusal,
        };
        let responding = match target {
            Target::SseMessages => Responding::later(self.sse_message(parts, &frame)),
            _ => self.post(&http, &frame),
        };
        responding.finish().await
    }

    /// Answers a request that carries no message.
    fn without_message<'a>(&'a self, http: &HttpRequest<'a>, target: &Target) -> Responding<'a> {
        let route = match target {
            Target::Endpoint => route::classify_empty(http, self.options.has_sessions()),
            Target::SseStream => {
                let response = self.open_sse(http.parts).unwrap_or_else(|rejected| rejected.answer(Id::NULL));
                return Responding::Done(response);
            }
            Target::SseWrongMethod | Target::SseMessages => Route::NotAllowed("GET"),
            Target::NotFound => return Responding::Done(response::empty(StatusCode::NOT_FOUND)),
        };
        match route {
            Route::EventStream => Responding::later(self.event_stream(*http)),
            Route::EndSession => Responding::later(self.end_session(*http)),
            Route::Refuse(status, error) => Responding::Done(response::error(status, Id::NULL, &error)),
            Route::NotAllowed(methods) => Responding::Done(response::not_allowed(methods)),
            _ => Responding::Done(response::empty(StatusCode::ACCEPTED)),
        }
    }

    async fn sse_message(&self, parts: &Parts, frame: &[u8]) -> Response<Body> {
        match self.principal(parts) {
            Ok(principal) => self.sse.message(parts, principal.as_deref(), frame).await,
            Err(rejected) => rejected.answer(Id::NULL),
        }
    }

    fn open_sse(&self, parts: &Parts) -> Result<Response<Body>, Rejected> {
        let (principal, place) = (self.principal(parts)?, self.shares.stream()?);
        let mut response = self.sse.open(&self.core, principal);
        response.body_mut().keep(place);
        Ok(response)
    }

    /// Reads the body of a POST, and what it takes of the budget while it is there.
    async fn read<B>(&self, headers: &Headers<'_>, body: B) -> Result<(Bytes, BodyPermit<'_>), Response<Body>>
    where
        B: http_body::Body,
        B::Error: Into<BoxError>,
    {
        check_content_type(headers)?;
        let limits = &self.core.limits;
        // Announced to be too long: nothing of it is read.
        if body.size_hint().lower() > limits.message_bytes as u64 {
            return Err(incomplete(Incomplete::TooLong, limits.message_bytes));
        }
        let mut gathering = std::pin::pin!(body::gather(body, limits.message_bytes, self.bodies.charge()));
        // Most bodies are there already; only the others need a timer.
        let at_once = poll_fn(|cx| match gathering.as_mut().poll(cx) {
            Poll::Ready(gathered) => Poll::Ready(Some(gathered)),
            Poll::Pending => Poll::Ready(None),
        });
        let gathered = match at_once.await {
            Some(gathered) => Ok(gathered),
            // Boxed: a request that needs no timer should not have room for one.
            None => Box::pin(tokio::time::timeout(limits.request_timeout, gathering)).await,
        };
        match gathered {
            Ok(Ok(gathered)) => Ok(gathered),
            Ok(Err(why)) => Err(incomplete(why, limits.message_bytes)),
            Err(_) => {
                let text = "the message took too long to arrive";
                Err(response::refuse(StatusCode::REQUEST_TIMEOUT, RpcError::INVALID_REQUEST, text))
            }
        }
    }

    /// Parses the message of a POST and routes it.
    fn post<'a>(&'a self, http: &HttpRequest<'a>, frame: &'a [u8]) -> Responding<'a> {
        if depth::exceeds(frame, self.core.limits.depth) {
            return Responding::Done(match jsonrpc::refuse_deep(frame, self.core.limits.depth) {
                Some(rejection) => bad_request(rejection.id, &rejection.error),
                None => response::empty(StatusCode::ACCEPTED),
            });
        }
        let has_sessions = self.options.has_sessions();
        let posted = if frame.trim_ascii_start().first() == Some(&b'[') {
            Posted::Batch
        } else {
            match jsonrpc::parse(frame) {
                Ok(Message::Request(request)) => return self.request(http, frame, request),
                Ok(Message::Notification(notification)) => {
                    let route = route::classify(http, Posted::Notification(&notification.method), has_sessions);
                    return self.dispatch(http, frame, &route);
                }
                Ok(Message::Response(_)) => Posted::Response,
                Err(rejection) => {
                    self.core.hooks.protocol_error(frame, &rejection.error);
                    return Responding::Done(bad_request(rejection.id, &rejection.error));
                }
            }
        };
        self.dispatch(http, frame, &route::classify(http, posted, has_sessions))
    }

    /// Serves a message that is not a request.
    fn dispatch<'a>(&'a self, http: &HttpRequest<'a>, frame: &'a [u8], route: &Route) -> Responding<'a> {
        match route {
            Route::Batch => Responding::later(self.batch_in_session(*http, frame)),
            Route::SessionMessage => Responding::later(self.message_in_session(*http, frame)),
            Route::LoneNotification => {
                sessionless::notification(&self.core, http.parts, frame);
                Responding::Done(response::empty(StatusCode::ACCEPTED))
            }
            _ => Responding::Done(response::empty(StatusCode::ACCEPTED)),
        }
    }

    fn request<'a>(&'a self, http: &HttpRequest<'a>, frame: &'a [u8], request: Request<'a>) -> Responding<'a> {
        let params = era::read(&request);
        let posted = Posted::Request(&request, params.as_ref().ok());
        match route::classify(http, posted, self.options.has_sessions()) {
            Route::Stateless => stateless::serve(self, http, &request, params),
            Route::Open => match self.principal(http.parts) {
                Ok(principal) => Responding::later(self.open_session(*http, principal, frame)),
                Err(rejected) => Responding::Done(rejected.answer(request.id)),
            },
            Route::Sessionless(revision) => {
                Responding::later(sessionless::request(self, *http, revision, request, frame))
            }
            // Without a store, and unless the session itself changes, nothing is waited for.
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
            _ => Responding::Done(response::empty(StatusCode::ACCEPTED)),
        }
    }

    async fn open_session(&self, http: HttpRequest<'_>, principal: Option<String>, frame: &[u8]) -> Response<Body> {
        let stores = self.options.stores.as_ref();
        open::open(&self.core, &self.sessions, stores, principal.as_deref(), &http, frame).await
    }
}

fn check_content_type(headers: &Headers<'_>) -> Result<(), Response<Body>> {
    let kind = match headers.content_type {
        Field::Absent => None,
        Field::Once(kind) => Some(kind),
        Field::Twice => headers.every(CONTENT_TYPE).next(),
    };
    let kind = kind.map_or(&b""[..], HeaderValue::as_bytes);
    let essence = || kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if kind != JSON && !essence().eq_ignore_ascii_case(JSON) {
        let text = "a message is sent as `Content-Type: application/json`";
        return Err(response::refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, RpcError::INVALID_REQUEST, text));
    }
    Ok(())
}

/// The response to a body that did not arrive.
fn incomplete(why: Incomplete, limit: usize) -> Response<Body> {
    match why {
        Incomplete::NoRoom => {
            response::later(StatusCode::SERVICE_UNAVAILABLE, "too many long messages at a time; try again later")
        }
        Incomplete::TooLong => {
            let text = format!("the message is longer than {limit} bytes");
            response::refuse(StatusCode::PAYLOAD_TOO_LARGE, RpcError::INVALID_REQUEST, &text)
        }
        Incomplete::Broken => {
            let text = "the message did not arrive whole";
            response::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text)
        }
    }
}

pub(super) fn bad_request(id: Id<'_>, error: &RpcError) -> Response<Body> {
    response::error(StatusCode::BAD_REQUEST, id, error)
}
