//! One request of 2026-07-28: no session, its answer in the response, cancelled when the client is gone.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use tokio::sync::mpsc;

use super::quota::QuotaPermit;
use super::request::accept::ResponseFormat;
use super::request::headers::Headers;
use super::response::body::{Body, Events, events};
use super::{Responding, Service, response};
use crate::call::in_flight::CallKind;
use crate::call::invocation::CallChannel;
use crate::call::notifier::CloseOnDrop;
use crate::call::outbox::Outbox;
use crate::call::run::{self, FirstPoll, PendingCall};
use crate::catalog::Catalog;
use crate::dispatch::listen;
use crate::dispatch::router::Router;
use crate::era::encode::{self, ResponseTo};
use crate::era::{self, Accepted, LegacySession, Method, Offers, RequestParams};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::raw::Raw;
use crate::jsonrpc::{Id, Request};
use crate::outcome::Failure;
use crate::panic;
use crate::protocol::Revision;
use crate::server::core::Core;

/// What is left of a request when its frame is gone.
struct WaitingRequest {
    core: Arc<Core>,
    id: Box<str>,
    method: Method,
    revision: Revision,
    /// What the caller has of the server meanwhile.
    _share: QuotaPermit,
}

impl WaitingRequest {
    fn new(core: &Arc<Core>, site: ResponseTo<'_>, share: QuotaPermit) -> Self {
        let ResponseTo { id, method, revision } = site;
        WaitingRequest { core: Arc::clone(core), id: id.as_str().into(), method, revision, _share: share }
    }

    /// Waits for the answer, after what the call tells.
    async fn finish(self, pending: PendingCall, notifier: CloseOnDrop) -> StatelessAnswer {
        if let Some(notifier) = &notifier.0 {
            notifier.go_live().await;
        }
        let answer = pending.finish().await;
        drop(notifier);
        let site = ResponseTo { id: Id::new_unchecked(&self.id), method: self.method, revision: self.revision };
        let status = status(&answer);
        let mut line = Vec::new();
        encode::answer(&self.core.info, site, answer, &mut line);
        StatelessAnswer { status, line }
    }
}

/// An answer, and what its status is if nothing was told before it.
struct StatelessAnswer {
    status: StatusCode,
    line: Vec<u8>,
}

/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#status-codes>
fn status(answer: &crate::outcome::Outcome) -> StatusCode {
    match answer {
        Err(Failure::MissingCapability(_)) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

type AnswerFuture = Pin<Box<dyn Future<Output = StatelessAnswer> + Send>>;

/// Serves a request, as far as that can be done at once.
pub(super) fn serve<'a>(
    inner: &Service,
    catalog: &Arc<Catalog>,
    request: &Request<'a>,
    read: Result<RequestParams<'a>, RpcError>,
    (parts, headers, form): (&Arc<Parts>, &Headers<'_>, ResponseFormat),
) -> Responding<'static> {
    let call = match accept(catalog, request, read, headers) {
        Ok(call) => call,
        Err(error) => return Responding::Done(refuse(request.id, &error)),
    };
    let principal = match inner.principal(parts) {
        Ok(principal) => principal,
        Err(refused) => return Responding::Done(refused.answer(request.id)),
    };
    let core = &inner.core;
    let site = ResponseTo { id: request.id, method: call.method, revision: call.envelope.revision };
    let outbox = Outbox::own(Arc::clone(parts), false).of(principal.map(Arc::from));
    let channel = CallChannel::new(&outbox, core, None);
    let router = Router::new(core, catalog, request.id, &call, &channel);
    if let Err(error) = has_header_args(&router, &call, headers) {
        return Responding::Done(refuse(request.id, &error));
    }
    if call.method == Method::Listen {
        let share = match inner.share(outbox.principal().map(AsRef::as_ref), CallKind::Stream) {
            Ok(share) => share,
            Err(refused) => return Responding::Done(refused.answer(request.id)),
        };
        let opened = panic::catch(|| listen::open(&router, &call));
        let opened = opened.unwrap_or(Err(Failure::Panicked));
        drop(channel);
        return match opened {
            Ok(stream) => {
                let (waiting, control) = (WaitingRequest::new(core, site, share), Arc::clone(&core.shared));
                let sender = outbox.sender().clone();
                let pending =
                    stream.pending(sender, async move { control.reaches(crate::server::state::Phase::Draining).await });
                let answer = Box::pin(waiting.finish(pending, CloseOnDrop(None)));
                Responding::later(first(form, answer, outbox.into_lines()))
            }
            Err(failure) => Responding::Done(answered(core, site, Err(failure), Vec::new(), form)),
        };
    }
    let log = catalog.settings.forwards_logs.then(|| channel.call_log(call.envelope.log_level)).flatten();
    // Asked for only by what may have to wait, so that nothing else pays for it.
    let mut share = Ok(QuotaPermit::default());
    let has_room = || {
        share = inner.share(outbox.principal().map(AsRef::as_ref), CallKind::Call);
        share.is_ok()
    };
    let progress = run::start(&core.blocking_threads, log, has_room, || router.start(&call));
    let share = match share {
        Ok(share) => share,
        Err(refused) => return Responding::Done(refused.answer(request.id)),
    };
    let notifier = channel.into_notifier();
    match progress {
        FirstPoll::Done(answer) => {
            let notices = notifier.map(|notifier| notifier.take()).filter(|_| form.streams()).unwrap_or_default();
            Responding::Done(answered(core, site, answer, notices, form))
        }
        FirstPoll::Pending(pending) => {
            let answer = Box::pin(WaitingRequest::new(core, site, share).finish(pending, CloseOnDrop(notifier)));
            Responding::later(first(form, answer, outbox.into_lines()))
        }
    }
}

/// The ladder of the era, and what headers repeat of the arguments.
fn accept<'a>(
    catalog: &Catalog,
    request: &Request<'a>,
    read: Result<RequestParams<'a>, RpcError>,
    headers: &Headers<'_>,
) -> Result<Accepted<'a>, RpcError> {
    // Else it would be one of a session, before it is opened.
    if read.as_ref().is_ok_and(|read| !read.is_modern()) {
        return Err(era::incomplete(request));
    }
    let call = era::accept(request, read, &LegacySession::default(), catalog, headers)?;
    if !catalog.offers(call.method) {
        return Err(era::unknown_method(call.method.name()));
    }
    Ok(call)
}

