//! An observer that keeps what it is told, and the server it watches.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::observe::{Asked, Finished, Notified, Observer, Outcome, SessionEnded, Transport};
use mcp_runtime::prelude::*;
use mcp_tests::http::server::TestServer;
use mcp_tests::http::until;

/// What was told of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) method: String,
    pub(crate) target: Option<String>,
    pub(crate) uri: Option<String>,
    pub(crate) revision: Option<String>,
    pub(crate) transport: Transport,
    pub(crate) outcome: Outcome,
    pub(crate) code: Option<i32>,
    pub(crate) status: Option<u16>,
    pub(crate) bytes_in: usize,
    pub(crate) bytes_out: usize,
    pub(crate) user: Option<String>,
    pub(crate) peer: Option<String>,
    pub(crate) http_request_id: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) client: Option<(String, String)>,
    pub(crate) error_type: Option<String>,
    pub(crate) is_server_error: bool,
    pub(crate) network: (&'static str, Option<&'static str>),
    pub(crate) duration: Duration,
}

/// The method that asked the client, what became of it, and the code of its error.
type AskedRow = (String, Outcome, Option<i64>);

#[derive(Debug, Default, Clone)]
pub(crate) struct Recorder {
    rows: Arc<Mutex<Vec<Row>>>,
    asked: Arc<Mutex<Vec<AskedRow>>>,
    sessions: Arc<Mutex<Vec<Transport>>>,
    notified: Arc<Mutex<Vec<(String, Transport)>>>,
}

impl Observer for Recorder {
    fn finished(&self, request: &Finished<'_>) {
        self.rows.lock().unwrap().push(Row {
            method: request.method.to_owned(),
            target: request.target.map(str::to_owned),
            uri: request.uri.map(str::to_owned),
            revision: request.revision.map(|revision| revision.to_string()),
            transport: request.transport,
            outcome: request.outcome,
            code: request.code,
            status: request.status,
            bytes_in: request.bytes_in,
            bytes_out: request.bytes_out,
            user: request.user.map(str::to_owned),
            peer: request.peer.map(|peer| peer.to_string()),
            http_request_id: request.http_request_id.map(str::to_owned),
            session: request.session.map(|session| session.to_string()),
            client: request.client().map(|client| (client.name.into_owned(), client.version.into_owned())),
            error_type: request.error_type().map(std::borrow::Cow::into_owned),
            is_server_error: request.is_server_error(),
            network: (request.network_transport(), request.http_version),
            duration: request.duration,
        });
    }

    fn asked(&self, request: &Asked<'_>) {
        self.asked.lock().unwrap().push((request.method.to_owned(), request.outcome, request.code));
    }

    fn notified(&self, notification: &Notified<'_>) {
        assert!(notification.bytes_in > 0);
        self.notified.lock().unwrap().push((notification.method.to_owned(), notification.transport));
    }

    fn session_ended(&self, session: &SessionEnded) {
        self.sessions.lock().unwrap().push(session.transport);
    }
}

impl Recorder {
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.rows.lock().unwrap().clone()
    }

    /// The rows of calls and of what could not be read, once there are so many.
    pub(crate) async fn calls(&self, count: usize) -> Vec<Row> {
        let calls =
            || self.rows().into_iter().filter(|row| row.method != "initialize" && row.method != "server/discover");
        until(|| calls().count() >= count).await;
        // One more would be one too many.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let calls: Vec<Row> = calls().collect();
        assert_eq!(calls.len(), count, "{calls:#?}");
        calls
    }

    /// The only call.
    pub(crate) async fn call(&self) -> Row {
        self.calls(1).await.remove(0)
    }

    pub(crate) fn asked_rows(&self) -> Vec<(String, Outcome, Option<i64>)> {
        self.asked.lock().unwrap().clone()
    }

    /// The notifications of clients.
    pub(crate) fn notifications(&self) -> Vec<(String, Transport)> {
        self.notified.lock().unwrap().clone()
    }

    pub(crate) fn ended(&self) -> Vec<Transport> {
        self.sessions.lock().unwrap().clone()
    }
}

/// Take long.
#[tool(task)]
async fn work() -> &'static str {
    tokio::time::sleep(Duration::from_millis(5)).await;
    "worked"
}

/// Take too long.
#[tool(timeout = "20ms")]
async fn late() {
    tokio::time::sleep(Duration::from_secs(10 * 60)).await;
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Guest {
    name: String,
}

/// Ask for a name.
#[tool]
async fn greet(ctx: &Context) -> Result<String> {
    let Guest { name } = ctx.elicit("Your name?").await?;
    Ok(format!("hello {name}"))
}

/// A note.
#[resource("memo://{id}")]
fn memo(id: u64) -> String {
    format!("note {id}")
}

fn subjects(_: &str) -> Vec<String> {
    vec!["rain".to_owned()]
}

/// A poem.
#[prompt]
fn poem(#[arg(complete = subjects)] about: String) -> String {
    format!("Write a poem about {about}.")
}

/// A server with an observer.
pub(crate) fn watched() -> (Server, Recorder, Arc<TestServer>) {
    let (recorder, state) = (Recorder::default(), Arc::default());
    let server = mcp_tests::http::server::server(&state)
        .tools(tools![work, late, greet])
        .resources(resources![memo])
        .prompts(prompts![poem])
        .method("example.com/own", |_ctx, (): ()| async { Ok(1) })
        .notification("example.com/told", |_ctx, (): ()| async { Ok(()) })
        .observe(recorder.clone());
    (server, recorder, state)
}
