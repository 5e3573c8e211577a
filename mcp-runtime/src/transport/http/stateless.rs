//! One request of 2026-07-28: no session, its answer in the response, cancelled when the client is gone.
//!
//! The connection itself polls the call: no task, no table. When the client disconnects, hyper drops the
//! response and the handler's future with it, which is this revision's cancellation.

mod answer;

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use tokio::sync::mpsc;

use self::answer::{AnswerFuture, StatelessAnswer, StatelessStream, sent_notifications, tell};
use super::quota::QuotaPermit;
use super::request::HttpRequest;
use super::request::accept::ResponseFormat;
use super::request::headers::Headers;
use super::request::watched;
use super::response::body::Body;
#[cfg(feature = "auth")]
use super::response::denied;
use super::response::refused;
use super::response::sse::events;
use super::{Responding, Service, response};
use crate::call::begin::{Begun, CallEnv, WaitingCall, begin};
use crate::call::in_flight::CallKind;
use crate::call::invocation::{CallChannel, Invocation};
use crate::call::notifier::CloseOnDrop;
use crate::call::outbox::refused::Refusal;
use crate::call::outbox::{Outbox, Outgoing};
use crate::call::telemetry::watch::{AcceptedRequest, Watch};
use crate::dispatch::{listen, long_answers, router};
use crate::era::encode::{self, ResponseTo};
use crate::era::{self, Accepted, Era, LegacySession, Method, RequestParams};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::raw::Raw;
use crate::jsonrpc::{Id, Request};
use crate::outcome::{Failure, Outcome};
use crate::panic;
use crate::server::core::Core;
use crate::server::memory::FREE;
use crate::server::state::Phase;

/// Serves a request, as far as that can be done at once.
pub(super) fn serve<'a>(
    service: &Service,
    http: &HttpRequest<'_>,
    request: &Request<'a>,
    params: Result<RequestParams<'a>, RpcError>,
) -> Responding<'static> {
    let mut watch = watched::begin(&service.core, http.unclaimed, request);
    let response = respond(service, http, request, params, &mut watch);
    if let Responding::Done(response) = &response {
        if watch.is_on() {
            let principal = service.principal(http).ok().flatten();
            watch.sent_by(|| (http.sender(principal.as_ref()), http.revision()));
        }
        watched::refused(watch, response);
    }
    response
}

/// Serves a request. Its watch is taken if it is answered, or will be.
fn respond<'a>(
    service: &Service,
    http: &HttpRequest<'_>,
    request: &Request<'a>,
    params: Result<RequestParams<'a>, RpcError>,
    watch: &mut Watch,
) -> Responding<'static> {
    let (core, catalog) = (&service.core, service.core.shared.catalog());
    let call = era::accept(Era::Stateless, request, params, &LegacySession::default(), &*catalog, http.headers);
    let call = match call {
        Ok(call) => call,
        Err(error) => return Responding::Done(refuse(request.id, &error)),
    };
    let principal = match service.principal(http) {
        Ok(principal) => principal,
        Err(rejected) => return Responding::Done(rejected.answer(request.id)),
    };
    let outbox = http.outbox(false, principal);
    watch.accepted(|| AcceptedRequest {
        id: request.id.as_str(),
        call: &call,
        names: &*catalog,
        sender: outbox.caller(),
    });
    let env = CallEnv { core, catalog: &catalog, outbox: &outbox, control: None };
    if let Err(error) = check_header_args(&env, request.id, &call, http.headers) {
        return Responding::Done(refuse(request.id, &error));
    }
    let to = ResponseTo { id: request.id, method: call.method, revision: call.envelope.revision };
    if call.method == Method::Listen {
        let permit = match service.quota_permit(outbox.owner(), CallKind::Stream) {
            Ok(permit) => permit,
            Err(rejected) => return Responding::Done(rejected.answer(request.id)),
        };
        return match open_stream(&env, to, &call) {
            Ok(mut stream) => {
                stream.to.watch = std::mem::take(watch);
                respond_later(core, http.format(), stream, permit, outbox)
            }
            Err(failure) => Responding::Done(unserved(core, to, failure, http.format(), watch)),
        };
    }
    // Only a call that may have to wait takes of the quota, so that no other pays for it.
    let mut permit = Ok(QuotaPermit::default());
    let has_room = || {
        permit = service.quota_permit(outbox.owner(), CallKind::Call);
        permit.is_ok()
    };
    let entered = watch.enter();
    let begun = begin(&env, request.id, &call, has_room, |invocation| router::route(core, &catalog, &call, invocation));
    drop(entered);
    match (permit, begun) {
        (Err(rejected), _) => Responding::Done(rejected.answer(request.id)),
        (Ok(_), Begun::Refused(failure)) => Responding::Done(unserved(core, to, failure, http.format(), watch)),
        (Ok(_), Begun::Done { notifications, outcome }) => {
            let notifications = if http.format().streams() { notifications } else { Vec::new() };
            let response = answered(core, to, outcome, notifications, http.format(), watch);
            long_answers::answered(&catalog, call.method, &call.params, response.body().len());
            Responding::Done(response)
        }
        (Ok(permit), Begun::Waiting(mut call)) => {
            call.to.watch = std::mem::take(watch);
            respond_later(core, http.format(), *call, permit, outbox)
        }
    }
}

