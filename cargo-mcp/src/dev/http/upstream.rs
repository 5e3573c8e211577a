//! [`Upstream`]: a version of the server that listens on a port of its own.

use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::super::catalog::{Catalog, List};
use super::super::message::{METHOD_NOT_FOUND, VERSION_KEY, request};
use super::super::process::{GRACE, describe, next_line};
use super::super::report::Report;
use super::body;

/// How long a server may take to say where it listens.
const START: Duration = Duration::from_secs(30);
/// How long a lost call waits for the status of the server.
const STATUS: Duration = Duration::from_secs(1);
/// How long the lists of a new version may take.
const LISTS: Duration = Duration::from_secs(5);
/// The pages read of a list to compare versions.
const PAGES: usize = 50;
const LISTENING: &str = "listening on http://";
const MODERN: &str = "2026-07-28";

/// A version of the server.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) generation: u64,
    address: String,
    pub(super) path: String,
    /// How its lists differ from those of the version before.
    pub(super) changed: OnceLock<Vec<List>>,
    pub(super) catalog: Catalog,
    /// Requests without an answer.
    in_flight: watch::Sender<usize>,
    /// Why it answers no more.
    ended: watch::Sender<Option<String>>,
    /// How its process exited.
    status: OnceLock<String>,
    stop: watch::Sender<bool>,
}

/// A request that an upstream has to answer.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Upstream>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.send_modify(|count| *count -= 1);
    }
}

/// A version that exited.
#[derive(Debug)]
pub(super) struct Exited {
    pub(super) generation: u64,
    pub(super) status: String,
}

impl Upstream {
    /// Starts a server, and waits until it says where it listens.
    pub(super) async fn start(
        mut command: Command,
        generation: u64,
        exits: mpsc::Sender<Exited>,
    ) -> Result<Arc<Self>, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
        let (found, address) = oneshot::channel();
        tokio::spawn(show(child.stdout.take(), None));
        tokio::spawn(show(child.stderr.take(), Some(found)));
        let url = tokio::select! {
            url = timeout(START, address) => url,
            status = child.wait() => return Err(format!("exited ({}) before it listened", describe(status))),
        };
        let Ok(Ok(url)) = url else {
            child.kill().await.ok();
            return Err(format!(
                "did not print `{LISTENING}ADDRESS` on standard error within {} s; give the arguments that make it \
                 listen with `--http-args`",
                START.as_secs()
            ));
        };
        let (address, path) = url.split_at(url.find('/').unwrap_or(url.len()));
        let catalog = timeout(LISTS, read_lists(address, path)).await.unwrap_or_default();
        let upstream = Arc::new(Upstream::at(generation, address, path, catalog));
        tokio::spawn(supervise(child, Arc::clone(&upstream), exits));
        Ok(upstream)
    }

    fn at(generation: u64, address: &str, path: &str, catalog: Catalog) -> Self {
        Upstream {
            generation,
            address: address.to_owned(),
            path: path.to_owned(),
            changed: OnceLock::new(),
            catalog,
            in_flight: watch::Sender::new(0),
            ended: watch::Sender::new(None),
            status: OnceLock::new(),
            stop: watch::Sender::new(false),
        }
    }

    /// A version without a process.
    #[cfg(test)]
    pub(super) fn fake(generation: u64, status: Option<&str>) -> Arc<Self> {
        let upstream = Upstream::at(generation, "127.0.0.1:0", "/mcp", Catalog::default());
        if let Some(status) = status {
            upstream.exited_with(status);
        }
        Arc::new(upstream)
    }

    fn exited_with(&self, status: &str) {
        self.status.set(status.to_owned()).ok();
        self.end(&format!("the server exited ({status}) before it answered; it is started again"));
    }

    /// How its process exited, if it has.
    pub(super) fn status(&self) -> Option<&str> {
        self.status.get().map(String::as_str)
    }

    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        send(&self.address, request).await
    }

    /// Counts a request until its answer is complete.
    pub(super) fn begin(self: &Arc<Self>) -> InFlight {
        self.in_flight.send_modify(|count| *count += 1);
        InFlight(Arc::clone(self))
    }

    /// Completes when no request is in flight.
    pub(super) async fn idle(&self) {
        self.in_flight.subscribe().wait_for(|count| *count == 0).await.ok();
    }

    /// Ends the process; its calls end for this reason.
    pub(super) fn stop(&self, reason: &str) {
        self.end(reason);
        self.stop.send_replace(true);
    }

    fn end(&self, reason: &str) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            if first {
                *ended = Some(reason.to_owned());
            }
            first
        });
    }

    /// Completes when the server is to answer no more.
    pub(super) async fn ended(&self) -> String {
        let mut ended = self.ended.subscribe();
        let reason = ended.wait_for(Option::is_some).await;
        reason.ok().and_then(|reason| reason.clone()).unwrap_or_default()
    }

    /// Whether it is about to exit: a server ends its streams first.
    pub(super) async fn is_ending(&self) -> bool {
        timeout(STATUS, self.ended()).await.is_ok()
    }

    /// Why a call was lost.
    pub(super) async fn reason(&self, error: &str) -> String {
        timeout(STATUS, self.ended())
            .await
            .unwrap_or_else(|_| format!("the connection to the server was lost: {error}"))
    }
}

