//! Requests of clients: which version of the server gets them.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::Value;

use super::super::adapt::broken_build;
use super::super::message::{Id, Kind, Message, is_modern};
use super::Proxy;
use super::body::{self, Outgoing};
use super::exchange::{Exchange, failed};
use super::held::{Held, Source, resume, resumed_at};
use super::sessions::{ENTRIES, HttpSession, SESSION, lock, set};
use super::upstream::Upstream;

impl Proxy {
    pub(super) async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Outgoing>, Infallible> {
        let (head, incoming) = request.into_parts();
        let Ok(body) = body::read(incoming).await else {
            return Ok(body::json(StatusCode::PAYLOAD_TOO_LARGE, String::new()));
        };
        let session = self.sessions.get(&head.headers);
        if let Some(session) = &session {
            session.renew(&head.headers);
        }
        Ok(match (&head.method, session) {
            (&Method::POST, session) => self.post(head, body, session).await,
            (&Method::GET, Some(session)) => self.get(head, session).await,
            (&Method::DELETE, Some(session)) => self.delete(head, &session).await,
            _ => self.pass(head, body).await,
        })
    }

    async fn post(self: &Arc<Self>, head: Parts, body: Bytes, session: Option<Arc<HttpSession>>) -> Response<Outgoing> {
        let text = String::from_utf8_lossy(&body).into_owned();
        let Some(message) = Message::read(&text) else { return self.pass_in(head, body, session).await };
        let params = message.params();
        let modern = is_modern(&params);
        let session = session.filter(|_| !modern);
        match message.kind() {
            Kind::Request(id) => {
                if let Some(answer) = self.broken(&head.headers, &id, &message, &params, modern) {
                    return body::json(StatusCode::OK, answer);
                }
                let upstream = match self.upstream().await {
                    Ok(upstream) => upstream,
                    Err(reason) => return body::json(StatusCode::OK, failed(&id, &reason)),
                };
                if modern && message.method() == "subscriptions/listen" {
                    let filter = params.get("notifications").cloned().unwrap_or(Value::Null);
                    let source = Source::Listen { id, filter, acknowledged: false };
                    return Held { proxy: Arc::clone(self), head, body, source }.serve(upstream).await;
                }
                let method = message.method().to_owned();
                if let Some(session) = &session
                    && session.state().calls.len() < ENTRIES
                {
                    session.state().calls.insert(id.clone(), Arc::clone(&upstream));
                }
                let in_flight = upstream.begin();
                let exchange =
                    Exchange { upstream, session, id: Some(id), method, modern, params, _in_flight: in_flight };
                self.exchange(exchange, head, body).await
            }
            Kind::Response(id) => self.answer_of_client(head, body, session, &id, &message).await,
            Kind::Notification => self.notification(head, body, session, &message).await,
            Kind::Other => self.pass_in(head, body, session).await,
        }
    }

    /// A failed build, as the error of one call. Pages of other origins are not told about sources.
    fn broken(
        &self,
        headers: &HeaderMap,
        id: &Id,
        message: &Message<'_>,
        params: &Value,
        modern: bool,
    ) -> Option<String> {
        let is_call = message.method() == "tools/call" && params.get("task").is_none();
        if !is_call || headers.contains_key(http::header::ORIGIN) && !is_local(headers) {
            return None;
        }
        let failure = lock(&self.failure).take()?;
        Some(broken_build(id, &failure, self.current.borrow().is_some(), modern))
    }

    /// Sends a request to a version, and passes its answer on.
    async fn exchange(&self, mut exchange: Exchange, mut head: Parts, body: Bytes) -> Response<Outgoing> {
        let upstream = Arc::clone(&exchange.upstream);
        if let Some(session) = &exchange.session {
            match session.at(&upstream).await {
                Ok(id) => set(&mut head.headers, SESSION, &id),
                Err(reason) => return exchange.lost(&reason).await,
            }
        }
        let sent = tokio::select! {
            response = upstream.send(forward(&head, body.clone())) => response,
            reason = upstream.ended() => Err(reason),
        };
        if exchange.method == "initialize" && !exchange.modern && exchange.session.is_none() {
            let opened = sent.as_ref().ok().and_then(|response| response.headers().get(SESSION));
            if let Some(id) = opened.and_then(|id| id.to_str().ok()) {
                let session = HttpSession::new(id.to_owned(), upstream.generation, head.uri, &head.headers, body);
                let session = Arc::new(session);
                self.sessions.insert(Arc::clone(&session));
                exchange.session = Some(session);
            }
        }
        exchange.relay(sent).await
    }

    /// The client answers the version that asked, with the id it asked with.
    async fn answer_of_client(
        &self,
        head: Parts,
        body: Bytes,
        session: Option<Arc<HttpSession>>,
        id: &Id,
        message: &Message<'_>,
    ) -> Response<Outgoing> {
        let number = id.json().parse::<u64>().ok();
        let asked = session.as_ref().zip(number).and_then(|(session, number)| session.state().asks.remove(&number));
        match asked {
            Some((upstream, id)) => self.pass_to(upstream, head, message.with_id(id.json()).into(), session).await,
            // Questions in a session were numbered here, and no version waits for this answer.
            None if session.is_some() => body::json(StatusCode::ACCEPTED, String::new()),
            None => self.pass_in(head, body, session).await,
        }
    }

