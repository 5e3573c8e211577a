//! [`HttpSession`]: what a session of 2025-03-26 to 2025-11-25 negotiated, and its ids at the versions of the server.
//!
//! The client's id of a session is the one the first version gave out, so nothing has to be made up.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use serde_json::{Value, json};

use super::super::message::{Id, Message, notification, request};
use super::body;
use super::upstream::Upstream;

pub(super) const SESSION: &str = "mcp-session-id";
pub(super) const VERSION: &str = "mcp-protocol-version";
/// Sessions; when there is one more, the one that was not used for longest is forgotten.
const SESSIONS: usize = 1_000;
/// Requests in flight, questions and subscriptions of a session.
pub(super) const ENTRIES: usize = 4_096;
/// The versions whose ids are kept: more than finish calls at the same time.
const VERSIONS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Arc<HttpSession>>>);

impl Sessions {
    pub(super) fn get(&self, headers: &HeaderMap) -> Option<Arc<HttpSession>> {
        let id = headers.get(SESSION)?.to_str().ok()?;
        let session = lock(&self.0).get(id).cloned()?;
        session.state().used = Some(Instant::now());
        Some(session)
    }

    pub(super) fn insert(&self, session: Arc<HttpSession>) {
        let mut sessions = lock(&self.0);
        if sessions.len() >= SESSIONS {
            let oldest = sessions.values().min_by_key(|session| session.state().used).map(|session| session.id.clone());
            oldest.and_then(|oldest| sessions.remove(&oldest));
        }
        sessions.insert(session.id.clone(), session);
    }

    pub(super) fn remove(&self, id: &str) {
        lock(&self.0).remove(id);
    }
}

/// A session of a client.
#[derive(Debug)]
pub(super) struct HttpSession {
    pub(super) id: String,
    uri: Uri,
    initialize: Bytes,
    headers: Mutex<HeaderMap>,
    state: Mutex<SessionState>,
    /// Held while the session is opened at a version.
    opening: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
pub(super) struct SessionState {
    pub(super) version: Option<String>,
    pub(super) initialized: bool,
    pub(super) level: Option<Value>,
    pub(super) subscriptions: BTreeSet<String>,
    /// Which version has a call.
    pub(super) calls: HashMap<Id, Arc<Upstream>>,
    /// Which version asked what, by the id the client sees.
    pub(super) asks: HashMap<u64, (Arc<Upstream>, Id)>,
    pub(super) counter: u64,
    ids: BTreeMap<u64, String>,
    used: Option<Instant>,
}

impl HttpSession {
    pub(super) fn new(id: String, generation: u64, uri: Uri, headers: &HeaderMap, initialize: Bytes) -> Self {
        let state = SessionState {
            ids: BTreeMap::from([(generation, id.clone())]),
            used: Some(Instant::now()),
            ..SessionState::default()
        };
        HttpSession {
            id,
            uri,
            initialize,
            headers: Mutex::new(body::end_to_end(headers)),
            state: Mutex::new(state),
            opening: tokio::sync::Mutex::new(()),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.state)
    }

    /// Credentials may be renewed during a session.
    pub(super) fn renew(&self, headers: &HeaderMap) {
        if let Some(credentials) = headers.get(http::header::AUTHORIZATION) {
            lock(&self.headers).insert(http::header::AUTHORIZATION, credentials.clone());
        }
    }

    /// The id of the session at a version, which is opened there if it is not.
    pub(super) async fn at(&self, upstream: &Upstream) -> Result<String, String> {
        let _opening = self.opening.lock().await;
        if let Some(id) = self.known_at(upstream.generation) {
            return Ok(id);
        }
        let response = upstream.send(self.request(None, self.initialize.clone())).await?;
        let id = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let answer = body::read(response.into_body()).await?;
        let Some(id) = id else {
            let text = String::from_utf8_lossy(&answer);
            let reason =
                Message::read(&text).map_or_else(|| "no session".to_owned(), |message| message.error_message());
            return Err(format!("the new version refused `initialize`: {reason}"));
        };
        let replay = {
            let mut state = self.state();
            state.ids.insert(upstream.generation, id.clone());
            if state.ids.len() > VERSIONS {
                state.ids.pop_first();
            }
            replayed(&state)
        };
        for message in replay {
            let response = upstream.send(self.request(Some(&id), message.into())).await?;
            body::read(response.into_body()).await?;
        }
        Ok(id)
    }

    pub(super) fn known_at(&self, generation: u64) -> Option<String> {
        self.state().ids.get(&generation).cloned()
    }

    /// A request of the supervisor, as the client would send it.
    fn request(&self, id: Option<&str>, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        request.headers_mut().clone_from(&lock(&self.headers));
        if let Some(id) = id {
            let version = self.state().version.clone();
            set(request.headers_mut(), SESSION, id);
            if let Some(version) = version {
                set(request.headers_mut(), VERSION, &version);
            }
        }
        request
    }
}

/// What the client said after `initialize` that still holds.
fn replayed(state: &SessionState) -> Vec<String> {
    let mut messages = Vec::new();
    if state.initialized {
        messages.push(notification("notifications/initialized", &Value::Null));
    }
    messages.extend(state.level.iter().map(|level| request("cargo-mcp-dev-level", "logging/setLevel", level)));
    let subscribe = |uri: &String| request("cargo-mcp-dev-subscribe", "resources/subscribe", &json!({ "uri": uri }));
    messages.extend(state.subscriptions.iter().map(subscribe));
    messages
}

pub(super) fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
