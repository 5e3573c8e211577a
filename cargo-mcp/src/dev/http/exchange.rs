//! [`Exchange`]: a request at a version of the server, and what becomes of the messages that answer it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::mpsc;

use super::super::adapt::{announce, empty_list};
use super::super::message::{Id, Kind, Message, error, value};
use super::body::{self, Blocks, Outgoing};
use super::sessions::{ENTRIES, HttpSession};
use super::upstream::{InFlight, Upstream};

/// Events that wait for the client to read them.
pub(super) const EVENTS: usize = 64;

/// A request at a version of the server.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) upstream: Arc<Upstream>,
    pub(super) session: Option<Arc<HttpSession>>,
    pub(super) id: Option<Id>,
    pub(super) method: String,
    pub(super) modern: bool,
    pub(super) params: Value,
    pub(super) _in_flight: InFlight,
}

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
enum Adapted {
    Same,
    Changed(String),
    Dropped,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let (Some(session), Some(id)) = (&self.session, &self.id) {
            session.state().calls.remove(id);
        }
    }
}

impl Exchange {
    /// Passes the response on: a message when it is complete, events as they come.
    pub(super) async fn relay(self, response: Result<Response<Incoming>, String>) -> Response<Outgoing> {
        let response = match response {
            Ok(response) => response,
            Err(reason) => return self.lost(&reason).await,
        };
        let (mut head, incoming) = response.into_parts();
        if body::is_event_stream(&head.headers) {
            let (sender, events) = mpsc::channel(EVENTS);
            tokio::spawn(self.pump(Blocks::new(incoming), sender));
            return body::stream(&head.headers, events);
        }
        let read = tokio::select! {
            read = body::read(incoming) => read,
            reason = self.upstream.ended() => Err(reason),
        };
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(reason) => return self.lost(&reason).await,
        };
        head.headers = body::end_to_end(&head.headers);
        let adapted = match std::str::from_utf8(&bytes).map(|text| self.adapt(text)) {
            Ok(Adapted::Changed(text)) => Some(text),
            _ => None,
        };
        let is_list = super::super::catalog::List::of_method(&self.method).is_some();
        if adapted.is_some() && is_list {
            head.status = StatusCode::OK;
        }
        Response::from_parts(head, Outgoing::Whole(Some(adapted.map_or(bytes, Bytes::from))))
    }

    /// The server will not answer: the call gets an error.
    pub(super) async fn lost(&self, error: &str) -> Response<Outgoing> {
        let reason = self.upstream.reason(error).await;
        match &self.id {
            Some(id) => body::json(StatusCode::OK, failed(id, &reason)),
            None => body::json(StatusCode::BAD_GATEWAY, String::new()),
        }
    }

    /// Passes events on until the stream ends, or the client has left.
    async fn pump(self, mut blocks: Blocks, events: mpsc::Sender<Bytes>) {
        loop {
            let block = tokio::select! {
                block = blocks.next() => block,
                reason = self.upstream.ended() => Err(reason),
                () = events.closed() => return,
            };
            match block {
                Ok(Some(block)) => {
                    let adapted = match block.data.as_deref().map(|data| self.adapt(data)) {
                        Some(Adapted::Dropped) => continue,
                        Some(Adapted::Changed(text)) => Some(text),
                        Some(Adapted::Same) | None => None,
                    };
                    let data = adapted.as_deref().or(block.data.as_deref());
                    if events.send(block.write(data, self.upstream.generation)).await.is_err() {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    let reason = self.upstream.reason(&error).await;
                    if let Some(id) = &self.id {
                        events.send(body::event(&failed(id, &reason))).await.ok();
                    }
                    return;
                }
            }
        }
    }

    /// A message of the server as the client is to see it.
    fn adapt(&self, text: &str) -> Adapted {
        let Some(message) = Message::read(text) else { return Adapted::Same };
        match (message.kind(), &self.session) {
            (Kind::Response(id), _) if Some(&id) == self.id.as_ref() => {
                self.answered(&id, &message).map_or(Adapted::Same, Adapted::Changed)
            }
            (Kind::Request(id), Some(session)) => Adapted::Changed(rename_ask(session, &self.upstream, id, &message)),
            // Under its own number, an unknown question may be another one of the client's.
            (Kind::Notification, Some(session)) if message.method() == "notifications/cancelled" => {
                rename_cancelled(session, &self.upstream, &message).map_or(Adapted::Dropped, Adapted::Changed)
            }
            _ => Adapted::Same,
        }
    }

    fn answered(&self, id: &Id, message: &Message<'_>) -> Option<String> {
        let succeeded = message.result.is_some();
        if let (Some(session), true, false) = (&self.session, succeeded, self.modern) {
            let uri = || self.params.get("uri").and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut state = session.state();
            match self.method.as_str() {
                "initialize" => {
                    let result = value(message.result);
                    state.version = result.get("protocolVersion").and_then(Value::as_str).map(str::to_owned);
                }
                "logging/setLevel" => state.level = Some(self.params.clone()),
                "resources/subscribe" if state.subscriptions.len() < ENTRIES => {
                    state.subscriptions.insert(uri());
                }
                "resources/unsubscribe" => {
                    state.subscriptions.remove(&uri());
                }
                _ => {}
            }
        }
        if succeeded && matches!(self.method.as_str(), "initialize" | "server/discover") {
            return Some(announce(message));
        }
        empty_list(message, id, &self.method, self.modern)
    }
}

