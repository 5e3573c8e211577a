//! Looks up the session that a request names, and serves the request in it.

use std::sync::Arc;

use http::{Response, StatusCode};

use super::fleet::relay;
use super::persistence::Intent;
use super::{Session, get, persistence, serve};
use crate::call::in_flight::CallKind;
use crate::era::{self, RequestParams};
use crate::error::Result;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{Id, Request};
use crate::protocol::Revision;
use crate::server::memory::Owner;
use crate::transport::http::endpoint::bad_request;
use crate::transport::http::request::HttpRequest;
use crate::transport::http::request::headers::{Field, Headers};
use crate::transport::http::{Body, Service, response};

impl Service {
    /// Receives a notification or a response in a session.
    pub(crate) async fn message_in_session(&self, http: HttpRequest<'_>, frame: &[u8]) -> Response<Body> {
        match self.session(&http, Intent::Use).await {
            Ok(session) => {
                if let Err(away) = relay::forward(&session, frame).await {
                    return persistence::unavailable(away);
                }
                let response = serve::message(&session, &http, frame);
                persistence::save(&session).await.err().unwrap_or(response)
            }
            Err(refusal) => refusal,
        }
    }

    /// Serves a request in a session.
    pub(crate) async fn request_in_session<'a>(
        &self,
        http: HttpRequest<'_>,
        request: Request<'a>,
        params: Result<RequestParams<'a>, RpcError>,
    ) -> Response<Body> {
        let intent = Intent::of(&request.method);
        let session = match self.session(&http, intent).await {
            Ok(session) => session,
            Err(refusal) => return refusal,
        };
        if request.method == "initialize" {
            return bad_request(
                request.id,
                &RpcError::invalid_request(
                    "this session is already initialized; send `initialize` without `Mcp-Session-Id` to open another",
                ),
            );
        }
        if request.method == "shutdown" {
            let guard = self.sessions.shutdown_guard(&session);
            let response = serve::request(&session, &http, &request, params).finish().await;
            return guard.finish(response).await;
        }
        let response = serve::request(&session, &http, &request, params).finish().await;
        match persistence::save(&session).await {
            Err(refusal) if intent == Intent::Change => refusal,
            // What an earlier request has changed is saved later; this one has its answer.
            _ => response,
        }
    }

    /// Serves a batch in a session.
    pub(crate) async fn batch_in_session(&self, http: HttpRequest<'_>, frame: &[u8]) -> Response<Body> {
        match self.session(&http, Intent::Change).await {
            Ok(session) => {
                if let Err(away) = relay::forward_batch(&session, frame).await {
                    return persistence::unavailable(away);
                }
                let response = serve::batch(&session, &http, frame).await;
                persistence::save(&session).await.err().unwrap_or(response)
            }
            Err(refusal) => refusal,
        }
    }

    /// The session that a request names, if its protocol version has sessions.
    async fn session(&self, http: &HttpRequest<'_>, intent: Intent) -> Result<Arc<Session>, Response<Body>> {
        // A missing session id is reported first, whatever the version.
        session_id(http.headers)?;
        let version = http.headers.version().map_err(|error| bad_request(Id::NULL, &error))?;
        if let Some(version) = version
            && Revision::with_sessions(version).is_none()
        {
            return Err(bad_request(Id::NULL, &era::unsupported_version(version)));
        }
        let Some(stores) = &self.options.stores else { return self.local_session(http) };
        let (id, principal) = self.session_claim(http)?;
        let found = persistence::find(stores, &self.sessions, &self.core, id, principal.as_deref(), intent).await?;
        found.ok_or_else(|| refuse_session(http, principal.as_ref()))
    }

    /// The session that a request names, for a service without a session store.
    pub(crate) fn local_session(&self, http: &HttpRequest<'_>) -> Result<Arc<Session>, Response<Body>> {
        let (id, principal) = self.session_claim(http)?;
        let found = self.sessions.find(id, principal.as_deref(), &self.core.limits);
        found.ok_or_else(|| refuse_session(http, principal.as_ref()))
    }

    /// The session id of a request, and the principal that claims the session.
    fn session_claim<'a>(&self, http: &HttpRequest<'a>) -> Result<(&'a str, Option<Arc<str>>), Response<Body>> {
        let id = session_id(http.headers)?;
        let principal = self.principal(http).map_err(|rejected| rejected.answer(Id::NULL))?;
        Ok((id, principal))
    }

    /// Opens or resumes an event stream of a session (GET).
    pub(crate) async fn event_stream(&self, http: HttpRequest<'_>) -> Response<Body> {
        let session = match self.session(&http, Intent::Use).await {
            Ok(session) => session,
            Err(refusal) => return refusal,
        };
        let owner = Owner::of(session.principal().as_ref(), http.peer);
        let permit = match self.quota_permit(owner, CallKind::Stream) {
            Ok(permit) => permit,
            Err(rejected) => return rejected.answer(Id::NULL),
        };
        let last_event = http.parts.headers.get("last-event-id").map(|id| id.to_str().unwrap_or_default());
        let mut response = get::stream(&session, last_event).await;
        response.body_mut().keep(permit);
        response
    }

    /// Ends a session (DELETE).
    pub(crate) async fn end_session(&self, http: HttpRequest<'_>) -> Response<Body> {
        match (self.session(&http, Intent::Use).await, self.principal(&http)) {
            (Ok(session), Ok(principal)) => {
                if let Err(refusal) = persistence::end(&session).await {
                    return refusal;
                }
                let id = session_id(http.headers).unwrap_or_default();
                self.sessions.end(id, principal.as_deref());
                persistence::ended(&session).await;
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
        Field::Twice => "send `Mcp-Session-Id` once: a request belongs to one session",
        Field::Absent => {
            "send `initialize` first and its `Mcp-Session-Id` with every request, or describe the request in its `_meta`"
        }
    };
    Err(response::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text))
}

/// Nobody has that session, or somebody else has.
fn refuse_session(http: &HttpRequest<'_>, principal: Option<&Arc<str>>) -> Response<Body> {
    if let Some(post) = http.unclaimed {
        post.is_by(principal);
    }
    unknown_session()
}

fn unknown_session() -> Response<Body> {
    let text = "unknown or expired session; send `initialize` to open a new one";
    response::refuse(StatusCode::NOT_FOUND, RpcError::INVALID_REQUEST, text)
}