/// Checks the arguments of a tool against the headers that repeat them. A tool the caller does not see has
/// none.
fn check_header_args<'a>(
    env: &CallEnv<'a>,
    id: Id<'a>,
    call: &'a Accepted<'a>,
    headers: &Headers<'_>,
) -> Result<(), RpcError> {
    if call.method != Method::ToolsCall || !env.catalog.has_header_args {
        return Ok(());
    }
    let name = call.params.get("name").and_then(Raw::text);
    let tool = name.and_then(|name| env.catalog.tools.get(&name)).filter(|tool| !tool.header_args.is_empty());
    let Some(tool) = tool else { return Ok(()) };
    let channel = CallChannel::new(env);
    let invocation = Invocation::new(id, call, &channel);
    match panic::catch(|| router::sees(&invocation, &tool.handler)) {
        Some(true) => headers.arguments(&tool.header_args, call.params.get("arguments")),
        Some(false) | None => Ok(()),
    }
}

/// Opens the stream of a `subscriptions/listen`, which lasts until the server shuts down.
fn open_stream<'a>(env: &CallEnv<'a>, to: ResponseTo<'a>, call: &'a Accepted<'a>) -> Result<WaitingCall, Failure> {
    let stream = panic::catch(|| listen::open(env, to.id, call)).unwrap_or(Err(Failure::Panicked))?;
    let state = Arc::clone(&env.core.shared);
    #[cfg(feature = "auth")]
    let expired = denied::expired(env.outbox.access());
    let pending = stream.pending(env.outbox.sender().clone(), async move {
        #[cfg(feature = "auth")]
        tokio::select! {
            () = state.reaches(Phase::Draining) => {}
            () = expired => {}
        }
        #[cfg(not(feature = "auth"))]
        state.reaches(Phase::Draining).await;
    });
    Ok(WaitingCall::new(to, pending, CloseOnDrop(None)))
}

/// A refusal before anything ran: its status says what kind.
fn refuse(id: Id<'_>, error: &RpcError) -> Response<Body> {
    let status = match error.code {
        RpcError::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    };
    response::error(status, id, error)
}

/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#status-codes>
fn status(outcome: &Outcome) -> StatusCode {
    match outcome {
        Err(Failure::MissingCapability(_)) => StatusCode::BAD_REQUEST,
        Err(Failure::Unavailable(_) | Failure::ShutDown) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    }
}

/// The response to a call that is refused before its handler runs.
fn unserved(
    core: &Core,
    to: ResponseTo<'_>,
    failure: Failure,
    format: ResponseFormat,
    watch: &mut Watch,
) -> Response<Body> {
    watch.unserved();
    answered(core, to, Err(failure), Vec::new(), format, watch)
}