/// Holds the arguments of a tool against the headers that mirror them. A tool the caller may not know
/// of has none.
fn has_header_args(router: &Router<'_>, call: &Accepted<'_>, headers: &Headers<'_>) -> Result<(), RpcError> {
    if call.method == Method::ToolsCall
        && router.catalog.has_header_args
        && let Some(name) = call.params.get("name").and_then(Raw::text)
        && let Some(tool) = router.catalog.tools.get(&name).filter(|tool| !tool.header_args.is_empty())
        && panic::catch(|| router.sees(&tool.handler)) == Some(true)
    {
        headers.arguments(&tool.header_args, call.params.get("arguments"))?;
    }
    Ok(())
}

/// A refusal before anything ran: its status says what kind.
fn refuse(id: Id<'_>, error: &RpcError) -> Response<Body> {
    let status = match error.code {
        RpcError::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    };
    response::error(status, id, error)
}

/// The answer of a call that is done, behind what it told.
fn answered(
    core: &Core,
    site: ResponseTo<'_>,
    answer: crate::outcome::Outcome,
    mut lines: Vec<u8>,
    form: ResponseFormat,
) -> Response<Body> {
    let (told, status) = (!lines.is_empty(), status(&answer));
    lines.reserve(response::ANSWER);
    encode::answer(&core.info, site, answer, &mut lines);
    if told {
        response::answer(ResponseFormat::Events, lines)
    } else {
        whole(form, StatelessAnswer { status, line: lines })
    }
}

/// An answer with nothing told before it. One whose status is an error is JSON, as every refusal is.
fn whole(form: ResponseFormat, StatelessAnswer { status, line }: StatelessAnswer) -> Response<Body> {
    if status == StatusCode::OK { response::answer(form, line) } else { response::json(status, line) }
}

/// The head of the response is held until it is known what it is the head of: an answer, or a stream.
async fn first(
    form: ResponseFormat,
    mut answer: AnswerFuture,
    lines: Option<mpsc::Receiver<Vec<u8>>>,
) -> Response<Body> {
    let Some(mut lines) = lines else { return whole(form, answer.await) };
    loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => {
                // Taken, so that the call can go on, and told to nobody.
                if !form.streams() {
                    continue;
                }
                let first = Some(Bytes::from(events(&line)));
                return response::events(Body::events(StatelessStream { first, lines, answer: Some(answer) }));
            }
            said = &mut answer => return whole(form, said),
        }
    }
}

/// The events of one request: what it tells, then its answer. Dropped with the connection, and the
/// call with it.
struct StatelessStream {
    first: Option<Bytes>,
    lines: mpsc::Receiver<Vec<u8>>,
    answer: Option<AnswerFuture>,
}

impl Events for StatelessStream {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        if let Poll::Ready(Some(line)) = self.lines.poll_recv(cx) {
            return Poll::Ready(Some(events(&line).into()));
        }
        let Some(answer) = &mut self.answer else { return Poll::Ready(None) };
        let Poll::Ready(StatelessAnswer { line, .. }) = answer.as_mut().poll(cx) else { return Poll::Pending };
        self.answer = None;
        let mut out = Vec::new();
        // What was told while the answer was made comes before it.
        while let Ok(told) = self.lines.try_recv() {
            out.extend_from_slice(&events(&told));
        }
        out.extend_from_slice(&events(&line));
        Poll::Ready(Some(out.into()))
    }
}
