//! The endpoint: what a request is, and who answers it.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};

use super::quota::Rejected;
use super::request::accept::ResponseFormat;
use super::request::body_budget::BodyPermit;
use super::request::headers::{Field, Headers, mismatch};
use super::response::body::{self, Incomplete};
use super::session::serve;
use super::{Body, BoxError, Responding, Service, response, stateless};
use crate::call::in_flight::CallKind;
use crate::era::{self, Era};
use crate::error::Result;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{self, Id, Message, Request, depth};
use crate::protocol::Revision;

const JSON: &[u8] = b"application/json";

/// What a request on the addresses of HTTP+SSE wants.
enum Sse {
    Open,
    Message,
    /// A newer client that tries what is there; what it finds tells it to try GET.
    Neither,
}

impl Service {
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
        let sse = if self.options.sse { Service::with_sse(parts) } else { None };
        let is_message = match &sse {
            None if self.options.endpoint.as_deref().or(path).is_some_and(|path| path != parts.uri.path()) => {
                return response::empty(StatusCode::NOT_FOUND);
            }
            None => parts.method == Method::POST,
            Some(sse) => matches!(sse, Sse::Message),
        };
        if !is_message {
            return self.without_message(parts, headers, sse).finish().await;
        }
        let (frame, _charge) = match self.read(headers, body).await {
            Ok(read) => read,
            Err(refusal) => return refusal,
        };
        let step = match sse {
            None => self.post(parts, headers, &frame),
            Some(_) => Responding::later(self.sse_message(parts, &frame)),
        };
        step.finish().await
    }

    /// A request that carries nothing, or nothing anybody reads.
    fn without_message<'a>(&'a self, parts: &'a Parts, headers: &'a Headers<'a>, sse: Option<Sse>) -> Responding<'a> {
        match (sse, &parts.method) {
            (Some(Sse::Open), _) => {
                Responding::Done(self.open_sse(parts).unwrap_or_else(|refused| refused.answer(Id::NULL)))
            }
            (Some(_), _) => Responding::Done(response::not_allowed("GET")),
            (None, &Method::GET) => Responding::later(self.get(parts, headers)),
            (None, &Method::DELETE) => Responding::later(self.delete(parts, headers)),
            (None, _) => Responding::Done(response::not_allowed("POST, GET, DELETE")),
        }
    }

    async fn sse_message(&self, parts: &Parts, frame: &[u8]) -> Response<Body> {
        match self.principal(parts) {
            Ok(principal) => self.sse.message(parts, principal.as_deref(), frame).await,
            Err(refused) => refused.answer(Id::NULL),
        }
    }

    fn with_sse(parts: &Parts) -> Option<Sse> {
        let last = parts.uri.path().rsplit('/').next().unwrap_or_default();
        match (last, &parts.method) {
            ("sse", &Method::GET) => Some(Sse::Open),
            ("messages", &Method::POST) => Some(Sse::Message),
            ("sse" | "messages", _) => Some(Sse::Neither),
            _ => None,
        }
    }

    /// The body of a POST, if it is one, and what it takes while it is there.
    async fn read<B>(&self, headers: &Headers<'_>, body: B) -> Result<(Bytes, BodyPermit<'_>), Response<Body>>
    where
        B: http_body::Body,
        B::Error: Into<BoxError>,
    {
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
        let limits = &self.core.limits;
        let too_long = || {
            let text = format!("the message is longer than {} bytes", limits.message_bytes);
            response::refuse(StatusCode::PAYLOAD_TOO_LARGE, RpcError::INVALID_REQUEST, &text)
        };
        // Announced to be too long: nothing of it is read.
        if body.size_hint().lower() > limits.message_bytes as u64 {
            return Err(too_long());
        }
        let mut gathering = std::pin::pin!(body::gather(body, limits.message_bytes, self.bodies.charge()));
        // Most are there whole; only for the others is there a clock.
        let at_once = poll_fn(|cx| match gathering.as_mut().poll(cx) {
            Poll::Ready(gathered) => Poll::Ready(Some(gathered)),
            Poll::Pending => Poll::Ready(None),
        });
        let gathered = match at_once.await {
            Some(gathered) => Ok(gathered),
            // Boxed: who needs no clock should not have room for one.
            None => Box::pin(tokio::time::timeout(limits.request_timeout, gathering)).await,
        };
        match gathered {
            Ok(Ok(gathered)) => Ok(gathered),
            Ok(Err(Incomplete::NoRoom)) => {
                let text = "too many long messages at a time; try again later";
                Err(response::later(StatusCode::SERVICE_UNAVAILABLE, text))
            }
            Ok(Err(Incomplete::TooLong)) => Err(too_long()),
            Ok(Err(Incomplete::Broken)) => {
                let text = "the message did not arrive whole";
                Err(response::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text))
            }
            Err(_) => {
                let text = "the message took too long to arrive";
                Err(response::refuse(StatusCode::REQUEST_TIMEOUT, RpcError::INVALID_REQUEST, text))
            }
        }
    }

    fn post<'a>(&'a self, parts: &'a Arc<Parts>, headers: &'a Headers<'a>, frame: &'a [u8]) -> Responding<'a> {
        if depth::exceeds(frame, self.core.limits.depth) {
            return Responding::Done(match jsonrpc::refuse_deep(frame, self.core.limits.depth) {
                Some(rejection) => bad(rejection.id, &rejection.error),
                None => response::empty(StatusCode::ACCEPTED),
            });
        }
        if frame.trim_ascii_start().first() == Some(&b'[') {
            return Responding::later(self.in_session(parts, headers, frame));
        }
        match jsonrpc::parse(frame) {
            Ok(Message::Request(request)) => {
                self.request((parts, headers), frame, request).unwrap_or_else(Responding::Done)
            }
            Ok(Message::Response(_)) if self.options.sessionless => {
                Responding::Done(response::empty(StatusCode::ACCEPTED))
            }
            Ok(Message::Notification(_))
                if self.options.sessionless || !headers.session.is_there() || is_modern(headers) =>
            {
                serve::told_alone(&self.core, parts, frame);
                Responding::Done(response::empty(StatusCode::ACCEPTED))
            }
            // It follows `shutdown`, which has ended the session; and no client ends a server of many.
            Ok(Message::Notification(told)) if told.method == "exit" => {
                Responding::Done(response::empty(StatusCode::ACCEPTED))
            }
            Ok(Message::Notification(_) | Message::Response(_)) => Responding::later(self.told(parts, headers, frame)),
            Err(rejection) => {
                self.core.hooks.protocol_error(frame, &rejection.error);
                Responding::Done(bad(rejection.id, &rejection.error))
            }
        }
    }

    /// Takes a request, by the rules of its era.
    fn request<'a>(
        &'a self,
        (parts, headers): (&'a Arc<Parts>, &'a Headers<'a>),
        frame: &'a [u8],
        request: Request<'a>,
    ) -> Result<Responding<'a>, Response<Body>> {
        let form =
            ResponseFormat::of(headers).filter(|form| form.streams() || request.method != "subscriptions/listen");
        let Some(form) = form else {
            let text = "send `Accept: application/json, text/event-stream`: the answer is one of them";
            return Err(response::error(StatusCode::NOT_ACCEPTABLE, request.id, &RpcError::invalid_request(text)));
        };
        let version = headers.version().map_err(|error| bad(request.id, &error))?;
        let read = era::read(&request);
        match era::of(&request, read.as_ref().ok(), version) {
            Era::Modern => {
                let catalog = self.core.shared.catalog();
                Ok(stateless::serve(self, &catalog, &request, read, (parts, headers, form)))
            }
            Era::Contradiction => {
                Err(bad(request.id, &mismatch("`initialize` has no place in the revision the header names")))
            }
            Era::Unknown(version) => Err(bad(request.id, &era::unsupported_version(version))),
            Era::Legacy if self.options.sessionless => {
                let revision = version.and_then(Revision::with_sessions);
                Ok(Responding::later(self.request_alone(revision, (parts, form), request, frame)))
            }
            Era::Legacy if request.method == "initialize" && !headers.session.is_there() => {
                let principal = self.principal(parts).map_err(|refused| refused.answer(request.id))?;
                Ok(Responding::later(self.open((parts, form), principal, frame)))
            }
            // Its version is one of those there are, or it would be of no era.
            Era::Legacy if self.options.stores.is_none() && !matches!(&*request.method, "initialize" | "shutdown") => {
                let session = self.session_here(parts, headers)?;
                Ok(serve::request(&session, (parts, form), &request, read))
            }
            Era::Legacy => Ok(Responding::later(self.request_in_session((parts, headers, form), request, read))),
        }
    }

    /// Takes a request of a server that keeps no sessions.
    async fn request_alone(
        &self,
        revision: Option<Revision>,
        (parts, form): (&Arc<Parts>, ResponseFormat),
        request: Request<'_>,
        frame: &[u8],
    ) -> Response<Body> {
        // No session counts its calls.
        let who = self.principal(parts);
        let share = who.and_then(|who| self.share(who.as_deref(), CallKind::Call).map(|share| (who, share)));
        let (who, share) = match share {
            Ok(share) => share,
            Err(refused) => return refused.answer(request.id),
        };
        let mut response = serve::alone(&self.core, revision, who.as_deref(), (parts, form), &request, frame).await;
        response.body_mut().keep(share);
        response
    }

    async fn open(
        &self,
        (parts, form): (&Arc<Parts>, ResponseFormat),
        principal: Option<String>,
        frame: &[u8],
    ) -> Response<Body> {
        let stores = self.options.stores.as_ref();
        serve::open(&self.core, &self.sessions, stores, principal.as_deref(), (parts, form), frame).await
    }

    fn open_sse(&self, parts: &Parts) -> Result<Response<Body>, Rejected> {
        let (principal, place) = (self.principal(parts)?, self.shares.stream()?);
        let mut response = self.sse.open(&self.core, principal);
        response.body_mut().keep(place);
        Ok(response)
    }
}

pub(super) fn is_modern(headers: &Headers<'_>) -> bool {
    headers.version().is_ok_and(|version| version.is_some_and(era::is_modern_date))
}

pub(super) fn bad(id: Id<'_>, error: &RpcError) -> Response<Body> {
    response::error(StatusCode::BAD_REQUEST, id, error)
}
