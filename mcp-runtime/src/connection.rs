//! One client's connection: frames in, answers out, calls that are waiting in between.
//!
//! A call that is done on its first step is answered at once, into the caller's buffer: no task,
//! no channel, no other thread. One that has to wait becomes a task and sends its answer to the
//! outbox when it is done.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::batch::{self, Batch};
use crate::context::Line;
use crate::era::encode::{self, Site};
use crate::era::{self, Accepted, Method, Session};
use crate::error::RpcError;
use crate::in_flight::InFlight;
use crate::jsonrpc::{self, Id, Message, Notification, Rejection, Request};
use crate::notify::{CloseOnDrop, Notifier};
use crate::object::members;
use crate::protocol::Revision;
use crate::reply::Reply;
use crate::run::{self, Pending, Progress};
use crate::server::Core;

/// One client, from its first message to its last answer.
#[derive(Debug)]
pub(crate) struct Connection {
    core: Arc<Core>,
    session: Session,
    runtime: Handle,
    outbox: mpsc::Sender<Vec<u8>>,
    in_flight: Arc<InFlight>,
    waiting: JoinSet<()>,
    lifecycle: Lifecycle,
    /// What the call just answered said before its answer.
    notices: Vec<u8>,
}

/// How far the client has come in ending the server by messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    Running,
    /// `shutdown` was asked for: what runs may finish, and nothing new begins.
    ShuttingDown,
    /// `exit` was told, after `shutdown` or without.
    Exited {
        announced: bool,
    },
}

impl Connection {
    /// `outbox` takes the answers of calls that had to wait.
    pub(crate) fn new(core: Arc<Core>, runtime: Handle, outbox: mpsc::Sender<Vec<u8>>) -> Self {
        Connection {
            core,
            session: Session::default(),
            runtime,
            outbox,
            in_flight: Arc::default(),
            waiting: JoinSet::new(),
            lifecycle: Lifecycle::Running,
            notices: Vec::new(),
        }
    }

    /// Takes one frame. What can be answered at once is appended to `out`, a line each.
    pub(crate) fn receive(&mut self, frame: &[u8], out: &mut Vec<u8>) {
        // Some shells put a byte order mark in front of what they pipe.
        let frame = frame.strip_prefix("\u{feff}".as_bytes()).unwrap_or(frame);
        if frame.trim_ascii_start().first() == Some(&b'[') && self.session.has_batches() {
            return self.batch(frame, out);
        }
        let start = out.len();
        if let Some(waits) = self.message(jsonrpc::parse(frame), out) {
            self.wait_for(waits, self.outbox.clone());
        }
        if !self.notices.is_empty() {
            out.splice(start..start, self.notices.drain(..));
        }
    }

    /// Takes one message. Its answer is appended to `out`, unless it has to be waited for.
    fn message(&mut self, message: Result<Message<'_>, Rejection<'_>>, out: &mut Vec<u8>) -> Option<Waiting> {
        match message {
            Ok(Message::Request(request)) => return self.request(&request, out),
            Ok(Message::Notification(notification)) => self.notification(&notification),
            Ok(Message::Response) => tracing::debug!("dropped an answer to a request that was never made"),
            Err(rejection) => encode::error(rejection.id, &rejection.error, out),
        }
        None
    }

    /// Takes several messages at once. What is owed an answer is answered in one list, when the last
    /// answer is there.
    fn batch(&mut self, frame: &[u8], out: &mut Vec<u8>) {
        let elements = match batch::elements(frame, self.core.limits.batch) {
            Ok(elements) => elements,
            Err(rejection) => return encode::error(rejection.id, &rejection.error, out),
        };
        let (answers, all) = mpsc::channel(elements.len());
        let mut at_once = Batch::default();
        let mut later = false;
        for element in elements {
            let mut line = Vec::new();
            if let Some(waits) = self.message(batch::element(element), &mut line) {
                self.wait_for(waits, answers.clone());
                later = true;
            }
            at_once.add(&line);
            out.append(&mut self.notices);
        }
        if later {
            let (running, list) = (self.in_flight.running(), at_once.complete(all, self.outbox.clone()));
            let task = async move {
                let _running = running;
                list.await;
            };
            self.waiting.spawn_on(task, &self.runtime);
        } else {
            out.extend_from_slice(&at_once.finish());
        }
    }

    /// Refuses a frame that is longer than the limit, of which only the beginning was kept.
    pub(crate) fn refuse_oversized(&self, beginning: &[u8], out: &mut Vec<u8>) {
        let limit = self.core.limits.message_bytes;
        let error = RpcError::invalid_request(&format!("the message is longer than {limit} bytes"));
        encode::error(jsonrpc::id_of_beginning(beginning).unwrap_or(Id::NULL), &error, out);
    }

    /// How far the client has come in ending the server by messages.
    pub(crate) fn lifecycle(&self) -> Lifecycle {
        self.lifecycle
    }

