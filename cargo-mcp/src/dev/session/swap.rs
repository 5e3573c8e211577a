//! From one child to the next: what is replayed, when the new one serves, and what becomes of the old one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::adapt::{on_stream, wanted, wanted_resources};
use super::super::catalog::{Catalog, List};
use super::super::message::{Id, METHOD_NOT_FOUND, Message, notification, request, value};
use super::{Action, Child, ChildId, DRAIN, DRAINING, Note, Own, PAGES, Phase, Purpose, START, Session};

/// A child that lived this long did not exit because of its start.
const STABLE: Duration = Duration::from_secs(30);

impl Session {
    /// A child was started with the newest build.
    pub(crate) fn started(&mut self, child: ChildId, saved: Instant, now: Instant) {
        // An even newer build replaces one that has not begun to serve.
        let superseded = self.children.iter().filter(|(_, child)| matches!(child.phase, Phase::Starting(_)));
        for old in superseded.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.forget(old);
            self.actions.push(Action::Close(old));
        }
        self.crashed = false;
        let phase = Phase::Starting(now + START);
        let (own, catalog) = (HashMap::new(), Catalog::default());
        self.children.insert(child, Child { phase, begun: false, saved, started: now, own, catalog });
        // The answer to an `initialize` on its way decides what is replayed.
        if self.handshaking().is_empty() {
            self.begin(child, now);
        }
    }

    /// Every `initialize` of the client that a child has to answer.
    fn handshaking(&self) -> Vec<Id> {
        let handshaking = |call: &super::Call| call.child.is_some() && matches!(call.purpose, Purpose::Initialize(_));
        self.calls.iter().filter(|(_, call)| handshaking(call)).map(|(id, _)| id.clone()).collect()
    }

    /// Begins with the child that waited for an `initialize` to be answered.
    pub(super) fn begin_waiting(&mut self, now: Instant) {
        let waits = |child: &Child| matches!(child.phase, Phase::Starting(_)) && !child.begun;
        let child = self.children.iter().find(|(_, child)| waits(child)).map(|(id, _)| *id);
        if let Some(child) = child {
            self.begin(child, now);
        }
    }

    /// Whether a version is on its way.
    pub(super) fn is_starting(&self) -> bool {
        self.children.values().any(|child| matches!(child.phase, Phase::Starting(_)))
    }

    fn begin(&mut self, child: ChildId, now: Instant) {
        if let Some(state) = self.children.get_mut(&child) {
            state.begun = true;
            // The time it waited for the client's `initialize` is not its own.
            state.phase = Phase::Starting(now + START);
        }
        match &self.handshake {
            Some(handshake) => {
                let line = handshake.line.clone();
                let id = self.own(child, Own::Initialize);
                if let Some(message) = Message::read(&line) {
                    self.tell_child(child, message.with_id(&json!(id).to_string()));
                }
            }
            None => self.restore(child, now),
        }
    }

    /// Everything after `initialize`.
    fn restore(&mut self, child: ChildId, now: Instant) {
        if self.handshake.is_some() && self.initialized {
            self.tell_child(child, notification("notifications/initialized", &Value::Null));
            if let Some(level) = self.level.clone() {
                self.replay_level(child, &level);
            }
            for uri in self.subscriptions.iter().cloned().collect::<Vec<_>>() {
                self.replay_subscription(child, &uri);
            }
        }
        self.probe(child);
        self.promote_if_ready(child, now);
    }

    pub(super) fn replay_level(&mut self, child: ChildId, params: &Value) {
        let id = self.own(child, Own::Level);
        self.tell_child(child, request(&id, "logging/setLevel", params));
    }

    pub(super) fn replay_subscription(&mut self, child: ChildId, uri: &str) {
        let id = self.own(child, Own::Subscribe(uri.to_owned()));
        self.tell_child(child, request(&id, "resources/subscribe", &json!({ "uri": uri })));
    }

    /// What the client changed at a child while a newer one was already told about the session.
    pub(super) fn replay_to_newer(&mut self, than: ChildId, replay: impl Fn(&mut Self, ChildId)) {
        for newer in self.children.keys().copied().filter(|child| *child > than).collect::<Vec<_>>() {
            replay(self, newer);
        }
    }

    /// Reads the lists of the child that serves, to compare the next one with.
    pub(super) fn probe_current(&mut self) {
        if let Some(current) = self.current {
            self.probe(current);
        }
    }

    fn probe(&mut self, child: ChildId) {
        for list in List::ALL {
            self.probe_page(child, list, None, 0);
        }
    }

    /// As the client would ask: in its session, or with its `_meta`.
    fn probe_page(&mut self, child: ChildId, list: List, cursor: Option<Value>, page: usize) {
        let mut params = json!({});
        if !self.initialized {
            let Some(meta) = self.meta.clone() else { return };
            params["_meta"] = meta;
        }
        if let Some(cursor) = cursor {
            params["cursor"] = cursor;
        }
        let id = self.own(child, Own::List(list, page));
        self.tell_child(child, request(&id, list.method(), &params));
    }

    fn own(&mut self, child: ChildId, own: Own) -> String {
        let id = format!("cargo-mcp-dev-{}", self.next());
        if let Some(child) = self.children.get_mut(&child) {
            child.own.insert(Id::of(&json!(id)), own);
        }
        id
    }

    pub(super) fn is_own(&self, child: ChildId, id: &Id) -> bool {
        self.children.get(&child).is_some_and(|child| child.own.contains_key(id))
    }

    /// The response to a request of the supervisor.
    pub(super) fn own_response(&mut self, child: ChildId, id: &Id, message: &Message<'_>, now: Instant) {
        let Some(state) = self.children.get_mut(&child) else { return };
        let Some(own) = state.own.remove(id) else { return };
        match own {
            Own::Initialize if message.result.is_some() => {
                let version = value(message.result).get("protocolVersion").cloned().unwrap_or_default();
                let negotiated = self.handshake.as_ref().map(|handshake| &handshake.version);
                if negotiated.is_some_and(|negotiated| *negotiated != version) {
                    self.warn(format!("the new version negotiates protocol {version}; reconnect the client"));
                }
                return self.restore(child, now);
            }
            Own::Initialize => {
                return self.start_failed(child, &format!("refused `initialize`: {}", message.error_message()));
            }
            Own::Level if message.error.is_some() => {
                self.warn(format!("the new version refuses the log level: {}", message.error_message()));
            }
            Own::Subscribe(uri) if message.error.is_some() => {
                self.warn(format!("the new version refuses the subscription to {uri}: {}", message.error_message()));
            }
            Own::List(list, page) => {
                let result = value(message.result);
                if message.result.is_some() || message.error_code() == Some(METHOD_NOT_FOUND) {
                    state.catalog.add(list, &result);
                }
                let cursor = result.get("nextCursor").filter(|cursor| cursor.is_string());
                if let Some(cursor) = cursor.filter(|_| page < PAGES) {
                    self.probe_page(child, list, Some(cursor.clone()), page + 1);
                }
            }
            Own::Level | Own::Subscribe(_) => {}
        }
        self.promote_if_ready(child, now);
    }

    fn promote_if_ready(&mut self, child: ChildId, now: Instant) {
        let ready = |child: &Child| matches!(child.phase, Phase::Starting(_)) && child.own.is_empty();
        if self.children.get(&child).is_some_and(ready) {
            self.promote(child, now);
        }
    }

    /// The child serves from now on.
    fn promote(&mut self, child: ChildId, now: Instant) {
        let old = self.current.replace(child);
        self.failure = None;
        self.last_failure = None;
        if let Some(old) = old.and_then(|old| self.children.get(&old)) {
            self.before = Some(old.catalog.clone());
        }
        let (first, before) = (self.before.is_none(), self.before.clone().unwrap_or_default());
        let Some(state) = self.children.get_mut(&child) else { return };
        state.phase = Phase::Serving;
        let changed = state.catalog.changed_since(&before);
        let note = match (first, old) {
            (true, _) => Note::Serving(state.saved),
            (false, None) => Note::Restarted,
            (false, Some(_)) => Note::Swapped(state.saved, state.catalog.describe_since(&before)),
        };
        self.flush(child);
        self.move_streams(child, old);
        self.announce_changes(&changed);
        self.actions.push(Action::Say(note));
        if let Some(state) = old.and_then(|old| self.children.get_mut(&old)) {
            state.phase = Phase::Draining(now + DRAIN);
            state.own.clear();
        }
        if let Some(old) = old {
            self.settle(old);
        }
        self.limit_draining(now);
    }

    /// Opens every `subscriptions/listen` stream at the new child.
    fn move_streams(&mut self, child: ChildId, old: Option<ChildId>) {
        let mut lines = Vec::new();
        for (id, call) in &mut self.calls {
            let Purpose::Listen { line, .. } = &call.purpose else { continue };
            // One that waited for this child was sent to it with everything else that waited.
            if call.child.is_some() && call.child == old {
                let params = json!({ "requestId": serde_json::from_str::<Value>(id.json()).unwrap_or_default() });
                lines.extend(old.map(|old| (old, notification("notifications/cancelled", &params))));
            }
            if call.child != Some(child) {
                call.child = Some(child);
                lines.push((child, line.clone()));
            }
        }
        for (child, line) in lines {
            self.tell_child(child, line);
        }
    }

    /// Tells the client what is new, in the form of each era: the lists that changed, and the subscribed resources,
    /// because new code may read them differently.
    fn announce_changes(&mut self, changed: &[List]) {
        let mut lines = Vec::new();
        if self.handshake.is_some() && self.initialized {
            lines.extend(changed.iter().map(|list| notification(list.notification(), &Value::Null)));
            let updated = |uri: &String| notification("notifications/resources/updated", &json!({ "uri": uri }));
            lines.extend(self.subscriptions.iter().map(updated));
        }
        for (id, call) in &self.calls {
            let Purpose::Listen { filter, acknowledged: true, .. } = &call.purpose else { continue };
            let wanted = changed.iter().filter(|list| wanted(filter, **list));
            lines.extend(wanted.map(|list| on_stream(id, list.notification(), &[])));
            let updated = |uri: &str| on_stream(id, "notifications/resources/updated", &[("uri", json!(uri))]);
            lines.extend(wanted_resources(filter).map(updated));
        }
        for line in lines {
            self.tell_client(line);
        }
    }

    /// Closes a replaced child that has nothing left to do.
    pub(super) fn settle(&mut self, child: ChildId) {
        let draining = self.children.get(&child).is_some_and(|child| matches!(child.phase, Phase::Draining(_)));
        if draining && !self.calls.values().any(|call| call.child == Some(child)) {
            self.forget(child);
            self.actions.push(Action::Close(child));
        }
    }

    fn limit_draining(&mut self, now: Instant) {
        let draining = |child: &Child| matches!(child.phase, Phase::Draining(_));
        let draining: Vec<_> = self.children.iter().filter(|(_, child)| draining(child)).map(|(id, _)| *id).collect();
        for child in draining.iter().take(draining.len().saturating_sub(DRAINING)) {
            self.child_is_late(*child, now);
        }
    }

    /// A child took too long to start, or to finish its calls.
    pub(super) fn child_is_late(&mut self, child: ChildId, now: Instant) {
        let Some(state) = self.children.get(&child) else { return };
        let handshaking = state.own.values().any(|own| matches!(own, Own::Initialize));
        match state.phase {
            // It waits for a child that does not answer `initialize`, and must not serve without one.
            Phase::Starting(_) if !state.begun => {
                let reason = "the server did not answer `initialize`, and is replaced by a new version; connect again";
                self.fail_all(&self.handshaking(), reason);
                self.begin_waiting(now);
            }
            Phase::Starting(_) if handshaking => {
                self.start_failed(child, &format!("did not answer `initialize` within {} s", START.as_secs()));
            }
            // Only lists, levels or subscriptions are missing: the lists are announced as changed.
            Phase::Starting(_) => self.promote(child, now),
            Phase::Draining(_) => {
                let reason = format!(
                    "the server was replaced by a new version, and this call did not finish on the old one within \
                     {} s; repeat it",
                    DRAIN.as_secs()
                );
                self.fail_calls(child, &reason);
                self.forget(child);
                self.actions.push(Action::Close(child));
            }
            Phase::Serving => {}
        }
    }

    /// A new version does not serve; the old one goes on.
    fn start_failed(&mut self, child: ChildId, reason: &str) {
        self.forget(child);
        self.actions.push(Action::Close(child));
        self.not_serving(format!("the new version {reason}"));
    }

    fn not_serving(&mut self, reason: String) {
        self.actions.push(Action::Say(Note::Error(reason.clone())));
        if self.current.is_some() {
            self.failure = Some(reason);
            return;
        }
        self.crashed = true;
        self.crashes += 1;
        self.last_failure = Some(reason.clone());
        for waiting in std::mem::take(&mut self.waiting) {
            self.fail_all(&waiting.ids, &reason);
        }
    }

    /// A child exited, or could not be started.
    pub(crate) fn exited(&mut self, child: ChildId, status: &str, now: Instant) {
        let Some(state) = self.children.get(&child) else { return };
        let (phase, started) = (state.phase, state.started);
        if phase == Phase::Serving {
            self.before = Some(state.catalog.clone());
        }
        self.fail_calls(child, &format!("the server exited ({status}) before it answered; it is started again"));
        self.forget(child);
        match phase {
            Phase::Starting(_) => self.not_serving(format!("the new version exited ({status}) before it served")),
            Phase::Serving => {
                self.current = None;
                self.crashed = true;
                self.crashes = if now.duration_since(started) > STABLE { 1 } else { self.crashes + 1 };
                let next = "it is started again with the next message, or when its source changes";
                self.actions.push(Action::Say(Note::Error(format!("the server exited ({status}); {next}"))));
            }
            Phase::Draining(_) => {}
        }
        self.begin_waiting(now);
    }

    /// The requests of a child that is gone are cancelled at the client; its streams wait for the next child.
    fn forget(&mut self, child: ChildId) {
        self.children.remove(&child);
        let asks: Vec<_> = self.asks.iter().filter(|(_, ask)| ask.child == child).map(|(id, _)| *id).collect();
        for number in asks {
            self.asks.remove(&number);
            let params = json!({ "requestId": number, "reason": "the server that asked has exited" });
            self.tell_client(notification("notifications/cancelled", &params));
        }
        for call in self.calls.values_mut().filter(|call| call.child == Some(child)) {
            call.child = None;
        }
    }

    /// Answers the calls of a child that will not.
    fn fail_calls(&mut self, child: ChildId, reason: &str) {
        let lost = |call: &super::Call| call.child == Some(child) && !matches!(call.purpose, Purpose::Listen { .. });
        for id in self.calls.iter().filter(|(_, call)| lost(call)).map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.fail(&id, reason);
        }
    }
}
