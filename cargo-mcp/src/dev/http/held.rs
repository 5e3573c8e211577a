//! [`Held`]: a stream that outlives the version of the server it was opened at: the GET of a session, or a
//! `subscriptions/listen`.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::super::adapt::{acknowledge, on_stream, own_acknowledgement, wanted, wanted_resources};
use super::super::catalog::List;
use super::super::message::{Id, Kind, METHOD_NOT_FOUND, Message, notification, subscription};
use super::Proxy;
use super::body::{self, Blocks, Outgoing};
use super::exchange::{EVENTS, failed, rename_ask, rename_cancelled};
use super::sessions::{HttpSession, SESSION, set};
use super::upstream::Upstream;

const LAST_EVENT: &str = "last-event-id";

/// What a stream is for.
#[derive(Debug)]
pub(super) enum Source {
    Session(Arc<HttpSession>),
    Listen { id: Id, filter: Value, acknowledged: bool },
}

/// A stream the supervisor holds.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) proxy: Arc<Proxy>,
    pub(super) head: Parts,
    pub(super) body: Bytes,
    pub(super) source: Source,
}

/// Why reading from a version stopped.
enum End {
    Moved(Arc<Upstream>),
    Complete,
    ClientLeft,
    /// The server exited; the stream waits for the next version.
    Lost,
}

impl Held {
    /// Opens the stream; what is no stream is passed on as it is.
    pub(super) async fn serve(mut self, upstream: Arc<Upstream>) -> Response<Outgoing> {
        let response = match self.open(&upstream).await {
            Ok(response) => response,
            Err(error) => {
                let reason = upstream.reason(&error).await;
                return match &self.source {
                    Source::Listen { id, .. } => body::json(StatusCode::OK, failed(id, &reason)),
                    Source::Session(_) => body::json(StatusCode::BAD_GATEWAY, String::new()),
                };
            }
        };
        let (mut head, incoming) = response.into_parts();
        let (sender, events) = mpsc::channel(EVENTS);
        if body::is_event_stream(&head.headers) {
            tokio::spawn(self.run(upstream, Some(Blocks::new(incoming)), sender));
            return body::stream(&head.headers, events);
        }
        let bytes = body::read(incoming).await.unwrap_or_default();
        if let Source::Listen { id, filter, acknowledged } = &mut self.source
            && is_unknown(&bytes)
        {
            // A server without list changes need not know the method; the next version may have some.
            *acknowledged = true;
            sender.send(body::event(&own_acknowledgement(id, filter))).await.ok();
            tokio::spawn(self.run(upstream, None, sender));
            return body::stream(&head.headers, events);
        }
        head.headers = body::end_to_end(&head.headers);
        Response::from_parts(head, Outgoing::Whole(Some(bytes)))
    }

    async fn open(&self, upstream: &Upstream) -> Result<Response<Incoming>, String> {
        let mut head = self.head.clone();
        head.headers = body::end_to_end(&head.headers);
        if let Source::Session(session) = &self.source {
            set(&mut head.headers, SESSION, &session.at(upstream).await?);
        }
        // Only the version that sent an event can go on after it.
        let last = head.headers.remove(LAST_EVENT);
        let last = last.as_ref().and_then(|last| last.to_str().ok()).and_then(|last| last.split_once('.'));
        if let Some((_, event)) = last.filter(|(at, _)| *at == upstream.generation.to_string()) {
            set(&mut head.headers, LAST_EVENT, event);
        }
        let request = http::Request::from_parts(head, Full::new(self.body.clone()));
        upstream.send(request).await
    }

