//! HTTP+SSE, the transport of 2024-11-05: the server sends everything on one stream of events, and the
//! client posts its messages to another address.
//! <https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse>

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use http::request::Parts;
use http::{Response, StatusCode};
use tokio::runtime::Handle;

use super::request::HttpRequest;
use super::response;
use super::response::body::{Body, LineEvents};
#[cfg(feature = "auth")]
use super::response::denied;
use super::response::sse::typed_events;
use crate::call::outbox::{Outbox, Outgoing};
use crate::dispatch::connection::Connection;
use crate::dispatch::shared;
use crate::jsonrpc::error::RpcError;
use crate::observe::Transport;
use crate::random;
use crate::server::core::Core;
use crate::sync::lock;

/// The open connections, by the id in the address of their messages.
#[derive(Default)]
pub(super) struct SseSessions(Mutex<HashMap<Box<str>, Arc<SseSession>>>);

#[derive(Debug)]
struct SseSession {
    connection: Mutex<Connection>,
    outbox: Outbox,
    principal: Option<Arc<str>>,
}

impl SseSessions {
    fn table(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<SseSession>>> {
        lock(&self.0)
    }

    /// Opens a connection. The response is its stream; the first event is the address for messages.
    pub(super) fn open(
        self: &Arc<Self>,
        core: &Arc<Core>,
        principal: Option<Arc<str>>,
        http: &HttpRequest<'_>,
    ) -> Response<Body> {
        if self.table().len() >= core.limits.sessions {
            return response::later(StatusCode::SERVICE_UNAVAILABLE, "too many connections; retry later");
        }
        let Ok(id) = random::id() else {
            return response::later(StatusCode::SERVICE_UNAVAILABLE, "cannot open a connection now; retry later");
        };
        let (outbox, lines) = Outbox::connection();
        let mut connection = Connection::new(Arc::clone(core), Handle::current());
        connection.belongs_to(Transport::Sse, &id);
        let connection = Mutex::new(connection);
        let session = SseSession { connection, outbox: outbox.of_caller(principal.clone(), http.peer), principal };
        self.table().insert(id.as_str().into(), Arc::new(session));
        // Relative, because the service may be nested under any path.
        let first = format!("event: endpoint\ndata: messages?sessionId={id}\n\n");
        let guard = CloseOnDrop { sessions: Arc::downgrade(self), id: id.into() };
        response::events(Body::events(LineEvents {
            first: Some(first.into()),
            lines,
            form: typed_events,
            _source: guard,
        }))
    }

    /// Ends all connections behind the answers of their calls, which are over soon.
    pub(super) async fn end_all(&self) {
        let all: Vec<_> = self.table().values().map(Arc::clone).collect();
        for session in all {
            let control = Arc::clone(lock(&session.connection).control());
            control.in_flight.at_most(0).await;
            let _ = session.outbox.sender().send(Outgoing::End).await;
        }
    }

    /// Receives a message. Its answer is sent on the stream.
    pub(super) async fn message(
        &self,
        http: &HttpRequest<'_>,
        principal: Option<&str>,
        frame: &[u8],
    ) -> Response<Body> {
        let id = session_id(http.parts).unwrap_or_default();
        let session = self.table().get(id).filter(|session| session.principal.as_deref() == principal).cloned();
        let Some(session) = session else {
            let text = "unknown `sessionId`; open a connection with GET first";
            return response::refuse(StatusCode::NOT_FOUND, RpcError::INVALID_REQUEST, text);
        };
        let mut out = Vec::new();
        let outbox = session.outbox.of_message(http.parts).holding(http.held.cloned());
        // A message has a token of its own, whose scopes may be others than those of the stream.
        #[cfg(feature = "auth")]
        let mut outbox = outbox.with_access(http.access.cloned());
        http.claim();
        shared::receive(&session.connection, frame, &outbox, &mut out);
        #[cfg(feature = "auth")]
        if let (Some(_), Some(denied)) = (http.access, outbox.take_denied()) {
            return denied::denied(out, &denied);
        }
        // Backpressure: a client has to read its stream before it can send more.
        if !out.is_empty() && session.outbox.sender().send(Outgoing::Answer(out)).await.is_err() {
            return response::empty(StatusCode::NOT_FOUND);
        }
        response::empty(StatusCode::ACCEPTED)
    }
}

/// The connection that a message names in its address.
pub(super) fn session_id(parts: &Parts) -> Option<&str> {
    parts.uri.query()?.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}

/// The number of connections alone: their ids are credentials.
impl fmt::Debug for SseSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SseSessions").field(&self.table().len()).finish()
    }
}

/// Closes a connection when its stream is dropped.
struct CloseOnDrop {
    sessions: Weak<SseSessions>,
    id: Box<str>,
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        let Some(sessions) = self.sessions.upgrade() else { return };
        let session = sessions.table().remove(&self.id);
        if let Some(session) = session {
            lock(&session.connection).control().abort();
        }
    }
}
