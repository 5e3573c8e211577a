//! One client's connection: frames in, answers out, calls that are waiting in between.
//!
//! A call that is done on its first step is answered at once, into the caller's buffer: no task,
//! no channel, no other thread. One that has to wait becomes a task and sends its answer to the
//! outbox when it is done.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::router::Router;
use crate::call::control::ConnectionControl;
use crate::call::in_flight::{CallKind, TaskSet};
use crate::call::invocation::CallChannel;
use crate::call::notifier::{CloseOnDrop, Notifier};
use crate::call::outbox::Outbox;
use crate::call::run::{self, FirstPoll, PendingCall};
use crate::era::batch::{self, Batch};
use crate::era::encode::{self, ResponseTo, notification};
use crate::era::{self, Accepted, LegacySession, Method, Offers, RequestParams};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{self, Id, Message, Rejection, Request, depth};
use crate::outcome::{Failure, Reply};
use crate::panic;
use crate::protocol::Revision;
use crate::server::core::Core;
use crate::server::state::CatalogView;
use crate::subscription::Subscription;

/// One client, from its first message to its last answer.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) core: Arc<Core>,
    pub(crate) view: CatalogView,
    pub(crate) session: LegacySession,
    pub(crate) runtime: Handle,
    pub(crate) control: Arc<ConnectionControl>,
    pub(crate) waiting: TaskSet,
    /// Streams, which go on until they are ended.
    pub(crate) streams: TaskSet,
    /// Tells the session of changes, if there is one to be told.
    pub(crate) telling: TaskSet,
    /// What the session is told of.
    pub(crate) subscription: Option<Arc<Subscription>>,
    pub(crate) exited: Option<Exited>,
    /// Whether the client has said that it is ready.
    pub(crate) ready: bool,
    /// How many of the last messages were none.
    consecutive_errors: usize,
    /// What the call just answered said before its answer.
    notices: Vec<u8>,
}

/// The client told the server to exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exited {
    /// Whether `shutdown` came before.
    pub(crate) announced: bool,
}

impl Connection {
    pub(crate) fn new(core: Arc<Core>, runtime: Handle) -> Self {
        Connection {
            view: CatalogView::new(&core.shared),
            core,
            session: LegacySession::default(),
            runtime,
            control: Arc::default(),
            waiting: TaskSet::default(),
            streams: TaskSet::default(),
            telling: TaskSet::default(),
            subscription: None,
            exited: None,
            ready: false,
            consecutive_errors: 0,
            notices: Vec::new(),
        }
    }

    /// What can end the connection from outside.
    pub(crate) fn control(&self) -> &Arc<ConnectionControl> {
        &self.control
    }

    /// Whether the client told the server to exit.
    pub(crate) fn exited(&self) -> Option<Exited> {
        self.exited
    }

    /// Whether there were too many messages in a row that are none.
    pub(crate) fn talks_nonsense(&self) -> bool {
        self.consecutive_errors >= self.core.limits.consecutive_errors
    }

    pub(crate) fn consecutive_errors(&self) -> usize {
        self.consecutive_errors
    }

    /// Takes one frame. What can be answered at once is appended to `out`, a line each; the rest goes
    /// through the outlet when it is there.
    pub(crate) fn receive(&mut self, frame: &[u8], outbox: &Outbox, out: &mut Vec<u8>) {
        // Some shells put a byte order mark in front of what they pipe.
        let frame = frame.strip_prefix("\u{feff}".as_bytes()).unwrap_or(frame);
        self.view.refresh(&self.core.shared);
        if depth::exceeds(frame, self.core.limits.depth) {
            return self.refuse_deep(frame, out);
        }
        if frame.trim_ascii_start().first() == Some(&b'[') && self.session.has_batches() {
            return self.batch(frame, outbox, out);
        }
        let start = out.len();
        let waits = self.message(jsonrpc::parse(frame), frame, outbox, out);
        self.conclude(waits, start, outbox, out);
    }

