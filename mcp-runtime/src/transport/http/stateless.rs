//! One request of 2026-07-28: no session, its answer in the response, cancelled when the client is gone.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use tokio::sync::mpsc;

use super::quota::Share;
use super::request::accept::Form;
use super::request::headers::Headers;
use super::response::body::{Body, Events, events};
use super::{Inner, Step, response};
use crate::call::in_flight::Kind;
use crate::call::invocation::Line;
use crate::call::notifier::CloseOnDrop;
use crate::call::outbox::Outlet;
use crate::call::run::{self, Pending, Progress};
use crate::catalog::Catalog;
use crate::dispatch::listen;
use crate::dispatch::router::Router;
use crate::era::encode::{self, Site};
use crate::era::{self, Accepted, Method, Offers, Read, Session};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::raw::Raw;
use crate::jsonrpc::{Id, Request};
use crate::outcome::Failure;
use crate::panic;
use crate::protocol::Revision;
use crate::server::core::Core;

/// What is left of a request when its frame is gone.
struct Waiting {
    core: Arc<Core>,
    id: Box<str>,
    method: Method,
    revision: Revision,
    /// What the caller has of the server meanwhile.
    _share: Share,
}

impl Waiting {
    fn new(core: &Arc<Core>, site: Site<'_>, share: Share) -> Self {
        let Site { id, method, revision } = site;
        Waiting { core: Arc::clone(core), id: id.as_str().into(), method, revision, _share: share }
    }

    /// Waits for the answer, after what the call tells.
    async fn finish(self, pending: Pending, line: CloseOnDrop) -> Said {
        if let Some(notifier) = &line.0 {
            notifier.go_live().await;
        }
        let answer = pending.finish().await;
        drop(line);
        let site = Site { id: Id::trusted(&self.id), method: self.method, revision: self.revision };
        let status = status(&answer);
        let mut line = Vec::new();
        encode::answer(&self.core.info, site, answer, &mut line);
        Said { status, line }
    }
}

/// An answer, and what its status is if nothing was told before it.
struct Said {
    status: StatusCode,
    line: Vec<u8>,
}

/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#status-codes>
fn status(answer: &crate::outcome::Answer) -> StatusCode {
    match answer {
        Err(Failure::Lacks(_)) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

type Answer = Pin<Box<dyn Future<Output = Said> + Send>>;

/// Serves a request, as far as that can be done at once.
pub(super) fn serve<'a>(
    inner: &Inner,
    catalog: &Arc<Catalog>,
    request: &Request<'a>,
    read: Result<Read<'a>, RpcError>,
    (parts, headers, form): (&Arc<Parts>, &Headers<'_>, Form),
) -> Step<'static> {
    let call = match accept(catalog, request, read, headers) {
        Ok(call) => call,
        Err(error) => return Step::Done(refuse(request.id, &error)),
    };
    let principal = match inner.principal(parts) {
        Ok(principal) => principal,
        Err(refused) => return Step::Done(refused.answer(request.id)),
    };
    let core = &inner.core;
    let site = Site { id: request.id, method: call.method, revision: call.envelope.revision };
    let outlet = Outlet::own(Arc::clone(parts), false).of(principal.map(Arc::from));
    let line = Line::new(&outlet, core, None);
    let router = Router::new(core, catalog, request.id, &call, &line);
    if let Err(error) = mirrors(&router, &call, headers) {
        return Step::Done(refuse(request.id, &error));
    }
    if call.method == Method::Listen {
        let share = match inner.share(outlet.principal().map(AsRef::as_ref), Kind::Stream) {
            Ok(share) => share,
            Err(refused) => return Step::Done(refused.answer(request.id)),
        };
        let opened = panic::catch(|| listen::open(&router, &call));
        let opened = opened.unwrap_or(Err(Failure::Panicked));
        drop(line);
        return match opened {
            Ok(stream) => {
                let (waiting, control) = (Waiting::new(core, site, share), Arc::clone(&core.shared));
                let outbox = outlet.sender().clone();
                let pending =
                    stream.pending(outbox, async move { control.reaches(crate::server::state::Phase::Draining).await });
                let answer = Box::pin(waiting.finish(pending, CloseOnDrop(None)));
                Step::later(first(form, answer, outlet.into_lines()))
            }
            Err(failure) => Step::Done(answered(core, site, Err(failure), Vec::new(), form)),
        };
    }
    let log = catalog.settings.forwards_logs.then(|| line.call_log(call.envelope.log_level)).flatten();
    // Asked for only by what may have to wait, so that nothing else pays for it.
    let mut share = Ok(Share::default());
    let has_room = || {
        share = inner.share(outlet.principal().map(AsRef::as_ref), Kind::Call);
        share.is_ok()
    };
    let progress = run::start(&core.threads, log, has_room, || router.start(&call));
    let share = match share {
        Ok(share) => share,
        Err(refused) => return Step::Done(refused.answer(request.id)),
    };
    let notifier = line.into_notifier();
    match progress {
        Progress::Done(answer) => {
            let notices = notifier.map(|notifier| notifier.take()).filter(|_| form.streams()).unwrap_or_default();
            Step::Done(answered(core, site, answer, notices, form))
        }
        Progress::Pending(pending) => {
            let answer = Box::pin(Waiting::new(core, site, share).finish(pending, CloseOnDrop(notifier)));
            Step::later(first(form, answer, outlet.into_lines()))
        }
    }
}

/// The ladder of the era, and what headers repeat of the arguments.
fn accept<'a>(
    catalog: &Catalog,
    request: &Request<'a>,
    read: Result<Read<'a>, RpcError>,
    headers: &Headers<'_>,
) -> Result<Accepted<'a>, RpcError> {
    // Else it would be one of a session, before it is opened.
    if read.as_ref().is_ok_and(|read| !read.is_modern()) {
        return Err(era::incomplete(request));
    }
    let call = era::accept(request, read, &Session::default(), catalog, headers)?;
    if !catalog.offers(call.method) {
        return Err(era::unknown_method(call.method.name()));
    }
    Ok(call)
}

