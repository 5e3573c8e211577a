//! Messages that belong to a session: which one it is, and what comes of them.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};

use super::{Session, serve, stored};
use crate::era::{RequestParams, unsupported_version};
use crate::error::Result;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{Id, Request};
use crate::protocol::Revision;
use crate::transport::http::endpoint::{bad, is_modern};
use crate::transport::http::request::accept::ResponseFormat;
use crate::transport::http::request::headers::{Field, Headers};
use crate::transport::http::{Body, Service, response};

impl Service {
    /// Takes what is owed no answer.
    pub(crate) async fn told(&self, parts: &Arc<Parts>, headers: &Headers<'_>, frame: &[u8]) -> Response<Body> {
        match self.session(parts, headers).await {
            Ok(session) => {
                let response = serve::told(&session, parts, frame);
                stored::save(&session).await.err().unwrap_or(response)
            }
            Err(refusal) => refusal,
        }
    }

    pub(crate) async fn request_in_session<'a>(
        &self,
        (parts, headers, form): (&Arc<Parts>, &Headers<'_>, ResponseFormat),
        request: Request<'a>,
        read: Result<RequestParams<'a>, RpcError>,
    ) -> Response<Body> {
        let session = match self.session(parts, headers).await {
            Ok(session) => session,
            Err(refusal) => return refusal,
        };
        if request.method == "initialize" {
            return bad(request.id, &RpcError::invalid_request("this session is initialized already"));
        }
        if request.method == "shutdown" {
            let ending = self.sessions.ending(&session);
            let response = serve::request(&session, (parts, form), &request, read).finish().await;
            return ending.with(response).await;
        }
        let response = serve::request(&session, (parts, form), &request, read).finish().await;
        stored::save(&session).await.err().unwrap_or(response)
    }

    /// Takes a message of the legacy era, which belongs to a session.
    pub(crate) async fn in_session(&self, parts: &Arc<Parts>, headers: &Headers<'_>, frame: &[u8]) -> Response<Body> {
        match self.session(parts, headers).await {
            Ok(session) => {
                let form = ResponseFormat::of(headers).unwrap_or(ResponseFormat::Either);
                let response = serve::message(&session, (parts, form), frame).await;
                stored::save(&session).await.err().unwrap_or(response)
            }
            Err(refusal) => refusal,
        }
    }

    /// The session a message belongs to, if its version is one that has sessions.
    async fn session(&self, parts: &Parts, headers: &Headers<'_>) -> Result<Arc<Session>, Response<Body>> {
        // Who names no session hears that first, whatever the version.
        session_id(headers)?;
        let version = headers.version().map_err(|error| bad(Id::NULL, &error))?;
        if let Some(version) = version.filter(|version| Revision::with_sessions(version).is_none()) {
            return Err(bad(Id::NULL, &unsupported_version(version)));
        }
        let Some(stores) = &self.options.stores else { return self.session_here(parts, headers) };
        let (id, principal) = self.claim(parts, headers)?;
        let found = stored::find(stores, &self.sessions, &self.core, id, principal.as_deref()).await?;
        found.ok_or_else(no_such_session)
    }

    /// The session a message belongs to, where they are in this process only.
    pub(crate) fn session_here(&self, parts: &Parts, headers: &Headers<'_>) -> Result<Arc<Session>, Response<Body>> {
        let (id, principal) = self.claim(parts, headers)?;
        self.sessions.find(id, principal.as_deref(), &self.core.limits).ok_or_else(no_such_session)
    }

    /// The session a message says it belongs to, and who says so.
    fn claim<'a>(&self, parts: &Parts, headers: &Headers<'a>) -> Result<(&'a str, Option<String>), Response<Body>> {
        let id = session_id(headers)?;
        let principal = self.principal(parts).map_err(|refused| refused.answer(Id::NULL))?;
        Ok((id, principal))
    }

    pub(crate) async fn get(&self, parts: &Parts, headers: &Headers<'_>) -> Response<Body> {
        if self.options.sessionless || !headers.session.is_there() || is_modern(headers) {
            return response::not_allowed("POST");
        }
        if !ResponseFormat::of(headers).is_some_and(ResponseFormat::streams) {
            return response::refuse(
                StatusCode::NOT_ACCEPTABLE,
                RpcError::INVALID_REQUEST,
                "what is here is a stream of events: send `Accept: text/event-stream`",
            );
        }
        let session = match self.session(parts, headers).await {
            Ok(session) => session,
            Err(refusal) => return refusal,
        };
        let place = match self.shares.stream() {
            Ok(place) => place,
            Err(refused) => return refused.answer(Id::NULL),
        };
        let last_event = parts.headers.get("last-event-id").map(|id| id.to_str().unwrap_or_default());
        let mut response = serve::stream(&session, last_event).await;
        response.body_mut().keep(place);
        response
    }

    pub(crate) async fn delete(&self, parts: &Parts, headers: &Headers<'_>) -> Response<Body> {
        if self.options.sessionless || is_modern(headers) {
            return response::not_allowed("POST");
        }
        match (self.session(parts, headers).await, self.principal(parts)) {
            (Ok(session), Ok(principal)) => {
                if let Err(refusal) = stored::end(&session).await {
                    return refusal;
                }
                let id = session_id(headers).unwrap_or_default();
                self.sessions.end(id, principal.as_deref());
                response::empty(StatusCode::NO_CONTENT)
            }
            (Err(refusal), _) => refusal,
            (_, Err(refused)) => refused.answer(Id::NULL),
        }
    }
}

fn session_id<'a>(headers: &Headers<'a>) -> Result<&'a str, Response<Body>> {
    let text = match headers.session {
        Field::Once(id) => return Ok(id.to_str().unwrap_or_default()),
        Field::Twice => "a request belongs to one session; `Mcp-Session-Id` is there twice",
        Field::Absent => {
            "send `initialize` first and its `Mcp-Session-Id` with every request, or describe the request in its `_meta`"
        }
    };
    Err(response::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text))
}

fn no_such_session() -> Response<Body> {
    let text = "there is no such session; send `initialize` to open one";
    response::refuse(StatusCode::NOT_FOUND, RpcError::INVALID_REQUEST, text)
}