    /// Takes a request that whoever took its frame has looked into.
    #[cfg(feature = "http")]
    pub(crate) fn receive_request<'a>(
        &mut self,
        request: &Request<'a>,
        read: Result<RequestParams<'a>, RpcError>,
        outbox: &Outbox,
        out: &mut Vec<u8>,
    ) {
        self.view.refresh(&self.core.shared);
        self.consecutive_errors = 0;
        let start = out.len();
        let waits = self.request(request, read, outbox, out);
        self.conclude(waits, start, outbox, out);
    }

    /// Waits for what is to be waited for, and puts what the message told before its answer.
    fn conclude(&mut self, waits: Option<WaitingCall>, start: usize, outbox: &Outbox, out: &mut Vec<u8>) {
        if let Some(waits) = waits {
            self.wait_for(waits, outbox.sender().clone());
        }
        if !self.notices.is_empty() {
            out.splice(start..start, self.notices.drain(..));
        }
    }

    /// Takes one message. Its answer is appended to `out`, unless it has to be waited for.
    fn message(
        &mut self,
        message: Result<Message<'_>, Rejection<'_>>,
        raw: &[u8],
        outbox: &Outbox,
        out: &mut Vec<u8>,
    ) -> Option<WaitingCall> {
        self.consecutive_errors = if message.is_ok() { 0 } else { self.consecutive_errors + 1 };
        match message {
            Ok(Message::Request(request)) => return self.request(&request, era::read(&request), outbox, out),
            Ok(Message::Notification(notification)) => self.notification(&notification, raw, outbox),
            Ok(Message::Response(response)) => {
                if !self.control.asks.answered(&response) {
                    let error = RpcError::invalid_request("this answers no request of the server's");
                    self.core.hooks.protocol_error(raw, &error);
                }
            }
            Err(rejection) => {
                self.core.hooks.protocol_error(raw, &rejection.error);
                encode::error(rejection.id, &rejection.error, out);
            }
        }
        None
    }

    /// Takes several messages at once. What is owed an answer is answered in one list, when the last
    /// answer is there.
    fn batch(&mut self, frame: &[u8], outbox: &Outbox, out: &mut Vec<u8>) {
        let elements = match batch::elements(frame, self.core.limits.batch) {
            Ok(elements) => elements,
            Err(rejection) => {
                self.core.hooks.protocol_error(frame, &rejection.error);
                return encode::error(rejection.id, &rejection.error, out);
            }
        };
        let (answers, all) = mpsc::channel(elements.len());
        let mut at_once = Batch::default();
        let mut later = false;
        for element in elements {
            let mut line = Vec::new();
            if let Some(waits) = self.message(batch::element(element), element.get().as_bytes(), outbox, &mut line) {
                self.wait_for(waits, answers.clone());
                later = true;
            }
            at_once.add(&line);
            out.append(&mut self.notices);
        }
        if later {
            let (running, list) = (self.control.in_flight.running(), at_once.complete(all, outbox.sender().clone()));
            let task = async move {
                let _running = running;
                list.await;
            };
            self.waiting.spawn_on(task, &self.runtime);
        } else {
            out.extend_from_slice(&at_once.finish());
        }
    }

    /// Refuses a frame that is nested too deep to be handed to anybody's decoder.
    fn refuse_deep(&self, frame: &[u8], out: &mut Vec<u8>) {
        if let Ok(Message::Response(response)) = jsonrpc::parse(frame) {
            self.control.asks.reject_unreadable(response.id, "it is nested too deep");
        }
        if let Some(Rejection { id, error }) = jsonrpc::refuse_deep(frame, self.core.limits.depth) {
            self.core.hooks.protocol_error(frame, &error);
            encode::error(id, &error, out);
        }
    }

    /// Refuses a frame that is longer than the limit, of which only the beginning was kept.
    pub(crate) fn refuse_oversized(&self, beginning: &[u8], out: &mut Vec<u8>) {
        let limit = self.core.limits.message_bytes;
        let error = RpcError::invalid_request(&format!("the message is longer than {limit} bytes"));
        self.core.hooks.protocol_error(&beginning[..beginning.len().min(1024)], &error);
        let id = jsonrpc::id_in_prefix(beginning);
        if jsonrpc::prefix_is_response(beginning) {
            return self.control.asks.reject_unreadable(id, &format!("it is longer than {limit} bytes"));
        }
        encode::error(id.unwrap_or(Id::NULL), &error, out);
    }

    /// What this connection lets through: its own state first, then the era's rules.
    fn admit<'a>(
        &self,
        request: &Request<'a>,
        read: Result<RequestParams<'a>, RpcError>,
    ) -> Result<Accepted<'a>, RpcError> {
        if self.control.is_closing() {
            return Err(RpcError::invalid_request("the server is shutting down; only `exit` is accepted"));
        }
        if self.control.in_flight.contains(request.id) {
            return Err(RpcError::invalid_request("a request with this id is still being answered"));
        }
        era::accept(request, read, &self.session, &**self.view.catalog(), &())
    }

    fn request<'a>(
        &mut self,
        request: &Request<'a>,
        read: Result<RequestParams<'a>, RpcError>,
        outbox: &Outbox,
        out: &mut Vec<u8>,
    ) -> Option<WaitingCall> {
        let call = match self.admit(request, read) {
            Ok(call) => call,
            Err(error) => {
                encode::error(request.id, &error, out);
                return None;
            }
        };
        let site = ResponseTo { id: request.id, method: call.method, revision: call.envelope.revision };
        // Here, too, the user's code is called: predicates, and a bus of their own.
        match panic::catch(|| self.own_business(site, &call, outbox)).unwrap_or(Err(Failure::Panicked)) {
            Ok(None) => {}
            Ok(waiting) => return waiting,
            Err(failure) => {
                encode::answer(&self.core.info, site, Err(failure), out);
                return None;
            }
        }
        let (core, in_flight, waiting) = (&self.core, &self.control.in_flight, &mut self.waiting);
        let has_room = || in_flight.has_room(CallKind::Call, core.limits.in_flight, waiting);
        let channel = CallChannel::new(outbox, core, Some(&self.control));
        let catalog = self.view.catalog();
        let router = Router::new(core, catalog, request.id, &call, &channel);
        // A call whose events nobody wants pays nothing for them.
        let log = catalog.settings.forwards_logs.then(|| channel.call_log(call.envelope.log_level)).flatten();
        let progress = run::start(&core.blocking_threads, log, has_room, || router.start(&call));
        let notifier = channel.into_notifier();
        match progress {
            FirstPoll::Done(answer) => {
                if let Some(notifier) = notifier {
                    self.notices = notifier.take();
                }
                encode::answer(&self.core.info, site, answer, out);
                None
            }
            FirstPoll::Pending(pending) => Some(WaitingCall::new(site, pending, notifier)),
        }
    }

    /// What a request asks of the connection rather than of a handler.
    fn own_business(
        &mut self,
        site: ResponseTo<'_>,
        call: &Accepted<'_>,
        outbox: &Outbox,
    ) -> Result<Option<WaitingCall>, Failure> {
        let offered = |this: &mut Self| this.view.catalog().offers(call.method);
        match call.method {
            Method::Initialize => self.follow_changes(),
            Method::Shutdown if offered(self) => return Ok(Some(self.shut_down(site))),
            Method::Listen if offered(self) => return self.listen(site, call, outbox).map(Some),
            Method::Subscribe | Method::Unsubscribe if offered(self) => self.subscribe(site.id, call, outbox)?,
            _ => {}
        }
        Ok(None)
    }

    /// Begins nothing new; the answer comes when everything else has been answered.
    fn shut_down(&mut self, site: ResponseTo<'_>) -> WaitingCall {
        self.control.close();
        let (control, limit) = (Arc::clone(&self.control), self.core.limits.drain_timeout);
        let pending = PendingCall::new(async move {
            // All but this one. Those that take too long have had their time.
            let _ = tokio::time::timeout(limit, control.in_flight.at_most(1)).await;
            Ok(Reply::Empty)
        });
        WaitingCall::new(site, pending, None)
    }

    /// Finishes a call in a task, which sends its answer to `answers`.
    fn wait_for(&mut self, call: WaitingCall, answers: mpsc::Sender<Vec<u8>>) {
        let WaitingCall { id, method, revision, pending, notifier } = call;
        let (core, in_flight) = (Arc::clone(&self.core), Arc::clone(&self.control.in_flight));
        let key = id.clone();
        // Out here: a task that is cancelled before it began drops what it was given, and no more.
        let (running, notifier) = (self.control.in_flight.running(), CloseOnDrop(notifier));
        let task = async move {
            let _running = running;
            if let Some(notifier) = &notifier.0 {
                notifier.go_live().await;
            }
            let answer = pending.finish().await;
            drop(notifier);
            let site = ResponseTo { id: Id::new_unchecked(&id), method, revision };
            if !in_flight.finish(site.id) {
                return;
            }
            let mut line = Vec::new();
            encode::answer(&core.info, site, answer, &mut line);
            if method == Method::Listen {
                notification::subscription_cancelled(&id, &mut line);
            }
            // The outbox is closed when the client is gone; nobody is left to tell.
            let _ = answers.send(line).await;
        };
        // A stream is no call that will be done; there is a limit of its own to them.
        let (kind, tasks) = match method {
            Method::Listen => (CallKind::Stream, &mut self.streams),
            _ => (CallKind::Call, &mut self.waiting),
        };
        self.control.in_flight.enter(Id::new_unchecked(&key), kind, || tasks.spawn_on(task, &self.runtime));
        // It may have been ended since the call was let through.
        if self.control.has_ended() {
            self.control.in_flight.cancel_all();
        }
    }
}

/// A call that has to wait, and what its answer needs when its frame is long gone.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    id: Box<str>,
    method: Method,
    revision: Revision,
    pending: PendingCall,
    notifier: Option<Arc<Notifier>>,
}

impl WaitingCall {
    pub(crate) fn new(site: ResponseTo<'_>, pending: PendingCall, notifier: Option<Arc<Notifier>>) -> Self {
        let ResponseTo { id, method, revision } = site;
        WaitingCall { id: id.as_str().into(), method, revision, pending, notifier }
    }
}
