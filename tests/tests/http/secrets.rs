//! What a log may not have: ids of sessions and tasks, tokens, arguments. They are credentials, or the user's.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use mcp_runtime::prelude::*;
use mcp_runtime::store::{Change, TaskRecord};
use mcp_runtime::{Revision, Server};
use mcp_tests::http::{Site, call_in, initialize, modern, soon};
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// Show the context, as `#[tracing::instrument]` would.
#[tool]
async fn show(ctx: &Context, secret: String) -> String {
    let _ = (ctx.elicit_url("Sign in.", "https://example.com/").await, secret);
    format!("{ctx:?}")
}

/// Show the context before asking anything.
#[tool]
fn show_plain(ctx: &Context, secret: Option<String>) -> String {
    let _ = secret;
    format!("{ctx:?}")
}

/// Work as a task.
#[tool(task)]
async fn work(secret: String) -> Result<()> {
    tokio::task::yield_now().await;
    Err(Error::msg(format!("{} letters are too many", secret.len())))
}

/// Panic.
#[tool]
fn panic(secret: String) {
    std::panic::resume_unwind(Box::new(secret));
}

fn server() -> Server {
    Server::new("secretive", "1.0.0").disable_signals().tools(tools![show, show_plain, work, panic])
}

#[tokio::test]
async fn debug_of_the_service_has_counts_only() {
    let service = server().into_service().legacy_sse();
    let site = Site::serving(service.clone()).await;
    let sessions = [site.session(Revision::V2025_11_25).await, site.session(Revision::V2025_06_18).await];
    let mut stream = site.open().await;
    stream.send(b"GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await;
    assert_eq!(stream.head().await.status, 200);
    let address = String::from_utf8(soon(stream.chunk()).await.unwrap()).unwrap();
    let (_, sse) = address.trim().split_once("sessionId=").unwrap();
    for shown in [format!("{service:?}"), format!("{service:#?}")] {
        assert!(sessions.iter().all(|id| !shown.contains(&**id)) && !shown.contains(sse), "{shown}");
        assert!(shown.len() < 300, "{shown}");
    }
    assert!(format!("{service:?}").contains("Sessions(2)"), "{service:?}");
}

#[tokio::test]
async fn debug_of_a_context_has_no_arguments_and_no_headers() {
    let site = Site::of(server()).await;
    let session = site.session(Revision::V2025_11_25).await;
    let arguments = json!({"secret": "swordfish"});
    for tool in ["show", "show_plain"] {
        let ask = call_in(&session, 7, tool, &arguments).with("Authorization", "Bearer letmein");
        let response = site.ask(&ask).await;
        assert!(response.text().contains("Context {"), "{}", response.text());
        for secret in ["swordfish", "letmein", &*session] {
            assert!(!response.text().contains(secret), "{}", response.text());
        }
    }
}

#[test]
fn debug_of_tasks_has_no_ids() {
    let task = TaskRecord::new("task-4711", Revision::V2026_07_28, std::time::Duration::from_secs(1));
    assert!(!format!("{task:?}").contains("4711"));
    assert_eq!(format!("{:?}", Change::Task("task-4711".into())), "Task(..)");
    assert_eq!(format!("{:?}", Change::SessionEnded("digest".into())), "SessionEnded(..)");
    assert_eq!(format!("{:?}", Change::SessionMessage("digest".into(), 7)), "SessionMessage(..)");
    assert_eq!(format!("{:?}", Change::ResourceUpdated("a://b".into())), "ResourceUpdated(\"a://b\")");
}

/// A log in memory: every field of every event and span.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{field}={value:?}");
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: LayerContext<'_, S>) {
        span.record(&mut self.clone());
    }

    fn on_event(&self, event: &Event<'_>, _: LayerContext<'_, S>) {
        event.record(&mut self.clone());
    }
}

/// Everything runs on this thread, so its subscriber sees every event.
#[tokio::test]
async fn log_has_no_ids_tokens_or_arguments() {
    let log = Log::default();
    let _default = tracing_subscriber::registry().with(log.clone()).set_default();
    let site = Site::of(server()).await;
    let session = site.session(Revision::V2025_11_25).await;
    let arguments = json!({"secret": "swordfish"});
    let misspelt = call_in(&session, 6, "show_plain", &json!({"sekret": "swordfish"}));
    assert_eq!(site.ask(&misspelt).await.status, 200);
    for tool in ["show", "show_plain", "work", "panic", "unknown"] {
        let ask = call_in(&session, 7, tool, &arguments).with("Authorization", "Bearer letmein");
        assert_eq!(site.ask(&ask).await.status, 200, "{tool}");
    }
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    let params = json!({"name": "work", "arguments": arguments, "_meta": meta});
    let task: Value = site.ask(&modern("tools/call", params)).await.json();
    let id = task["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned();
    for params in [json!({"taskId": id}), json!({"taskId": format!("{id}x")})] {
        let mut params = params;
        params["_meta"] = meta.clone();
        site.ask(&modern("tasks/get", params)).await;
    }
    site.ask(&initialize("swordfish")).await;
    let log = log.0.lock().unwrap().clone();
    for secret in ["swordfish", "letmein", &*session, &*id] {
        assert!(!log.contains(secret), "`{secret}` is in the log:\n{log}");
    }
    assert!(log.contains("unknown argument `sekret`"), "this log sees nothing: {log}");
}
