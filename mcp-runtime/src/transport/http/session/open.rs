//! Opening a session: an `initialize` that succeeds gets an id.

use std::sync::Arc;

use http::header::HeaderValue;
use http::{Response, StatusCode};
use tokio::runtime::Handle;

use super::stores::Stores;
use super::{Full, Opener, Sessions, persistence};
use crate::dispatch::connection::Connection;
use crate::jsonrpc::Id;
use crate::jsonrpc::error::RpcError;
use crate::observe::Transport;
use crate::server::core::Core;
use crate::transport::http::request::HttpRequest;
use crate::transport::http::request::headers::SESSION;
use crate::transport::http::response;
use crate::transport::http::response::body::Body;

/// The longest `initialize`. Icons as `data:` URIs are the longest part of real ones.
const GREETING_BYTES: usize = 64 * 1024;

/// Serves an `initialize`, and keeps the session it negotiated.
pub(crate) async fn open(
    core: &Arc<Core>,
    sessions: &Arc<Sessions>,
    stores: Option<&Arc<Stores>>,
    principal: Option<&str>,
    http: &HttpRequest<'_>,
    frame: &[u8],
) -> Response<Body> {
    match sessions.make_room(principal, &core.limits) {
        Ok(()) => {}
        Err(Full::Server) => return response::later(StatusCode::SERVICE_UNAVAILABLE, "too many sessions"),
        Err(Full::Principal) => return response::too_many_to(Id::NULL, "too many sessions of yours; end one"),
    }
    if frame.len() > GREETING_BYTES {
        let text = format!("an `initialize` may have {GREETING_BYTES} bytes: it is kept for as long as the session");
        return response::refuse(StatusCode::PAYLOAD_TOO_LARGE, RpcError::INVALID_REQUEST, &text);
    }
    let opener = Opener { principal, peer: http.peer, held: http.held };
    let mut connection = Connection::new(Arc::clone(core), Handle::current());
    let mut out = Vec::new();
    let outbox = http.outbox(false, principal.map(Arc::from));
    connection.control().set_transport(Transport::HttpSession);
    http.claim();
    connection.receive(frame, &outbox, &mut out);
    let mut response = response::answer(http.format(), out);
    if connection.session.client().is_none() {
        return response;
    }
    let id = match stores {
        None => sessions.open(connection, opener),
        Some(stores) => Box::pin(persistence::open(stores, sessions, connection, opener)).await,
    };
    match id.map(HeaderValue::try_from) {
        Ok(Ok(id)) => {
            response.headers_mut().insert(SESSION, id);
            response
        }
        _ => response::later(StatusCode::SERVICE_UNAVAILABLE, "no session can be made now"),
    }
}