    async fn notification(
        &self,
        head: Parts,
        body: Bytes,
        session: Option<Arc<HttpSession>>,
        message: &Message<'_>,
    ) -> Response<Outgoing> {
        if let Some(session) = &session {
            if message.method() == "notifications/initialized" {
                session.state().initialized = true;
            }
            if message.method() == "notifications/cancelled" {
                let id = message.params().get("requestId").map(Id::of);
                let upstream = id.and_then(|id| session.state().calls.get(&id).cloned());
                return match upstream {
                    Some(upstream) => self.pass_to(upstream, head, body, Some(Arc::clone(session))).await,
                    // It is answered, or was never asked: no version has to know.
                    None => body::json(StatusCode::ACCEPTED, String::new()),
                };
            }
        }
        self.pass_in(head, body, session).await
    }

    /// Passes a message that nobody waits for to the version that serves.
    async fn pass_in(&self, head: Parts, body: Bytes, session: Option<Arc<HttpSession>>) -> Response<Outgoing> {
        match self.upstream().await {
            Ok(upstream) => self.pass_to(upstream, head, body, session).await,
            Err(_) => body::json(StatusCode::SERVICE_UNAVAILABLE, String::new()),
        }
    }

    async fn pass(&self, head: Parts, body: Bytes) -> Response<Outgoing> {
        self.pass_in(head, body, None).await
    }

    async fn pass_to(
        &self,
        upstream: Arc<Upstream>,
        head: Parts,
        body: Bytes,
        session: Option<Arc<HttpSession>>,
    ) -> Response<Outgoing> {
        let in_flight = upstream.begin();
        let (id, method, params) = (None, String::new(), Value::Null);
        let exchange = Exchange { upstream, session, id, method, modern: false, params, _in_flight: in_flight };
        self.exchange(exchange, head, body).await
    }

    /// The stream of a session, or a stream resumed at a version that was replaced.
    async fn get(self: &Arc<Self>, mut head: Parts, session: Arc<HttpSession>) -> Response<Outgoing> {
        let Ok(upstream) = self.upstream().await else {
            return body::json(StatusCode::SERVICE_UNAVAILABLE, String::new());
        };
        if let Some((generation, event)) = resumed_at(&head)
            && generation != upstream.generation
            && let Some(old) = self.alive(generation)
        {
            resume(&mut head, &event);
            return self.pass_to(old, head, Bytes::new(), Some(session)).await;
        }
        let source = Source::Session(session);
        Held { proxy: Arc::clone(self), head, body: Bytes::new(), source }.serve(upstream).await
    }

    /// Ends a session at every version.
    async fn delete(&self, head: Parts, session: &Arc<HttpSession>) -> Response<Outgoing> {
        self.sessions.remove(&session.id);
        let Ok(current) = self.upstream().await else {
            return body::json(StatusCode::SERVICE_UNAVAILABLE, String::new());
        };
        let old = self.others(current.generation);
        for upstream in old {
            if let Some(id) = session.known_at(upstream.generation) {
                let mut head = head.clone();
                set(&mut head.headers, SESSION, &id);
                upstream.send(forward(&head, Bytes::new())).await.ok();
            }
        }
        self.pass_to(current, head, Bytes::new(), Some(Arc::clone(session))).await
    }
}

fn forward(head: &Parts, body: Bytes) -> Request<Full<Bytes>> {
    let mut head = head.clone();
    head.headers = body::end_to_end(&head.headers);
    Request::from_parts(head, Full::new(body))
}

/// Whether a page was loaded from this machine.
fn is_local(headers: &HeaderMap) -> bool {
    let origin = headers.get(http::header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let authority = origin.and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    let host = authority.map(|authority| authority.rsplit_once(':').map_or(authority, |(host, _)| host));
    matches!(host, Some("localhost" | "127.0.0.1" | "[::1]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answer_nobody_waits_for_is_not_passed_on() {
        let session = HttpSession::new("s".to_owned(), 1, http::Uri::default(), &HeaderMap::new(), Bytes::new());
        let text = r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#;
        let message = Message::read(text).unwrap();
        let Kind::Response(id) = message.kind() else { panic!("{message:?}") };
        let (head, ()) = Request::new(()).into_parts();
        // No version serves, so a message that is passed on waits, and fails.
        let proxy = Proxy::default();
        let response = proxy.answer_of_client(head, text.into(), Some(Arc::new(session)), &id, &message).await;
        assert_eq!(response.status(), StatusCode::ACCEPTED);
    }

    #[tokio::test]
    async fn cancel_of_a_call_that_nobody_has_is_not_passed_on() {
        let session = HttpSession::new("s".to_owned(), 1, http::Uri::default(), &HeaderMap::new(), Bytes::new());
        let text = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        let message = Message::read(text).unwrap();
        let (head, ()) = Request::new(()).into_parts();
        // No version serves, so a message that is passed on waits, and fails.
        let proxy = Proxy::default();
        let response = proxy.notification(head, text.into(), Some(Arc::new(session)), &message).await;
        assert_eq!(response.status(), StatusCode::ACCEPTED);
    }
}