/// An error in the place of an answer.
pub(super) fn failed(id: &Id, reason: &str) -> String {
    error(id, &format!("cargo mcp dev: {reason}"))
}

/// A question of the server gets an id that no other version's question has; over the limit, the oldest is forgotten.
pub(super) fn rename_ask(session: &HttpSession, upstream: &Arc<Upstream>, id: Id, message: &Message<'_>) -> String {
    let mut state = session.state();
    if state.asks.len() >= ENTRIES {
        let oldest = state.asks.keys().min().copied();
        oldest.and_then(|oldest| state.asks.remove(&oldest));
    }
    state.counter += 1;
    let number = state.counter;
    state.asks.insert(number, (Arc::clone(upstream), id));
    message.with_id(&number.to_string())
}

/// The server gives up a question.
pub(super) fn rename_cancelled(
    session: &HttpSession,
    upstream: &Arc<Upstream>,
    message: &Message<'_>,
) -> Option<String> {
    let mut params = message.params();
    let id = params.get("requestId").map(Id::of)?;
    let mut state = session.state();
    let asked = |(_, (at, asked)): &(&u64, &(Arc<Upstream>, Id))| at.generation == upstream.generation && *asked == id;
    let number = state.asks.iter().find(asked).map(|(number, _)| *number)?;
    state.asks.remove(&number);
    params["requestId"] = number.into();
    Some(message.with_params(&params))
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[test]
    fn server_gives_up_only_questions_that_were_asked() {
        let session =
            Arc::new(HttpSession::new("s".to_owned(), 1, http::Uri::default(), &HeaderMap::new(), Bytes::new()));
        let upstream = Upstream::fake(1, None);
        let exchange = Exchange {
            session: Some(Arc::clone(&session)),
            id: None,
            method: String::new(),
            modern: false,
            params: Value::Null,
            _in_flight: upstream.begin(),
            upstream,
        };
        let cancel = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        };
        assert_eq!(exchange.adapt(&cancel("1")), Adapted::Dropped, "1 may be the client's number of another question");
        let asked = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
        let Adapted::Changed(renamed) = exchange.adapt(asked) else { panic!("not renamed") };
        assert!(renamed.contains(r#""id":1"#), "{renamed}");
        assert_eq!(exchange.adapt(&cancel("\"q\"")), Adapted::Changed(cancel("1")));
    }
}