    /// Passes events on, over versions of the server, until the client leaves.
    async fn run(mut self, mut upstream: Arc<Upstream>, mut blocks: Option<Blocks>, events: mpsc::Sender<Bytes>) {
        loop {
            let next = match self.read(&upstream, blocks.take(), &events).await {
                End::Moved(next) => next,
                End::Complete | End::ClientLeft => return,
                End::Lost => tokio::select! {
                    next = self.proxy.newer(upstream.generation) => next,
                    () = events.closed() => return,
                },
            };
            let changed = match next.changed.get() {
                Some(changed) if next.generation == upstream.generation + 1 => changed.clone(),
                _ => List::CAPABILITIES.to_vec(),
            };
            upstream = next;
            let opened = self.open(&upstream).await.ok();
            blocks = opened
                .filter(|response| body::is_event_stream(response.headers()))
                .map(|response| Blocks::new(response.into_body()));
            for line in self.changes(&changed) {
                if events.send(body::event(&line)).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Passes the events of one version on.
    async fn read(&mut self, upstream: &Arc<Upstream>, blocks: Option<Blocks>, events: &mpsc::Sender<Bytes>) -> End {
        let proxy = Arc::clone(&self.proxy);
        let newer = proxy.newer(upstream.generation);
        tokio::pin!(newer);
        let Some(mut blocks) = blocks else {
            return tokio::select! {
                next = &mut newer => End::Moved(next),
                () = events.closed() => End::ClientLeft,
            };
        };
        loop {
            let block = tokio::select! {
                biased;
                next = &mut newer => return End::Moved(next),
                () = events.closed() => return End::ClientLeft,
                block = blocks.next() => block,
            };
            match block {
                Ok(Some(block)) => {
                    let data = match block.data.as_deref().map(|data| self.adapt(upstream, data)) {
                        Some(None) => continue,
                        Some(Some(data)) => Some(data),
                        None => None,
                    };
                    if events.send(block.write(data.as_deref(), upstream.generation)).await.is_err() {
                        return End::ClientLeft;
                    }
                }
                // A server that shuts down ends its streams before it exits.
                Ok(None) if self.proxy.is_current(upstream) && !upstream.is_ending().await => return End::Complete,
                Ok(None) | Err(_) => return End::Lost,
            }
        }
    }

    /// A message as the client is to see it; `None` swallows it.
    fn adapt(&mut self, upstream: &Arc<Upstream>, text: &str) -> Option<String> {
        let Some(message) = Message::read(text) else { return Some(text.to_owned()) };
        match &mut self.source {
            Source::Session(session) => {
                match message.kind() {
                    Kind::Request(id) => Some(rename_ask(session, upstream, id, &message)),
                    // Under its own number, an unknown question may be another one of the client's.
                    Kind::Notification if message.method() == "notifications/cancelled" => {
                        rename_cancelled(session, upstream, &message)
                    }
                    _ => Some(text.to_owned()),
                }
            }
            Source::Listen { id, filter, acknowledged } => {
                let is_acknowledgement = message.method() == "notifications/subscriptions/acknowledged"
                    && subscription(&message.params()).as_ref() == Some(id);
                match (is_acknowledgement, message.kind()) {
                    (true, _) if std::mem::replace(acknowledged, true) => None,
                    (true, _) => Some(acknowledge(&message, filter)),
                    // The end of a stream at a version that was replaced is no end.
                    (false, Kind::Response(_)) if !self.proxy.is_current(upstream) => None,
                    (false, _) => Some(text.to_owned()),
                }
            }
        }
    }

    /// What the client is told about a new version.
    fn changes(&self, changed: &[List]) -> Vec<String> {
        match &self.source {
            Source::Session(session) => {
                let state = session.state();
                let lists = changed.iter().map(|list| notification(list.notification(), &Value::Null));
                let updated = |uri: &String| notification("notifications/resources/updated", &json!({ "uri": uri }));
                lists.chain(state.subscriptions.iter().map(updated)).collect()
            }
            Source::Listen { id, filter, .. } => {
                let wanted = changed.iter().filter(|list| wanted(filter, **list));
                let lists = wanted.map(|list| on_stream(id, list.notification(), &[]));
                let updated = |uri| on_stream(id, "notifications/resources/updated", &[("uri", json!(uri))]);
                lists.chain(wanted_resources(filter).map(updated)).collect()
            }
        }
    }
}

fn is_unknown(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    Message::read(&text).is_some_and(|message| message.error_code() == Some(METHOD_NOT_FOUND))
}

/// The version a resumed stream was at.
pub(super) fn resumed_at(head: &Parts) -> Option<(u64, String)> {
    let (generation, event) = head.headers.get(LAST_EVENT)?.to_str().ok()?.split_once('.')?;
    Some((generation.parse().ok()?, event.to_owned()))
}

/// Resumes after an event of the version that sent it.
pub(super) fn resume(head: &mut Parts, event: &str) {
    set(&mut head.headers, LAST_EVENT, event);
}
