//! Messages that name a session: which one it is, and what comes of them.

use std::sync::Arc;

use http::{Response, StatusCode};

use super::{Session, get, serve, stored};
use crate::era::{self, RequestParams};
use crate::error::Result;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{Id, Request};
use crate::protocol::Revision;
use crate::transport::http::endpoint::bad_request;
use crate::transport::http::request::HttpRequest;
use crate::transport::http::request::headers::{Field, Headers};
use crate::transport::http::{Body, Service, response};

impl Service {
    /// Takes a notification or a response of a session.
    pub(crate) async fn message_in_session(&self, http: HttpRequest<'_>, frame: &[u8]) -> Response<Body> {
        match self.session(&http).await {
            Ok(session) => {
                let response = serve::message(&session, &http, frame);
                stored::save(&session).await.err().unwrap_or(response)
            }
            Err(refusal) => refusal,
        }
    }

    pub(crate) async fn request_in_session<'a>(
        &self,
        http: HttpRequest<'_>,
        request: Request<'a>,
        params: Result<RequestParams<'a>, RpcError>,
    ) -> Response<Body> {
        let session = match self.session(&http).await {
            Ok(session) => session,
            Err(refusal) => return refusal,
        };
        if request.method == "initialize" {
            return bad_request(request.id, &RpcError::invalid_request("this session is initialized already"));
        }
        if request.method == "shutdown" {
            let ending = self.sessions.ending(&session);
            let response = serve::request(&session, &http, &request, params).finish().await;
            return ending.with(response).await;
        }
        let response = serve::request(&session, &http, &request, params).finish().await;
        stored::save(&session).await.err().unwrap_or(response)
    }

    pub(crate) async fn batch_in_session(&self, http: HttpRequest<'_>, frame: &[u8]) -> Response<Body> {
        match self.session(&http).await {
            Ok(session) => {
                let response = serve::batch(&session, &http, frame).await;
                stored::save(&session).await.err().unwrap_or(response)
            }
            Err(refusal) => refusal,
        }
    }

    /// The session a message names, if its version is one that has sessions.
    async fn session(&self, http: &HttpRequest<'_>) -> Result<Arc<Session>, Response<Body>> {
        // A message without a session is refused for that first, whatever its version.
        session_id(http.headers)?;
        let version = http.headers.version().map_err(|error| bad_request(Id::NULL, &error))?;
        if let Some(version) = version.filter(|version| Revision::with_sessions(version).is_none()) {
            return Err(bad_request(Id::NULL, &era::unsupported_version(version)));
        }
        let Some(stores) = &self.options.stores else { return self.local_session(http) };
        let (id, principal) = self.session_claim(http)?;
        let found = stored::find(stores, &self.sessions, &self.core, id, principal.as_deref()).await?;
        found.ok_or_else(no_such_session)
    }

    /// The session a message names, where sessions are in this process only.
    pub(crate) fn local_session(&self, http: &HttpRequest<'_>) -> Result<Arc<Session>, Response<Body>> {
        let (id, principal) = self.session_claim(http)?;
        self.sessions.find(id, principal.as_deref(), &self.core.limits).ok_or_else(no_such_session)
    }

    /// The session a message names, and the principal that names it.
    fn session_claim<'a>(&self, http: &HttpRequest<'a>) -> Result<(&'a str, Option<String>), Response<Body>> {
        let id = session_id(http.headers)?;
        let principal = self.principal(http.parts).map_err(|rejected| rejected.answer(Id::NULL))?;
        Ok((id, principal))
    }

    /// Opens or resumes an event stream of a session.
    pub(crate) async fn event_stream(&self, http: HttpRequest<'_>) -> Response<Body> {
        let session = match self.session(&http).await {
            Ok(session) => session,
            Err(refusal) => return refusal,
        };
        let place = match self.shares.stream() {
            Ok(place) => place,
            Err(rejected) => return rejected.answer(Id::NULL),
        };
        let last_event = http.parts.headers.get("last-event-id").map(|id| id.to_str().unwrap_or_default());
        let mut response = get::stream(&session, last_event).await;
        response.body_mut().keep(place);
        response
    }

    pub(crate) async fn end_session(&self, http: HttpRequest<'_>) -> Response<Body> {
        match (self.session(&http).await, self.principal(http.parts)) {
            (Ok(session), Ok(principal)) => {
                if let Err(refusal) = stored::end(&session).await {
                    return refusal;
                }
                let id = session_id(http.headers).unwrap_or_default();
                self.sessions.end(id, principal.as_deref());
                response::empty(StatusCode::NO_CONTENT)
            }
            (Err(refusal), _) => refusal,
            (_, Err(rejected)) => rejected.answer(Id::NULL),
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
