//! Messages of a child: responses to the client and to the supervisor, notifications, requests.

use std::time::Instant;

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::adapt::{acknowledge, announce, empty_list, own_acknowledgement};
use super::super::catalog::List;
use super::super::message::{Id, Kind, METHOD_NOT_FOUND, Message, error, subscription, value};
use super::{Action, Ask, Call, ChildId, ENTRIES, Handshake, Phase, Purpose, Session};

impl Session {
    /// A line of a child.
    pub(crate) fn child_line(&mut self, child: ChildId, line: &str, now: Instant) {
        if !self.children.contains_key(&child) {
            return;
        }
        if let Some(message) = Message::read(line) {
            self.child_message(child, &message, line, now);
        } else if let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(line) {
            self.child_batch(child, &batch, line, now);
        } else {
            self.warn(format!(
                "the server wrote a line to standard output that is not JSON; use `eprintln!` or `tracing`: {}",
                line.chars().take(120).collect::<String>()
            ));
            self.tell_client(line);
        }
        self.settle(child);
    }

    fn child_message(&mut self, child: ChildId, message: &Message<'_>, line: &str, now: Instant) {
        match message.kind() {
            Kind::Response(id) if self.is_own(child, &id) => self.own_response(child, &id, message, now),
            Kind::Response(id) => self.call_answered(child, &id, message, line, now),
            Kind::Request(id) => self.child_asks(child, id, message),
            Kind::Notification => self.child_notifies(child, message, line),
            Kind::Other => self.tell_client(line),
        }
    }

    /// The responses to a batch stay one; everything else in it is passed on by itself.
    fn child_batch(&mut self, child: ChildId, batch: &[&RawValue], line: &str, now: Instant) {
        let messages: Vec<_> = batch.iter().filter_map(|part| Some((Message::read(part.get())?, part.get()))).collect();
        if messages.iter().all(|(message, _)| matches!(message.kind(), Kind::Response(_))) {
            for (message, line) in &messages {
                if let Kind::Response(id) = message.kind() {
                    // What the response changes at other children is kept; the client reads it in the batch.
                    let before = self.take();
                    self.call_answered(child, &id, message, line, now);
                    let after = std::mem::replace(&mut self.actions, before);
                    self.actions.extend(after.into_iter().filter(|action| !matches!(action, Action::ToClient(_))));
                }
            }
            return self.tell_client(line);
        }
        for (message, line) in &messages {
            self.child_message(child, message, line, now);
        }
    }

    /// The response to a request of the client.
    fn call_answered(&mut self, child: ChildId, id: &Id, message: &Message<'_>, line: &str, now: Instant) {
        // The client does not wait for the response of a call it cancelled, or of a stream that moved on.
        if self.calls.get(id).is_none_or(|call| call.child != Some(child)) {
            return;
        }
        if message.error_code() == Some(METHOD_NOT_FOUND) && self.hold_alone(id) {
            return;
        }
        let Some(call) = self.calls.remove(id) else { return };
        let succeeded = message.result.is_some();
        match call.purpose {
            Purpose::Initialize(request) => {
                if succeeded {
                    let version = value(message.result).get("protocolVersion").cloned().unwrap_or_default();
                    self.handshake = Some(Handshake { line: request, version });
                    self.tell_client(announce(message));
                } else {
                    self.tell_client(line);
                }
                self.begin_waiting(now);
                return;
            }
            Purpose::Level(params) if succeeded => {
                self.replay_to_newer(child, |session, newer| session.replay_level(newer, &params));
                self.level = Some(params);
            }
            Purpose::Subscribe(uri) if succeeded && self.subscriptions.len() < ENTRIES => {
                self.replay_to_newer(child, |session, newer| session.replay_subscription(newer, &uri));
                self.subscriptions.insert(uri);
            }
            Purpose::Unsubscribe(uri) if succeeded => {
                self.subscriptions.remove(&uri);
            }
            _ => {}
        }
        if call.method == "server/discover" && succeeded {
            return self.tell_client(announce(message));
        }
        let empty = empty_list(message, id, &call.method, call.modern);
        self.tell_client(empty.unwrap_or_else(|| line.to_owned()));
    }

    /// A server without list changes may not know `subscriptions/listen`: the supervisor holds the stream alone, since
    /// a version that differs will come.
    fn hold_alone(&mut self, id: &Id) -> bool {
        let Some(call) = self.calls.get_mut(id) else { return false };
        let Purpose::Listen { acknowledged, filter, .. } = &mut call.purpose else { return false };
        call.child = None;
        if !std::mem::replace(acknowledged, true) {
            let line = own_acknowledgement(id, filter);
            self.tell_client(line);
        }
        true
    }

    /// A request of a child gets an id that no other child's request has.
    fn child_asks(&mut self, child: ChildId, id: Id, message: &Message<'_>) {
        if self.asks.len() >= ENTRIES {
            let refusal = error(&id, "cargo mcp dev: too many requests wait for the client");
            return self.tell_child(child, refusal);
        }
        let number = self.next();
        let token = message.params().pointer("/_meta/progressToken").cloned();
        self.asks.insert(number, Ask { child, id, token });
        self.tell_client(message.with_id(&number.to_string()));
    }

    fn child_notifies(&mut self, child: ChildId, message: &Message<'_>, line: &str) {
        let params = message.params();
        if let Some(stream) = subscription(&params) {
            return self.stream_notifies(child, &stream, message, line);
        }
        if message.method() == "notifications/cancelled" {
            return self.child_cancels(child, message, params, line);
        }
        if let Some(list) = List::of_notification(message.method()) {
            let Some(state) = self.children.get_mut(&child) else { return };
            state.catalog.forget(list);
            // Only the lists of the child that serves are the client's; for the next one, changes are announced.
            if state.phase != Phase::Serving {
                return;
            }
        }
        self.tell_client(line);
    }

    /// On a `subscriptions/listen` stream. The client saw one acknowledgement; those of later children are swallowed.
    fn stream_notifies(&mut self, child: ChildId, stream: &Id, message: &Message<'_>, line: &str) {
        let Some(call) = self.calls.get_mut(stream).filter(|call| call.child == Some(child)) else { return };
        let Purpose::Listen { filter, acknowledged, .. } = &mut call.purpose else { return };
        if message.method() == "notifications/subscriptions/acknowledged" {
            if !std::mem::replace(acknowledged, true) {
                let line = acknowledge(message, filter);
                self.tell_client(line);
            }
            return;
        }
        if let (Some(list), Some(state)) = (List::of_notification(message.method()), self.children.get_mut(&child)) {
            state.catalog.forget(list);
        }
        self.tell_client(line);
    }

    /// A child cancels its own request, or ends a stream.
    fn child_cancels(&mut self, child: ChildId, message: &Message<'_>, mut params: Value, line: &str) {
        let Some(id) = params.get("requestId").map(Id::of) else { return self.tell_client(line) };
        let ask = self.asks.iter().find(|(_, ask)| ask.child == child && ask.id == id);
        if let Some(number) = ask.map(|(number, _)| *number) {
            self.asks.remove(&number);
            params["requestId"] = number.into();
            return self.tell_client(message.with_params(&params));
        }
        // The end of a stream that has moved to another child is no end; a request that the client has answered is not
        // known by this id there, where it may be that of another.
        let is_stream = |call: &Call| call.child == Some(child) && matches!(call.purpose, Purpose::Listen { .. });
        if self.calls.get(&id).is_some_and(is_stream) {
            self.calls.remove(&id);
            self.tell_client(line);
        }
    }
}
