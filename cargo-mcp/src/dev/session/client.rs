//! Messages of the client: which child gets them, and what of them is kept for the next child.

use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::adapt::broken_build;
use super::super::message::{Id, Kind, Message, is_modern};
use super::{Action, Call, ChildId, ENTRIES, Purpose, Session, Waiting};

const TOO_MANY: &str = "too many requests in flight; wait for their responses";

impl Session {
    /// A line of the client.
    pub(crate) fn client_line(&mut self, line: &str, now: Instant) {
        if let Some(message) = Message::read(line) {
            self.client_message(&message, line, now);
        } else if let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(line) {
            self.client_batch(&batch, now);
        } else {
            self.forward(line, Vec::new(), now);
        }
        self.restart();
    }

    fn client_message(&mut self, message: &Message<'_>, line: &str, now: Instant) {
        match (message.kind(), message.method()) {
            (Kind::Request(id), _) => self.client_request(id, message, line, now),
            (Kind::Response(id), _) => self.client_response(&id, message),
            (Kind::Notification, "notifications/cancelled") => self.client_cancels(message, line, now),
            (Kind::Notification, "notifications/initialized") => {
                self.initialized = true;
                self.forward(line, Vec::new(), now);
                self.probe_current();
            }
            (Kind::Notification, "notifications/progress") => {
                let token = message.params().get("progressToken").cloned();
                let ask = self.asks.values().find(|ask| ask.token.is_some() && ask.token == token);
                match ask.map(|ask| ask.child) {
                    Some(child) => self.tell_child(child, line),
                    None => self.forward(line, Vec::new(), now),
                }
            }
            (Kind::Notification, "notifications/roots/list_changed") if self.current.is_some() => {
                for child in self.children.keys().copied().collect::<Vec<_>>() {
                    self.tell_child(child, line);
                }
            }
            _ => self.forward(line, Vec::new(), now),
        }
    }

    /// A batch of 2025-03-26: its requests stay together, because their responses are a batch, too.
    fn client_batch(&mut self, batch: &[&RawValue], now: Instant) {
        let (mut requests, mut ids) = (Vec::new(), Vec::new());
        for part in batch {
            let line = part.get();
            let Some(message) = Message::read(line) else {
                requests.push(line);
                continue;
            };
            match message.kind() {
                Kind::Request(id) if self.calls.len() >= ENTRIES => self.fail(&id, TOO_MANY),
                Kind::Request(id) => {
                    let call = || Call {
                        child: self.current,
                        method: message.method().to_owned(),
                        modern: false,
                        purpose: purpose(message.method(), &message.params(), line),
                    };
                    self.calls.entry(id.clone()).or_insert_with(call);
                    requests.push(line);
                    ids.push(id);
                }
                Kind::Other => requests.push(line),
                Kind::Notification | Kind::Response(_) => self.client_message(&message, line, now),
            }
        }
        if !requests.is_empty() || batch.is_empty() {
            self.forward(&format!("[{}]", requests.join(",")), ids, now);
        }
    }

    fn client_request(&mut self, id: Id, message: &Message<'_>, line: &str, now: Instant) {
        let params = message.params();
        let modern = is_modern(&params);
        if message.method() == "tools/call"
            && params.get("task").is_none()
            && let Some(failure) = self.failure.take()
        {
            let serving = self.current.is_some();
            self.tell_client(broken_build(&id, &failure, serving, modern));
            return;
        }
        if self.calls.len() >= ENTRIES {
            return self.fail(&id, TOO_MANY);
        }
        // A second request with the id of a call in flight is the server's to refuse.
        if !self.calls.contains_key(&id) {
            let purpose = if modern && message.method() != "subscriptions/listen" {
                Purpose::Other
            } else {
                purpose(message.method(), &params, line)
            };
            let call = Call { child: self.current, method: message.method().to_owned(), modern, purpose };
            self.calls.insert(id.clone(), call);
        }
        self.forward(line, vec![id], now);
        if modern && self.meta.is_none() {
            self.meta = params.get("_meta").map(without_progress);
            self.probe_current();
        }
    }

