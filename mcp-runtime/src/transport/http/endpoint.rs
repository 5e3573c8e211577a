//! The endpoint: what a request is, and who answers it.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use serde_json::json;

use super::accept::Form;
use super::body::{self, Incomplete};
use super::budget::Charge;
use super::headers::{self, Headers, mismatch};
use super::shares::Refused;
use super::{Body, BoxError, Inner, kept, legacy, modern, respond, sessions};
use crate::depth;
use crate::era::{self, Era, Read};
use crate::error::{Result, RpcError};
use crate::in_flight::Kind;
use crate::jsonrpc::{self, Id, Message, Request};
use crate::protocol::Revision;

/// What a request on the addresses of HTTP+SSE wants.
enum Sse {
    Open,
    Message,
    /// A newer client that tries what is there; what it finds tells it to try GET.
    Neither,
}

impl Inner {
    pub(super) async fn answer<B>(&self, parts: Parts, body: B, path: Option<&str>) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<BoxError>,
    {
        let parts = Arc::new(parts);
        if self.options.sse
            && let Some(response) = Inner::with_sse(&parts)
        {
            return match response {
                Sse::Open => self.open_sse(&parts).unwrap_or_else(|refused| refused.answer(Id::NULL)),
                Sse::Message => match (self.read(&parts, body).await, self.principal(&parts)) {
                    (Ok((frame, _charge)), Ok(principal)) => {
                        self.sse.message(&parts, principal.as_deref(), &frame).await
                    }
                    (Err(refusal), _) => refusal,
                    (_, Err(refused)) => refused.answer(Id::NULL),
                },
                Sse::Neither => respond::not_allowed("GET"),
            };
        }
        if self.options.endpoint.as_deref().or(path).is_some_and(|path| path != parts.uri.path()) {
            return respond::empty(StatusCode::NOT_FOUND);
        }
        match parts.method {
            Method::POST => match self.read(&parts, body).await {
                Ok((frame, _charge)) => self.post(&parts, &frame).await,
                Err(refusal) => refusal,
            },
            Method::GET => self.get(&parts).await,
            Method::DELETE => self.delete(&parts).await,
            _ => respond::not_allowed("POST, GET, DELETE"),
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
    async fn read<B>(&self, parts: &Parts, body: B) -> Result<(Bytes, Charge<'_>), Response<Body>>
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
        let too_long = || {
            let text = format!("the message is longer than {} bytes", limits.message_bytes);
            respond::refuse(StatusCode::PAYLOAD_TOO_LARGE, RpcError::INVALID_REQUEST, &text)
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
            None => tokio::time::timeout(limits.request_time, gathering).await,
        };
        match gathered {
            Ok(Ok(gathered)) => Ok(gathered),
            Ok(Err(Incomplete::NoRoom)) => {
                let text = "too many long messages at a time; try again later";
                Err(respond::later(StatusCode::SERVICE_UNAVAILABLE, text))
            }
            Ok(Err(Incomplete::TooLong)) => Err(too_long()),
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

    async fn post(&self, parts: &Arc<Parts>, frame: &[u8]) -> Response<Body> {
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
            Ok(Message::Response(_)) if self.options.sessionless => return respond::empty(StatusCode::ACCEPTED),
            Ok(Message::Notification(_))
                if self.options.sessionless
                    || !parts.headers.contains_key(&legacy::SESSION)
                    || Self::is_modern(parts) =>
            {
                legacy::told_alone(&self.core, parts, frame);
                return respond::empty(StatusCode::ACCEPTED);
            }
            // It follows `shutdown`, which has ended the session; and no client ends a server of many.
            Ok(Message::Notification(told)) if told.method == "exit" => return respond::empty(StatusCode::ACCEPTED),
            Ok(Message::Notification(_) | Message::Response(_)) => {
                return match self.session(parts).await {
                    Ok(session) => {
                        let response = legacy::told(&session, parts, frame);
                        kept::saved(&session).await.err().unwrap_or(response)
                    }
                    Err(refusal) => refusal,
                };
            }
            Err(rejection) => {
                self.core.hooks.protocol_error(frame, &rejection.error);
                return bad(rejection.id, &rejection.error);
            }
        };
        let form = Form::of(&parts.headers).filter(|form| form.streams() || request.method != "subscriptions/listen");
        let Some(form) = form else {
            let text = "send `Accept: application/json, text/event-stream`: the answer is one of them";
            return respond::error(StatusCode::NOT_ACCEPTABLE, request.id, &RpcError::invalid_request(text));
        };
        let version = match Headers(&parts.headers).get(&headers::VERSION) {
            Ok(version) => version,
            Err(error) => return bad(request.id, &error),
        };
        let read = era::read(&request);
        match era::of(&request, read.as_ref().ok(), version) {
            Era::Modern => {
                let catalog = self.core.shared.catalog();
                modern::serve(self, &catalog, &request, read, (parts, form)).await
            }
            Era::Contradiction => {
                bad(request.id, &mismatch("`initialize` has no place in the revision the header names"))
            }
            Era::Unknown(version) => bad(request.id, &unsupported(version)),
            Era::Legacy if self.options.sessionless => {
                let revision = Revision::LEGACY.into_iter().find(|known| Some(known.as_str()) == version);
                // No session counts its calls.
                let who = self.principal(parts);
                let share = who.and_then(|who| self.share(who.as_deref(), Kind::Call).map(|share| (who, share)));
                let (who, share) = match share {
                    Ok(share) => share,
                    Err(refused) => return refused.answer(request.id),
                };
                let (who, form) = (who.as_deref(), (parts, form));
                let mut response = legacy::alone(&self.core, revision, who, form, &request, frame).await;
                response.body_mut().keep(share);
                response
            }
            Era::Legacy if request.method == "initialize" && !parts.headers.contains_key(&legacy::SESSION) => {
                let principal = match self.principal(parts) {
                    Ok(principal) => principal,
                    Err(refused) => return refused.answer(request.id),
                };
                let stores = self.options.stores.as_ref();
                legacy::open(&self.core, &self.sessions, stores, principal.as_deref(), (parts, form), frame).await
            }
            Era::Legacy => self.request_in_session((parts, form), &request, read).await,
        }
    }

    async fn request_in_session<'a>(
        &self,
        (parts, form): (&Arc<Parts>, Form),
        request: &Request<'a>,
        read: Result<Read<'a>, RpcError>,
    ) -> Response<Body> {
        let session = match self.session(parts).await {
            Ok(session) => session,
            Err(refusal) => return refusal,
        };
        if request.method == "initialize" {
            return bad(request.id, &RpcError::invalid_request("this session is initialized already"));
        }
        if request.method == "shutdown" {
            let ending = self.sessions.ending(&session);
            let response = legacy::request(&session, (parts, form), request, read).await;
            return ending.with(response).await;
        }
        let response = legacy::request(&session, (parts, form), request, read).await;
        kept::saved(&session).await.err().unwrap_or(response)
    }

    /// Takes a message of the legacy era, which belongs to a session.
    async fn in_session(&self, parts: &Arc<Parts>, frame: &[u8]) -> Response<Body> {
        match self.session(parts).await {
            Ok(session) => {
                let form = Form::of(&parts.headers).unwrap_or(Form::Either);
                let response = legacy::message(&session, (parts, form), frame).await;
                kept::saved(&session).await.err().unwrap_or(response)
            }
            Err(refusal) => refusal,
        }
    }

    async fn session(&self, parts: &Parts) -> Result<Arc<sessions::Session>, Response<Body>> {
        let Some(id) = parts.headers.get(&legacy::SESSION) else {
            let text = "send `initialize` first and its `Mcp-Session-Id` with every request, or describe the request in its `_meta`";
            return Err(respond::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text));
        };
        if parts.headers.get_all(&legacy::SESSION).iter().count() > 1 {
            let text = "a request belongs to one session; `Mcp-Session-Id` is there twice";
            return Err(respond::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text));
        }
        match Headers(&parts.headers).get(&headers::VERSION) {
            Ok(Some(version)) if Revision::LEGACY.iter().all(|known| known.as_str() != version) => {
                return Err(bad(Id::NULL, &unsupported(version)));
            }
            Ok(_) => {}
            Err(error) => return Err(bad(Id::NULL, &error)),
        }
        let principal = self.principal(parts).map_err(|refused| refused.answer(Id::NULL))?;
        let id = id.to_str().unwrap_or_default();
        let found = match &self.options.stores {
            None => self.sessions.find(id, principal.as_deref(), &self.core.limits),
            // Boxed: who has no store should not have its futures in every request.
            Some(stores) => Box::pin(kept::find(stores, &self.sessions, &self.core, id, principal.as_deref())).await?,
        };
        found.ok_or_else(|| {
            let text = "there is no such session; send `initialize` to open one";
            respond::refuse(StatusCode::NOT_FOUND, RpcError::INVALID_REQUEST, text)
        })
    }