    /// What is told and not asked is never answered, understood or not.
    fn notification(&mut self, notification: &Notification<'_>) {
        match &*notification.method {
            "notifications/cancelled" => self.cancel(notification),
            "exit" if self.core.router.ends_on_request => {
                self.lifecycle = Lifecycle::Exited { announced: self.lifecycle == Lifecycle::ShuttingDown };
            }
            other => tracing::trace!(method = other, "notification"),
        }
    }

    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/utilities/cancellation>: a call
    /// that is unknown or done by now is none to cancel.
    fn cancel(&self, notification: &Notification<'_>) {
        let params = members("params", notification.params).unwrap_or_default();
        let id = params.get("requestId").and_then(|raw| Id::parse(raw.get()));
        let cancelled = id.is_some_and(|id| self.in_flight.cancel(id));
        tracing::debug!(id = id.map(Id::as_str), cancelled, "cancellation");
    }

    /// What this connection lets through: its own state first, then the era's rules.
    fn admit<'a>(&self, request: &Request<'a>) -> Result<Accepted<'a>, RpcError> {
        if self.lifecycle != Lifecycle::Running {
            return Err(RpcError::invalid_request("the server is shutting down; only `exit` is accepted"));
        }
        if self.in_flight.contains(request.id) {
            return Err(RpcError::invalid_request("a request with this id is still being answered"));
        }
        era::accept(request, &self.session, &self.core.router)
    }

    fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> Option<Waiting> {
        let call = match self.admit(request) {
            Ok(call) => call,
            Err(error) => {
                encode::error(request.id, &error, out);
                return None;
            }
        };
        let site = Site { id: request.id, method: call.method, revision: call.envelope.revision };
        if call.method == Method::Shutdown && self.core.router.offers(call.method) {
            return Some(self.shut_down(site));
        }
        let (core, waiting) = (&self.core, &mut self.waiting);
        let has_room = || {
            while waiting.try_join_next().is_some() {}
            waiting.len() < core.limits.in_flight
        };
        let line = Line::new(&self.outbox);
        let progress = run::start(&core.threads, has_room, || core.router.start(request.id, &call, &line));
        let notifier = line.into_notifier();
        match progress {
            Progress::Done(answer) => {
                if let Some(notifier) = notifier {
                    self.notices = notifier.take();
                }
                encode::answer(&self.core, site, answer, out);
                None
            }
            Progress::Pending(pending) => {
                let Site { id, method, revision } = site;
                Some(Waiting { id: id.as_str().into(), method, revision, pending, notifier })
            }
        }
    }

    /// Begins nothing new; the answer comes when everything else has been answered.
    fn shut_down(&mut self, site: Site<'_>) -> Waiting {
        self.lifecycle = Lifecycle::ShuttingDown;
        let (in_flight, limit) = (Arc::clone(&self.in_flight), self.core.limits.drain);
        let pending = Pending::new(async move {
            // All but this one. Those that take too long have had their time.
            let _ = tokio::time::timeout(limit, in_flight.at_most(1)).await;
            Ok(Reply::Empty)
        });
        let Site { id, method, revision } = site;
        Waiting { id: id.as_str().into(), method, revision, pending, notifier: None }
    }

    /// Finishes a call in a task, which sends its answer to `answers`.
    fn wait_for(&mut self, call: Waiting, answers: mpsc::Sender<Vec<u8>>) {
        let Waiting { id, method, revision, pending, notifier } = call;
        let (core, in_flight) = (Arc::clone(&self.core), Arc::clone(&self.in_flight));
        let key = id.clone();
        let running = self.in_flight.running();
        let task = async move {
            let _running = running;
            let line = CloseOnDrop(notifier);
            if let Some(notifier) = &line.0 {
                notifier.go_live().await;
            }
            let answer = pending.finish().await;
            drop(line);
            let site = Site { id: Id::trusted(&id), method, revision };
            if !in_flight.finish(site.id) {
                return;
            }
            let mut line = Vec::new();
            encode::answer(&core, site, answer, &mut line);
            // The outbox is closed when the client is gone; nobody is left to tell.
            let _ = answers.send(line).await;
        };
        self.in_flight.enter(Id::trusted(&key), || self.waiting.spawn_on(task, &self.runtime));
    }

    /// Ends the connection: waits for calls in flight as long as the limits allow, drops the rest,
    /// and with them the outbox, so that whoever empties it can stop.
    pub(crate) async fn drain(mut self) {
        let limit = self.core.limits.drain;
        let all = async { while self.waiting.join_next().await.is_some() {} };
        if tokio::time::timeout(limit, all).await.is_err() {
            tracing::warn!(?limit, "calls were still running when the client had gone; they are dropped");
        }
    }
}

/// A call that has to wait, and what its answer needs when its frame is long gone.
struct Waiting {
    id: Box<str>,
    method: Method,
    revision: Revision,
    pending: Pending,
    notifier: Option<Arc<Notifier>>,
}