/// Holds the arguments of a tool against the headers that mirror them. A tool the caller may not know
/// of has none.
fn mirrors(router: &Router<'_>, call: &Accepted<'_>, headers: &Headers<'_>) -> Result<(), RpcError> {
    if call.method == Method::ToolsCall
        && router.catalog.mirrors
        && let Some(name) = call.params.get("name").and_then(Raw::text)
        && let Some(tool) = router.catalog.tools.get(&name).filter(|tool| !tool.mirrored.is_empty())
        && panic::catch(|| router.sees(&tool.handler)) == Some(true)
    {
        headers.arguments(&tool.mirrored, call.params.get("arguments"))?;
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
    site: Site<'_>,
    answer: crate::outcome::Answer,
    mut lines: Vec<u8>,
    form: Form,
) -> Response<Body> {
    let (told, status) = (!lines.is_empty(), status(&answer));
    lines.reserve(response::ANSWER);
    encode::answer(&core.info, site, answer, &mut lines);
    if told { response::answer(Form::Events, lines) } else { whole(form, Said { status, line: lines }) }
}

/// An answer with nothing told before it. One whose status is an error is JSON, as every refusal is.
fn whole(form: Form, Said { status, line }: Said) -> Response<Body> {
    if status == StatusCode::OK { response::answer(form, line) } else { response::json(status, line) }
}

/// The head of the response is held until it is known what it is the head of: an answer, or a stream.
async fn first(form: Form, mut answer: Answer, lines: Option<mpsc::Receiver<Vec<u8>>>) -> Response<Body> {
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
                return response::events(Body::events(Stream { first, lines, answer: Some(answer) }));
            }
            said = &mut answer => return whole(form, said),
        }
    }
}

/// The events of one request: what it tells, then its answer. Dropped with the connection, and the
/// call with it.
struct Stream {
    first: Option<Bytes>,
    lines: mpsc::Receiver<Vec<u8>>,
    answer: Option<Answer>,
}

impl Events for Stream {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        if let Poll::Ready(Some(line)) = self.lines.poll_recv(cx) {
            return Poll::Ready(Some(events(&line).into()));
        }
        let Some(answer) = &mut self.answer else { return Poll::Ready(None) };
        let Poll::Ready(Said { line, .. }) = answer.as_mut().poll(cx) else { return Poll::Pending };
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