    /// Every request of a child was numbered here: what answers none of them answers one of a child that is gone, and
    /// its number may be an id of the child that serves.
    fn client_response(&mut self, id: &Id, message: &Message<'_>) {
        let ask = id.json().parse().ok().and_then(|number: u64| self.asks.remove(&number));
        if let Some(ask) = ask.filter(|ask| self.children.contains_key(&ask.child)) {
            self.tell_child(ask.child, message.with_id(ask.id.json()));
        }
    }

    /// The child that has the call is told; no response will come.
    fn client_cancels(&mut self, message: &Message<'_>, line: &str, now: Instant) {
        let Some(id) = message.params().get("requestId").map(Id::of) else {
            return self.forward(line, Vec::new(), now);
        };
        match self.calls.get(&id) {
            // `initialize` cannot be cancelled.
            Some(call) if matches!(call.purpose, Purpose::Initialize(_)) => {}
            Some(call) => {
                let child = call.child;
                self.calls.remove(&id);
                if let Some(child) = child {
                    self.tell_child(child, line);
                    self.settle(child);
                } else if self.leave_waiting(&id) {
                    self.forward(line, Vec::new(), now);
                }
            }
            None => {}
        }
    }

    /// A request waits no more; whether it stays in a batch with others that do.
    fn leave_waiting(&mut self, id: &Id) -> bool {
        self.waiting.retain(|waiting| waiting.ids != [id.clone()]);
        let batch = self.waiting.iter_mut().find(|waiting| waiting.ids.contains(id));
        let is_left = batch.is_some();
        if let Some(batch) = batch {
            batch.ids.retain(|other| other != id);
        }
        is_left
    }

    /// Passes a line to the child that serves, or keeps it until there is one.
    fn forward(&mut self, line: &str, ids: Vec<Id>, now: Instant) {
        match self.current {
            Some(child) => self.tell_child(child, line),
            None if self.waiting.len() < ENTRIES => {
                self.waiting.push_back(Waiting { line: line.to_owned(), ids, since: now });
            }
            None => self.fail_all(&ids, "too many requests wait for the server; retry later"),
        }
    }

    /// What waited goes to the child that serves now.
    pub(super) fn flush(&mut self, child: ChildId) {
        for waiting in std::mem::take(&mut self.waiting) {
            for id in &waiting.ids {
                if let Some(call) = self.calls.get_mut(id) {
                    call.child = Some(child);
                }
            }
            self.tell_child(child, waiting.line);
        }
    }

    /// Asks for a new child if the last one exited; the more often it did, the later.
    fn restart(&mut self) {
        if self.crashed && !self.waiting.is_empty() && !self.is_starting() {
            self.crashed = false;
            let delay = match self.crashes {
                0 | 1 => Duration::ZERO,
                crashes => Duration::from_millis(250 << crashes.min(7)).min(Duration::from_secs(30)),
            };
            self.actions.push(Action::Start(delay));
        }
    }
}

/// What a response to this request changes.
fn purpose(method: &str, params: &Value, line: &str) -> Purpose {
    let uri = || params.get("uri").and_then(Value::as_str).unwrap_or_default().to_owned();
    match method {
        "initialize" => Purpose::Initialize(line.to_owned()),
        "logging/setLevel" => Purpose::Level(params.clone()),
        "resources/subscribe" => Purpose::Subscribe(uri()),
        "resources/unsubscribe" => Purpose::Unsubscribe(uri()),
        "subscriptions/listen" => Purpose::Listen {
            line: line.to_owned(),
            filter: params.get("notifications").cloned().unwrap_or(Value::Null),
            acknowledged: false,
        },
        _ => Purpose::Other,
    }
}

/// A client's `_meta` for the supervisor's requests: nobody waits for the progress of these.
fn without_progress(meta: &Value) -> Value {
    let mut meta = meta.clone();
    if let Some(members) = meta.as_object_mut() {
        members.remove("progressToken");
    }
    meta
}
