//! HTTP+SSE, the transport of 2024-11-05: a stream of events for everything the server says, and
//! another address for what the client says.
//! <https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse>

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use http::request::Parts;
use http::{Response, StatusCode};
use tokio::runtime::Handle;

use super::response;
use super::response::body::{Body, LineEvents};
use crate::call::outbox::{Outbox, Outgoing};
use crate::dispatch::connection::Connection;
use crate::jsonrpc::error::RpcError;
use crate::random;
use crate::server::core::Core;
use crate::sync::lock;

/// The connections there are, by the id in their address.
#[derive(Debug, Default)]
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

    /// Opens a connection: the response is its stream, which begins with where to send messages.
    pub(super) fn open(self: &Arc<Self>, core: &Arc<Core>, principal: Option<String>) -> Response<Body> {
        if self.table().len() >= core.limits.sessions {
            return response::later(StatusCode::SERVICE_UNAVAILABLE, "too many connections");
        }
        let Ok(id) = random::id() else {
            return response::later(StatusCode::SERVICE_UNAVAILABLE, "no connection can be made now");
        };
        let (outbox, lines) = Outbox::connection();
        let connection = Mutex::new(Connection::new(Arc::clone(core), Handle::current()));
        let principal: Option<Arc<str>> = principal.map(Into::into);
        let session = SseSession { connection, outbox: outbox.with_principal(principal.clone()), principal };
        self.table().insert(id.as_str().into(), Arc::new(session));
        // Relative, so that it is right wherever the service is nested.
        let first = format!("event: endpoint\ndata: messages?sessionId={id}\n\n");
        let open = Open { sessions: Arc::downgrade(self), id: id.into() };
        response::events(Body::events(LineEvents { first: Some(first.into()), lines, form: events, _source: open }))
    }

    /// Takes a message; what comes of it is said on the stream.
    pub(super) async fn message(&self, parts: &Parts, principal: Option<&str>, frame: &[u8]) -> Response<Body> {
        let query = parts.uri.query().unwrap_or_default();
        let id = query.split('&').find_map(|pair| pair.strip_prefix("sessionId=")).unwrap_or_default();
        let session = self.table().get(id).filter(|session| session.principal.as_deref() == principal).cloned();
        let Some(session) = session else {
            let text = "there is no such connection; open one with GET";
            return response::refuse(StatusCode::NOT_FOUND, RpcError::INVALID_REQUEST, text);
        };
        let mut out = Vec::new();
        lock(&session.connection).receive(frame, &session.outbox, &mut out);
        // Backpressure: a client that does not read its stream is not read from, either.
        if !out.is_empty() && session.outbox.sender().send(Outgoing::Answer(out)).await.is_err() {
            return response::empty(StatusCode::NOT_FOUND);
        }
        response::empty(StatusCode::ACCEPTED)
    }
}

/// An open stream: when it is closed, so is the connection.
struct Open {
    sessions: Weak<SseSessions>,
    id: Box<str>,
}

impl Drop for Open {
    fn drop(&mut self) {
        let Some(sessions) = self.sessions.upgrade() else { return };
        let session = sessions.table().remove(&self.id);
        if let Some(session) = session {
            lock(&session.connection).control().abort();
        }
    }
}

fn events(lines: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(lines.len() + 32);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        out.extend_from_slice(b"event: message\ndata: ");
        out.extend_from_slice(line);
        out.extend_from_slice(b"\n\n");
    }
    out
}
