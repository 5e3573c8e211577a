//! Connecting: to a server in this process or in another, with the handshake of its era.
//!
//! A server in another process is asked `server/discover` first. What is no answer to that, an error or silence, comes
//! from a server of an older revision, which wants `initialize`.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/lifecycle>

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::builder::{Identity, Peer};
use super::pipe::{Input, Output};
use super::replies::Replies;
use super::{TestClient, TestClientBuilder};
use crate::error::{Result, ServerError};
use crate::jsonrpc::error::RpcError;
use crate::protocol::Revision;

/// How long a server may take to answer `server/discover` before it gets an `initialize` instead.
const PROBE: Duration = Duration::from_secs(5);
/// The longest line of a program that is no server, in an error.
#[cfg(feature = "cli")]
const SHOWN: usize = 80;

impl TestClient {
    /// A builder for a client of a server in another process: `output` is the standard output of that process,
    /// `input` its standard input. The client negotiates the revision, unless the builder sets one.
    ///
    /// ```no_run
    /// use std::process::{Command, Stdio};
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let mut server = Command::new("hello").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    /// let (output, input) = (server.stdout.take().unwrap(), server.stdin.take().unwrap());
    /// let client = TestClient::over(output, input).connect().await?;
    /// assert_eq!(client.call("add", json!({"a": 2, "b": 3})).await?.text(), "5");
    /// # Ok(())
    /// # }
    /// ```
    pub fn over(output: impl Read + Send + 'static, input: impl Write + Send + 'static) -> TestClientBuilder {
        TestClientBuilder::new(Peer::Streams { output: Box::new(output), input: Box::new(input) })
    }

    /// The server's description of itself: the result of `initialize` or of `server/discover`.
    pub async fn about(&self) -> Result<Value, ServerError> {
        match &self.initialized {
            Value::Null => self.request("server/discover", json!({})).await,
            initialized => Ok(initialized.clone()),
        }
    }

    /// The revision of the connection.
    pub fn revision(&self) -> Revision {
        self.identity.revision
    }

    async fn initialize(&mut self) -> Result<(), ServerError> {
        self.initialized = self.request("initialize", self.identity.initialize_params()).await?;
        let chosen = self.initialized["protocolVersion"].as_str().unwrap_or_default();
        self.identity.revision = chosen.parse().map_err(|error| ServerError::msg(format!("{error}")))?;
        self.notify("notifications/initialized", &json!({}))
    }

    /// Whether the server is of a revision without sessions.
    async fn is_stateless(&self, probe: Duration) -> bool {
        let asked = self.request("server/discover", json!({}));
        match tokio::time::timeout(probe, asked).await {
            Ok(Ok(about)) => about["supportedVersions"].is_array(),
            // Only revisions without sessions have these.
            Ok(Err(error)) => is_of_stateless_revision(&error),
            Err(_) => false,
        }
    }

    /// Agrees on a revision, with a handshake if it has one. `declared` are the capabilities that hold in all of them.
    pub(super) async fn negotiate(
        &mut self,
        negotiates: bool,
        declared: Map<String, Value>,
        probe: Duration,
    ) -> Result<(), ServerError> {
        let stateless = (self.identity.revision, self.identity.capabilities.clone());
        if negotiates && !self.is_stateless(probe).await {
            let identity = &mut self.identity;
            identity.revision = Revision::newest_with_sessions();
            identity.capabilities = declared;
            self.responder.replies.declare(identity.revision, &mut identity.capabilities);
        }
        if self.identity.revision.is_stateless() {
            return Ok(());
        }
        match self.initialize().await {
            // It was only slow to answer `server/discover`.
            Err(error) if negotiates && is_of_stateless_revision(&error) => {
                (self.identity.revision, self.identity.capabilities) = stateless;
                Ok(())
            }
            initialized => initialized,
        }
    }

    /// A server that does not answer: what it says instead tells what is wrong.
    #[cfg(feature = "cli")]
    fn unanswered(&self, limit: Duration) -> ServerError {
        let lines = self.inbox.unread();
        let first = lines.iter().map(|line| line.trim()).find(|line| !line.is_empty());
        let said = match first {
            Some(line) => format!("; it wrote this instead: {}", line.chars().take(SHOWN).collect::<String>()),
            None => String::new(),
        };
        ServerError::msg(format!(
            "the server did not answer within {} s; is it an MCP server, and does it speak over this transport? \
             `--timeout SECONDS` waits longer{said}",
            limit.as_secs_f64()
        ))
    }
}

/// Whether only a server of a revision without sessions answers with this error.
fn is_of_stateless_revision(error: &ServerError) -> bool {
    error.code().is_some_and(|code| RpcError::OF_STATELESS_REVISIONS.contains(&code))
}

impl TestClientBuilder {
    /// Connects, with a handshake if the revision has one.
    pub async fn connect(self) -> Result<TestClient, ServerError> {
        let (negotiates, declared) = (self.negotiates, self.identity.capabilities.clone());
        let mut client = self.open(connect);
        client.negotiate(negotiates, declared, PROBE).await?;
        Ok(client)
    }

    /// Like [`connect`](Self::connect), with an error that says what to check if it takes longer.
    #[cfg(feature = "cli")]
    pub(crate) async fn connect_within(self, limit: Duration) -> Result<TestClient, ServerError> {
        let (negotiates, declared) = (self.negotiates, self.identity.capabilities.clone());
        let mut client = self.open(connect);
        // Leaves time for `initialize`.
        let probe = PROBE.min(limit / 2);
        match tokio::time::timeout(limit, client.negotiate(negotiates, declared, probe)).await {
            Ok(connected) => connected.map(|()| client),
            Err(_) => Err(client.unanswered(limit)),
        }
    }
}

fn connect(peer: Peer, identity: Identity, replies: Arc<Replies>) -> TestClient {
    match peer {
        Peer::Server(server) => TestClient::serve(*server, identity, replies),
        Peer::Streams { output, input } => {
            let client = TestClient::wire(identity, replies, |to, from| copy(output, from, to, input));
            TestClient { is_remote: true, ..client }
        }
    }
}

/// Copies between the client and the other process, each direction on a thread of its own: reading blocks.
fn copy(
    mut output: Box<dyn Read + Send>,
    mut from_server: Output,
    to_server: Input,
    input: Box<dyn Write + Send>,
) -> JoinHandle<Result<(), ServerError>> {
    thread::spawn(move || {
        // The reader sees the end of a process that does not read any more.
        let _ = send(to_server, input);
    });
    let (done, ended) = oneshot::channel();
    thread::spawn(move || {
        let copied = io::copy(&mut output, &mut from_server).map(drop);
        drop(from_server);
        // The client may be gone.
        let _ = done.send(copied);
    });
    tokio::spawn(async move { Ok(ended.await.unwrap_or(Ok(()))?) })
}

/// Like `io::copy`, with each message sent when it is complete.
fn send(mut from: Input, mut to: Box<dyn Write + Send>) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..count])?;
        to.flush()?;
    }
}