/// The response to a call that is over, behind its notifications.
fn answered(
    core: &Core,
    to: ResponseTo<'_>,
    mut outcome: Outcome,
    mut lines: Vec<u8>,
    format: ResponseFormat,
    watch: &mut Watch,
) -> Response<Body> {
    #[cfg(feature = "auth")]
    if let Err(Failure::Forbidden(denied)) = outcome {
        return denied::denied(encode::line(&core.info, to, Err(Failure::Forbidden(denied.clone()))), &denied);
    }
    if let Err(Failure::Throttled(throttled)) = outcome {
        let line = encode::line(&core.info, to, Err(Failure::Throttled(throttled.clone())));
        return response::throttled(line, &throttled);
    }
    let (streams, status) = (!lines.is_empty(), status(&outcome));
    watch.settle(&mut outcome, to);
    lines.reserve(response::ANSWER);
    let at = lines.len();
    encode::answer(&core.info, to, outcome, &mut lines);
    if streams {
        tell(watch, StatusCode::OK, &lines[at..]);
        response::answer(ResponseFormat::Events, lines)
    } else {
        let answer = StatelessAnswer { status, refusal: None, line: lines, charge: None, watch: std::mem::take(watch) };
        whole(format, answer)
    }
}

/// An answer without notifications. One whose status is an error is JSON, as every refusal is.
fn whole(format: ResponseFormat, mut answer: StatelessAnswer) -> Response<Body> {
    if let Some(refusal) = answer.refusal.take() {
        answer.tell(refused::status(&refusal));
        return refused::response(answer.line, &refusal);
    }
    answer.tell(answer.status);
    let StatelessAnswer { status, line, .. } = answer;
    match status {
        StatusCode::OK => response::answer(format, line),
        StatusCode::SERVICE_UNAVAILABLE => response::retry_later(response::json(status, line)),
        _ => response::json(status, line),
    }
}

/// Responds when the call is over, or when it sends its first notification.
fn respond_later(
    core: &Arc<Core>,
    format: ResponseFormat,
    call: WaitingCall,
    permit: QuotaPermit,
    outbox: Outbox,
) -> Responding<'static> {
    let (core, owner) = (Arc::clone(core), outbox.owner());
    let answer: AnswerFuture = Box::pin(async move {
        // Counts against the caller's quota until the answer is there.
        let _permit = permit;
        let (mut to, mut outcome, turns) = call.finish(&core.shared).await;
        let mut watch = std::mem::take(&mut to.watch);
        let (status, refusal) = (status(&outcome), Refusal::of(&outcome));
        watch.settle(&mut outcome, to.as_ref());
        let mut line = turns.encode(|| encode::line(&core.info, to.as_ref(), outcome), Vec::len);
        let charge = (line.len() > FREE).then(|| core.memory.charge(owner, line.len()));
        if let Some(None) = charge {
            let error = response::no_memory();
            line.clear();
            encode::error(to.as_ref().id, &error, &mut line);
            if let Some(watched) = watch.get() {
                watched.replaced(error.code, &error.message);
            }
        }
        StatelessAnswer { status, refusal, line, charge: charge.flatten(), watch }
    });
    Responding::later(first(format, answer, outbox.into_receiver()))
}

/// Holds the head of the response until it is known what it is the head of: an answer, or a stream.
async fn first(
    format: ResponseFormat,
    mut answer: AnswerFuture,
    messages: Option<mpsc::Receiver<Outgoing>>,
) -> Response<Body> {
    let Some(mut messages) = messages else { return whole(format, answer.await) };
    loop {
        tokio::select! {
            biased;
            Some(message) = messages.recv() => {
                // Taken even if the client accepts only JSON, so that the call can go on.
                if format.streams() && let Outgoing::Notification(line) | Outgoing::Heartbeat(line) = message {
                    let first = Some(Bytes::from(events(&line)));
                    return response::events(Body::events(StatelessStream { first, messages, answer: Some(answer) }));
                }
            }
            mut answer = &mut answer => {
                if answer.refusal.is_some() {
                    return whole(format, answer);
                }
                // What was sent during the last poll comes before the answer.
                let mut lines = if format.streams() { sent_notifications(&mut messages) } else { Vec::new() };
                if lines.is_empty() {
                    return whole(format, answer);
                }
                lines.extend_from_slice(&answer.line);
                answer.tell(StatusCode::OK);
                return response::answer(ResponseFormat::Events, lines);
            }
        }
    }
}
