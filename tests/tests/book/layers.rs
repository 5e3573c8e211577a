//! The layers of `docs/book/middleware.md`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;

use crate::child::Program;
use crate::programs::{middleware_1, middleware_2, middleware_3};

/// In a process of its own: what is logged there goes to standard error.
pub(crate) async fn logging() {
    let (succeeded, (_, log)) = Program::start("middleware_1", &[]).ended().await;
    assert!(succeeded, "{log}");
    for part in [r#"handler="add""#, "took=", "failed=false"] {
        assert!(log.contains(part), "no {part}: {log}");
    }
}

/// A call through the layer that logs.
#[tokio::main]
pub(crate) async fn log_a_call() -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let client = TestClient::connect(middleware_1::server()).await?;
    assert_eq!(client.call("add", json!({"a": 2, "b": 3})).await?.text(), "5");
    Ok(())
}

static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Has a secret, from the second run on.
#[tool(read_only)]
fn settings() -> Result<&'static str> {
    if RUNS.fetch_add(1, Ordering::SeqCst) == 0 { Err(Error::msg("not yet")) } else { Ok("password=hunter2 port=80") }
}

/// Is far too long.
#[tool(read_only)]
fn everything() -> String {
    "x".repeat(200_000)
}

pub(crate) async fn built_in() {
    let server = Server::new("layered", "1.0.0").tools(tools![settings, everything]);
    let client = TestClient::connect(middleware_2::layered(server).unwrap()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(client.call("settings", json!({})).await.unwrap().text(), "[redacted] port=80");
    }
    assert_eq!(RUNS.load(Ordering::SeqCst), 2, "the first call is repeated, and the second is answered from the cache");
    let long = client.call("everything", json!({})).await.unwrap();
    assert!(long.text().len() < 101_000, "{}", long.text().len());
}

/// Answers in time, or not.
#[tool]
async fn answer(seconds: u64) -> String {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    "done".to_owned()
}

pub(crate) async fn of_tower() {
    let server = middleware_3::limited(Server::new("limited", "1.0.0").tools(tools![answer]));
    let client = TestClient::connect(server).await.unwrap();
    assert_eq!(client.call("answer", json!({"seconds": 0})).await.unwrap().text(), "done");
    let late = client.call("answer", json!({"seconds": 60})).await.unwrap();
    assert!(late.is_error(), "{late:?}");
}
