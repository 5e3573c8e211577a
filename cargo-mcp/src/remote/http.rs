//! A server at a URL: each message is a POST, whose response is a message or a stream of them.
//!
//! The wire is a pair of streams, as that of a process: what the client writes is sent line by line, each on a thread
//! of its own, and what arrives is read line by line. Sessions, their stream of notifications, its resumption, and the
//! older HTTP+SSE transport are dealt with here.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>

use std::collections::HashMap;
use std::io::{BufReader, ErrorKind, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use mcp_runtime::cli::{CliError, Target};
use mcp_runtime::testing::TestClient;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::Body;
use ureq::http::Response;

use super::failed::{Failed, is_cut};
use super::headers::{endpoint_url, header_arguments, header_value};
use super::lines::{Arrived, Messages};
use super::sse::Events;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may take to accept the last notifications, and the end of the session.
const CLOSE: Duration = Duration::from_secs(2);
/// A longer body is sent when the server says that it wants it: it may refuse the message by its headers.
const LONG_BODY: usize = 64 * 1024;
/// How long to wait before a stream is resumed, unless the server says.
const RETRY: Duration = Duration::from_millis(500);
/// How often a stream is resumed that brings nothing.
const RESUMPTIONS: usize = 10;
/// The longest response that is read.
const LONGEST: u64 = 256 * 1024 * 1024;

/// The connection to a URL.
#[derive(Debug, Clone)]
pub(super) struct HttpWire(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    agent: Agent,
    headers: Vec<(String, String)>,
    /// `None` once nothing can arrive any more.
    arrived: Mutex<Option<mpsc::Sender<String>>>,
    state: Mutex<State>,
    /// Disconnected when the client's notifications are sent.
    all_sent: Mutex<Option<mpsc::Receiver<()>>>,
}

#[derive(Debug)]
struct State {
    /// Where messages go: another URL with the HTTP+SSE transport.
    url: String,
    /// Whether responses come on the stream of the HTTP+SSE transport.
    is_legacy_sse: bool,
    session: Option<String>,
    revision: Option<String>,
    /// The arguments of tools that are repeated in headers, as `(JSON pointer, header)`.
    header_arguments: HashMap<String, Vec<(String, String)>>,
}

impl HttpWire {
    /// The server at a URL as a target of commands.
    pub(super) fn open(url: &str, headers: Vec<(String, String)>) -> Result<(Self, Target), CliError> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(CliError::usage(format!("`--url {url}`: write a URL such as http://127.0.0.1:8080/mcp")));
        }
        let config = Agent::config_builder().http_status_as_error(false).max_redirects(3);
        let agent = config.timeout_connect(Some(CONNECT)).build().new_agent();
        let (arrived, lines) = mpsc::channel();
        let state = State {
            url: url.to_owned(),
            is_legacy_sse: false,
            session: None,
            revision: None,
            header_arguments: HashMap::new(),
        };
        let wire = HttpWire(Arc::new(Shared {
            agent,
            headers,
            arrived: Mutex::new(Some(arrived)),
            state: Mutex::new(state),
            all_sent: Mutex::default(),
        }));
        let sender = wire.clone();
        let (input, all_sent) = Messages::new(move |line: &str| sender.send(line));
        *lock(&wire.0.all_sent) = Some(all_sent);
        Ok((wire, Target::new(TestClient::over(Arrived::new(lines), input))))
    }

    /// Ends the session of a client that is gone, after its last notifications: they may cancel something.
    pub(super) fn close(&self) {
        let all_sent = lock(&self.0.all_sent).take();
        if let Some(all_sent) = all_sent {
            // Nothing is ever received: it is disconnected, or the time is over.
            let _ = all_sent.recv_timeout(CLOSE);
        }
        let (url, session) = {
            let state = self.state();
            (state.url.clone(), state.session.clone())
        };
        if let Some(session) = session {
            let mut request = self.0.agent.delete(url).header("mcp-session-id", session);
            for (name, value) in self.common_headers() {
                request = request.header(name, value);
            }
            // A server need not support it.
            let _ = request.config().timeout_global(Some(CLOSE)).build().call();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    /// What every request carries.
    fn common_headers(&self) -> Vec<(String, String)> {
        let mut headers = self.0.headers.clone();
        if let Some(revision) = self.state().revision.clone() {
            headers.push(("mcp-protocol-version".to_owned(), revision));
        }
        headers
    }

    fn arrived(&self) -> MutexGuard<'_, Option<mpsc::Sender<String>>> {
        lock(&self.0.arrived)
    }

    fn deliver(&self, line: &str) {
        if let Some(arrived) = &*self.arrived() {
            // The client may be gone.
            let _ = arrived.send(format!("{}\n", line.replace(['\n', '\r'], " ")));
        }
    }

    /// Closes the client's end: what it waits for does not come.
    fn end(&self) {
        *self.arrived() = None;
    }

    /// Sends a message, and delivers what comes back.
    fn send(&self, line: &str) {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        // Without a handshake, from 2026-07-28 on, a request is cancelled by closing its connection, as the end of this
        // process does.
        if message["method"] == "notifications/cancelled" && self.state().revision.is_none() {
            return;
        }
        let sent = self.post(line, &message).and_then(|response| self.receive(response, &message));
        let sent = match sent {
            Err(first @ Failed { status: Some(400 | 404 | 405), .. }) if message["method"] == "initialize" => {
                match self.open_legacy_sse() {
                    Ok(()) => self.post(line, &message).and_then(|response| self.receive(response, &message)),
                    // The server's own words about the first attempt say more.
                    Err(_) => Err(first),
                }
            }
            sent => sent,
        };
        if let Err(Failed { text, .. }) = sent
            && let Some(id) = message.get("id")
        {
            let error = json!({"code": -32000, "message": text});
            self.deliver(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
    }

    fn post(&self, line: &str, message: &Value) -> Result<Response<Body>, Failed> {
        let url = self.state().url.clone();
        let expects = line.len() > LONG_BODY;
        let posted = match self.post_once(line, message, expects) {
            // The server may have refused the message, and closed the connection, before it read the body: then its
            // answer is lost. It is not if the server is asked first. A call is repeated only if it was not sent.
            Err(ureq::Error::Io(error))
                if is_cut(error.kind())
                    && (error.kind() == ErrorKind::BrokenPipe || message["method"] != "tools/call") =>
            {
                self.post_once(line, message, true)
            }
            posted => posted,
        };
        posted.map_err(|error| Failed::unreachable(&url, &error))
    }

    /// With `expects`, the server is asked whether it wants the body.
    /// <https://www.rfc-editor.org/rfc/rfc9110#name-expect>
    fn post_once(&self, line: &str, message: &Value, expects: bool) -> Result<Response<Body>, ureq::Error> {
        let (url, session) = {
            let state = self.state();
            (state.url.clone(), state.session.clone())
        };
        let mut request = self
            .0
            .agent
            .post(&url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        let modern = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        if let Some(revision) = modern {
            request = request.header("mcp-protocol-version", revision);
            for (name, value) in self.modern_headers(message) {
                request = request.header(name, value);
            }
            for (name, value) in &self.0.headers {
                request = request.header(name, value);
            }
        } else {
            for (name, value) in self.common_headers() {
                request = request.header(name, value);
            }
            if let Some(session) = session {
                request = request.header("mcp-session-id", session);
            }
        }
        if expects {
            request = request.header("expect", "100-continue");
        }
        request.send(line)
    }

    /// The headers that repeat parts of the message, from 2026-07-28 on.
    fn modern_headers(&self, message: &Value) -> Vec<(String, String)> {
        let params = &message["params"];
        let method = message["method"].as_str().unwrap_or_default();
        let mut headers = vec![("mcp-method".to_owned(), method.to_owned())];
        let name = ["name", "uri", "taskId"].into_iter().find_map(|key| params[key].as_str());
        headers.extend(name.map(|name| ("mcp-name".to_owned(), header_value(name))));
        if method == "tools/call" {
            let state = self.state();
            let repeated = state.header_arguments.get(params["name"].as_str().unwrap_or_default());
            for (argument, header) in repeated.into_iter().flatten() {
                let value = match params["arguments"].pointer(argument) {
                    None | Some(Value::Null) => continue,
                    Some(Value::String(text)) => header_value(text),
                    Some(other) => other.to_string(),
                };
                headers.push((format!("mcp-param-{header}"), value));
            }
        }
        headers
    }

    /// Delivers the response to a message: one message, a stream of them, or none.
    fn receive(&self, mut response: Response<Body>, message: &Value) -> Result<(), Failed> {
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let kind = header("content-type").unwrap_or_default();
        if let Some(session) = header("mcp-session-id") {
            self.state().session = Some(session);
        }
        if kind.starts_with("text/event-stream") && status < 300 {
            return self.stream(response.into_body().into_reader(), message.get("id"));
        }
        let body = response.body_mut().with_config().limit(LONGEST).read_to_string();
        let body = body.map_err(|error| Failed::new(format!("the response cannot be read: {error}")))?;
        // Nothing to wait for; with the HTTP+SSE transport, the answer comes on its stream.
        let is_accepted = status == 202 || (status < 300 && (body.trim().is_empty() || self.state().is_legacy_sse));
        if is_accepted {
            return Ok(());
        }
        match serde_json::from_str::<Value>(&body) {
            // Also an error: the protocol's own have a status of their own.
            Ok(answer) if answer.get("id") == message.get("id") && answer.get("jsonrpc").is_some() => {
                self.arrive(&body, &answer, message);
                Ok(())
            }
            _ => Err(Failed::refused(status, &body)),
        }
    }

    /// Delivers the messages of a stream. One that ends before the response to `waiting` is resumed: servers close
    /// streams to make clients poll.
    fn stream(&self, body: impl Read + 'static, waiting: Option<&Value>) -> Result<(), Failed> {
        let mut body: Box<dyn Read> = Box::new(body);
        let (mut last_id, mut retry, mut fruitless) = (None, RETRY, 0);
        loop {
            let mut events = Events::new(BufReader::new(body));
            let mut answered = waiting.is_none();
            fruitless += 1;
            while let Ok(Some(event)) = events.next() {
                fruitless = 0;
                let Ok(message) = serde_json::from_str::<Value>(&event.data) else { continue };
                let is_response = message.get("method").is_none();
                answered |= is_response && message.get("id") == waiting;
                self.arrive(&event.data, &message, &Value::Null);
            }
            if answered {
                return Ok(());
            }
            last_id = events.last_id.or(last_id);
            retry = events.retry.unwrap_or(retry);
            let Some(last) = last_id.as_deref().filter(|_| fruitless < RESUMPTIONS) else {
                return Err(Failed::new("the server closed the stream before it answered"));
            };
            thread::sleep(retry);
            body = Box::new(self.get(&[("last-event-id", last)])?.into_body().into_reader());
        }
    }

    /// Delivers a message, and notes what later requests need of it.
    fn arrive(&self, line: &str, message: &Value, request: &Value) {
        let result = &message["result"];
        if let Some(revision) = result["protocolVersion"].as_str() {
            self.state().revision = Some(revision.to_owned());
            self.listen();
        }
        if request["method"] == "tools/list" || result["tools"].is_array() {
            let tools = result["tools"].as_array().into_iter().flatten();
            let repeated = tools.filter_map(|tool| Some((tool["name"].as_str()?.to_owned(), header_arguments(tool))));
            self.state().header_arguments.extend(repeated);
        }
        self.deliver(line);
    }

    fn get(&self, extra: &[(&str, &str)]) -> Result<Response<Body>, Failed> {
        let (url, session) = {
            let state = self.state();
            (state.url.clone(), state.session.clone())
        };
        let mut request = self.0.agent.get(&url).header("accept", "text/event-stream");
        for (name, value) in self.common_headers() {
            request = request.header(name, value);
        }
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        for (name, value) in extra {
            request = request.header(*name, *value);
        }
        let response = request.call().map_err(|error| Failed::unreachable(&url, &error))?;
        match response.status().as_u16() {
            200..300 => Ok(response),
            status => Err(Failed::refused(status, "")),
        }
    }

    /// Opens the stream for what belongs to no request. A session's server need not have one.
    fn listen(&self) {
        let is_legacy_sse = self.state().is_legacy_sse;
        if is_legacy_sse || self.state().session.is_none() {
            return;
        }
        let wire = self.clone();
        thread::spawn(move || {
            if let Ok(response) = wire.get(&[]) {
                let _ = wire.stream(response.into_body().into_reader(), None);
            }
        });
    }

    /// Opens the stream of the HTTP+SSE transport, which names the URL for messages.
    /// <https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse>
    fn open_legacy_sse(&self) -> Result<(), Failed> {
        let response = self.get(&[])?;
        let mut events = Events::new(BufReader::new(response.into_body().into_reader()));
        let first = events.next().ok().flatten();
        let Some(endpoint) = first.filter(|event| event.name == "endpoint") else {
            return Err(Failed::new("the server knows neither transport over HTTP: is the URL complete?"));
        };
        {
            let mut state = self.state();
            // Headers go there, too: credentials are for the server that was named.
            state.url = endpoint_url(&state.url, &endpoint.data).ok_or_else(|| {
                Failed::new(format!("the server names an endpoint at another host, {}: it is not used", endpoint.data))
            })?;
            state.is_legacy_sse = true;
        }
        let wire = self.clone();
        thread::spawn(move || {
            while let Ok(Some(event)) = events.next() {
                if let Ok(message) = serde_json::from_str(&event.data) {
                    wire.arrive(&event.data, &message, &Value::Null);
                }
            }
            // Answers can come no other way.
            wire.end();
        });
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