/// What a client without credentials is listed; what is not is unknown.
async fn read_lists(address: &str, path: &str) -> Catalog {
    let mut catalog = Catalog::default();
    for list in List::ALL {
        let mut cursor = None;
        for _ in 0..PAGES {
            let Some(answer) = read_page(address, path, list, cursor.take()).await else { break };
            if answer.get("error").is_some_and(|error| error["code"] != METHOD_NOT_FOUND) {
                break;
            }
            catalog.add(list, &answer["result"]);
            cursor = answer["result"].get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
            if cursor.is_none() {
                break;
            }
        }
    }
    catalog
}

async fn read_page(address: &str, path: &str, list: List, cursor: Option<Value>) -> Option<Value> {
    let mut params = json!({ "_meta": {
        VERSION_KEY: MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "cargo-mcp", "version": env!("CARGO_PKG_VERSION") },
    } });
    if let Some(cursor) = cursor {
        params["cursor"] = cursor;
    }
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("host", address)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", list.method())
        .body(Full::from(request("cargo-mcp-dev", list.method(), &params)))
        .ok()?;
    let response = send(address, request).await.ok()?;
    serde_json::from_slice(&body::read(response.into_body()).await.ok()?).ok()
}

/// Sends a request on a connection of its own.
async fn send(address: &str, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).ok();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(|error| error.to_string())
}

/// Waits for the process to exit, or ends it.
async fn supervise(mut child: Child, upstream: Arc<Upstream>, exits: mpsc::Sender<Exited>) {
    let mut stop = upstream.stop.subscribe();
    let stopped = async { drop(stop.wait_for(|stop| *stop).await) };
    let exited = tokio::select! {
        status = child.wait() => Some(status),
        () = stopped => None,
    };
    let status = match exited {
        Some(status) => status,
        None => {
            terminate(&child);
            if timeout(GRACE, child.wait()).await.is_err() {
                child.start_kill().ok();
            }
            child.wait().await
        }
    };
    let status = describe(status);
    upstream.exited_with(&status);
    exits.send(Exited { generation: upstream.generation, status }).await.ok();
}

/// A server that listens does not notice that its input is closed.
#[cfg(unix)]
fn terminate(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(id) = id {
        kill_process(id, Signal::TERM).ok();
    }
}

#[cfg(not(unix))]
fn terminate(_child: &Child) {}

/// Copies what a server prints to standard error, except where it listens.
async fn show(output: Option<impl AsyncRead + Unpin>, mut found: Option<oneshot::Sender<String>>) {
    let Some(output) = output else { return };
    let mut output = BufReader::new(output);
    while let Ok(Some(line)) = next_line(&mut output).await {
        let url = line.split_once(LISTENING).map(|(_, url)| url.split_whitespace().next().unwrap_or_default());
        match (url, found.take()) {
            (Some(url), Some(sender)) => drop(sender.send(url.to_owned())),
            (_, unused) => {
                found = unused;
                Report::verbatim(&line);
            }
        }
    }
}
