//! Health probes: whether the process answers, and whether it should get requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use tokio::sync::Mutex;

use crate::transport::http::refusals::Unlogged;
use crate::transport::http::response::body::Body;

/// How long the stores may take. Less than a second, after which most probes give up.
pub(super) const CHECK: Duration = Duration::from_millis(700);
/// How long a probe waits, for a check that another has begun, too.
const PATIENCE: Duration = Duration::from_millis(900);
/// How long the result of a check is told to others, so that probing costs the stores next to nothing.
const MEMORY: Duration = Duration::from_secs(1);

/// The paths of the probes, and what is known of the stores.
#[derive(Debug)]
pub(super) struct Health {
    pub(super) live: String,
    pub(super) ready: String,
    /// When the stores were asked, and whether they answered. One probe at a time asks.
    known: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl Health {
    pub(super) fn new(live: String, ready: String) -> Self {
        Health { live, ready, known: Arc::default() }
    }

    /// Whether the stores answer: asked now, or a moment ago.
    pub(super) async fn stores_answer(&self, ask: impl Future<Output = bool> + Send + 'static) -> bool {
        let answer = async {
            let mut known = Arc::clone(&self.known).lock_owned().await;
            if let Some((asked, answered)) = *known
                && asked.elapsed() < MEMORY
            {
                return answered;
            }
            // In a task, so that what was asked is known even if who asked has left.
            let check = tokio::spawn(async move {
                let answered = ask.await;
                *known = Some((Instant::now(), answered));
                answered
            });
            check.await.unwrap_or(false)
        };
        tokio::time::timeout(PATIENCE, answer).await.unwrap_or(false)
    }
}

/// The answer to a probe.
pub(super) fn told(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::full(text.as_bytes().to_vec()));
    *response.status_mut() = status;
    // A probe is answered, whatever the answer: a server that drains is asked every second.
    response.extensions_mut().insert(Unlogged);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
