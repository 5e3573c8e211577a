//! Messages of the older revisions that belong to no session: every request at a server without sessions,
//! and notifications that name none.

use std::sync::Arc;

use http::{Response, StatusCode};
use tokio::runtime::Handle;

use super::quota::Rejected;
use super::request::HttpRequest;
use super::response::body::{Body, LineEvents};
#[cfg(feature = "auth")]
use super::response::denied;
use super::response::refused;
use super::response::sse::events;
use super::session::serve::{First, at_once, first};
use super::{Service, response};
use crate::call::in_flight::CallKind;
use crate::call::outbox::Outbox;
use crate::dispatch::connection::Connection;
use crate::era::LegacySession;
use crate::jsonrpc::{self, Id, Message, Request};
use crate::observe::Transport;
use crate::protocol::Revision;
use crate::server::core::Core;

/// Serves a request at a server without sessions.
pub(super) async fn request(
    service: &Service,
    http: HttpRequest<'_>,
    revision: Option<Revision>,
    request: Request<'_>,
    frame: &[u8],
) -> Response<Body> {
    // No session counts its calls, so the principal's quota does.
    let outbox = service.principal(&http).map(|principal| http.outbox(false, principal));
    let permit = outbox.and_then(|outbox| Ok((service.quota_permit(outbox.owner(), CallKind::Call)?, outbox)));
    let (permit, outbox) = match permit {
        Ok(permit) => permit,
        Err(rejected) => return rejected.answer(request.id),
    };
    let mut response = serve(&service.core, &http, revision, &request, frame, outbox).await;
    response.body_mut().keep(permit);
    response
}

/// Serves a request by the rules of the revision its header names, or of the one that has no such header.
async fn serve(
    core: &Arc<Core>,
    http: &HttpRequest<'_>,
    revision: Option<Revision>,
    request: &Request<'_>,
    frame: &[u8],
    mut outbox: Outbox,
) -> Response<Body> {
    let format = http.format();
    let mut connection = Connection::new(Arc::clone(core), Handle::current());
    if request.method != "initialize" {
        connection.session = LegacySession::assumed(revision.unwrap_or(Revision::WITHOUT_HEADER));
    }
    let mut out = Vec::new();
    connection.control().set_transport(Transport::Http);
    http.claim();
    let received = connection.receive(frame, &outbox, &mut out);
    #[cfg(feature = "auth")]
    if let (Some(denied), Some(at)) = (outbox.take_denied(), received.answer_at) {
        return denied::denied(out[at..].to_vec(), &denied);
    }
    if let (Some(throttled), Some(at)) = (outbox.take_throttled(), received.answer_at) {
        return response::throttled(out[at..].to_vec(), &throttled);
    }
    let (None, Some(messages)) = (received.answer_at, outbox.into_receiver()) else {
        return at_once(received, out, format);
    };
    // Nothing else holds the connection: when the client is gone, it is dropped, and the call with it.
    let mut stream = LineEvents { first: None, lines: messages, form: events, _source: connection };
    if out.is_empty() || !format.streams() {
        match first(&mut stream.lines, format).await {
            First::Nothing => return response::empty(StatusCode::ACCEPTED),
            First::Answer(line) => return response::answer(format, line),
            First::Refused(call) => return refused::call(*call),
            First::Notification(line) => out = line,
            // Without a session there is no stream to come back to.
            First::Detach => {}
        }
    }
    stream.first = Some(events(&out).into());
    response::events(Body::events(stream))
}

/// Takes a notification that belongs to no session: the server's own, or one without meaning here.
pub(super) fn notification(service: &Service, http: &HttpRequest<'_>, frame: &[u8]) -> Response<Body> {
    let taken = service.principal(http).and_then(|principal| take(service, http, principal, frame));
    match taken {
        Ok(()) => response::empty(StatusCode::ACCEPTED),
        Err(rejected) => rejected.answer(Id::NULL),
    }
}

fn take(service: &Service, http: &HttpRequest<'_>, principal: Option<Arc<str>>, frame: &[u8]) -> Result<(), Rejected> {
    let Ok(Message::Notification(notification)) = jsonrpc::parse(frame) else { return Ok(()) };
    let outbox = http.outbox(false, principal);
    let mut connection = Connection::new(Arc::clone(&service.core), Handle::current());
    connection.control().set_transport(Transport::Http);
    // The response does not wait for the handler, and no session counts it: so it has a place of its own until it ends.
    let is_custom = connection.view.catalog().notifications.get(&notification.method).is_some();
    let place = is_custom.then(|| service.notification_place(outbox.owner())).transpose()?;
    connection.notification(&notification, frame, &outbox);
    if connection.control().in_flight.is_busy() {
        // Its handler runs for as long as the connection exists.
        tokio::spawn(async move {
            connection.control().in_flight.at_most(0).await;
            drop(place);
        });
    }
    Ok(())
}
