//! The programs of `docs/book/observability.md`: the log that it shows, spans, and exporters.

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_tests::http::modern;

use crate::child::{Address, Program};
use crate::programs::observability_2;

/// A line without what differs: the time before the level, and how long a call took.
fn steady(line: &str) -> String {
    let words = line.split_whitespace().skip_while(|word| *word != "INFO");
    words.filter(|word| !word.starts_with("micros=")).collect::<Vec<_>>().join(" ")
}

/// Each line of the page is one of the log.
pub(crate) async fn log() {
    let address = Address::free();
    let mut program = Program::start("observability_1", &[("127.0.0.1:8080", &address.to_text())]);
    let client = json!({"io.modelcontextprotocol/clientInfo": {"name": "inspector", "version": "1.2"}});
    let call = modern("tools/call", json!({"name": "add", "arguments": {"a": 2, "b": 3}, "_meta": client}));
    let answer = program.ask(address.socket, &call.with("X-Request-Id", "6f1c9a52")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let (_, log) = program.terminate().await;
    let logged: Vec<String> = log.replace(&address.to_text(), "127.0.0.1:8080").lines().map(steady).collect();
    let page = include_str!("../../../docs/book/observability.md");
    let shown: Vec<&str> =
        page.split("\n```text\n").skip(1).flat_map(|rest| rest.split("\n```").next().unwrap().lines()).collect();
    assert_eq!(shown.len(), 2);
    for line in shown {
        assert!(logged.contains(&steady(line)), "the page shows {line}\nand the log is {log}");
    }
}

/// In a process of its own, where all events and their spans are printed.
pub(crate) async fn spans() {
    let (succeeded, (_, log)) = Program::start("observability_2", &[]).ended().await;
    assert!(succeeded, "{log}");
    let line = log.lines().find(|line| line.ends_with(": adding")).unwrap_or_else(|| panic!("{log}"));
    for part in ["mcp.server{", "otel.name=tools/call add", r#"mcp.method.name="tools/call""#] {
        assert!(line.contains(part), "no {part}: {line}");
    }
}

/// A call in its span.
#[tokio::main]
pub(crate) async fn call_in_a_span() -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let client = TestClient::connect(observability_2::server()).await?;
    assert_eq!(client.call("add", json!({"a": 2, "b": 3})).await?.text(), "5");
    Ok(())
}

/// The last spans and metrics are printed when the server has ended.
pub(crate) async fn exporters() {
    let address = Address::free();
    let mut program = Program::start("observability_3", &[("127.0.0.1:8080", &address.to_text())]);
    program.adds(address.socket, "127.0.0.1").await;
    let (out, _) = program.terminate().await;
    for told in ["tools/call add", "mcp.server.operation.duration"] {
        assert!(out.contains(told), "{told}: {out}");
    }
}