    async fn get(&self, parts: &Parts) -> Response<Body> {
        if self.options.sessionless || !parts.headers.contains_key(&legacy::SESSION) || Self::is_modern(parts) {
            return respond::not_allowed("POST");
        }
        if !Form::of(&parts.headers).is_some_and(Form::streams) {
            return respond::refuse(
                StatusCode::NOT_ACCEPTABLE,
                RpcError::INVALID_REQUEST,
                "what is here is a stream of events: send `Accept: text/event-stream`",
            );
        }
        let session = match self.session(parts).await {
            Ok(session) => session,
            Err(refusal) => return refusal,
        };
        let place = match self.shares.stream() {
            Ok(place) => place,
            Err(refused) => return refused.answer(Id::NULL),
        };
        let last_event = parts.headers.get("last-event-id").map(|id| id.to_str().unwrap_or_default());
        let mut response = legacy::stream(&session, last_event).await;
        response.body_mut().keep(place);
        response
    }

    async fn delete(&self, parts: &Parts) -> Response<Body> {
        if self.options.sessionless || Self::is_modern(parts) {
            return respond::not_allowed("POST");
        }
        match (self.session(parts).await, self.principal(parts)) {
            (Ok(session), Ok(principal)) => {
                if let Err(refusal) = Box::pin(kept::end(&session)).await {
                    return refusal;
                }
                let id = parts.headers.get(&legacy::SESSION).and_then(|id| id.to_str().ok()).unwrap_or_default();
                self.sessions.end(id, principal.as_deref());
                respond::empty(StatusCode::NO_CONTENT)
            }
            (Err(refusal), _) => refusal,
            (_, Err(refused)) => refused.answer(Id::NULL),
        }
    }

    fn is_modern(parts: &Parts) -> bool {
        Headers(&parts.headers).get(&headers::VERSION).is_ok_and(|version| version.is_some_and(era::is_modern_date))
    }

    fn open_sse(&self, parts: &Parts) -> Result<Response<Body>, Refused> {
        let (principal, place) = (self.principal(parts)?, self.shares.stream()?);
        let mut response = self.sse.open(&self.core, principal);
        response.body_mut().keep(place);
        Ok(response)
    }
}

fn bad(id: Id<'_>, error: &RpcError) -> Response<Body> {
    respond::error(StatusCode::BAD_REQUEST, id, error)
}

fn unsupported(version: &str) -> RpcError {
    RpcError::new(RpcError::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(json!({"supported": Revision::MODERN, "requested": version}))
}
