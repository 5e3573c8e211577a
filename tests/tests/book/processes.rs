//! The programs of `docs/book/first-tool.md` and `observability.md`, and the layers of `middleware.md`.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_tests::process::Process;

use crate::child::{Address, Program, command};
use crate::programs::middleware_1;

pub(crate) fn over_stdio() {
    let mut server = Process::of(&mut command("first_tool_1", &[]));
    server.initialize("2025-11-25");
    server.call(1, "add", &json!({"a": 2, "b": 3}));
    assert_eq!(server.text(1), "5");
    server.finish();
}

/// The last spans and metrics are printed when the server has ended.
pub(crate) async fn exporters() {
    let address = Address::free();
    let mut program = Program::start("observability_1", &[("127.0.0.1:8080", &address.to_text())]);
    program.adds(address.socket, "127.0.0.1").await;
    let (out, _) = program.terminate().await;
    for told in ["tools/call add", "mcp.server.operation.duration"] {
        assert!(out.contains(told), "{told}: {out}");
    }
}

/// Answers in time, or not.
#[tool]
async fn answer(seconds: u64) -> String {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    "done".to_owned()
}

pub(crate) async fn layers_of_tower() {
    let server = middleware_1::limited(Server::new("limited", "1.0.0").tools(tools![answer]));
    let client = TestClient::connect(server).await.unwrap();
    assert_eq!(client.call("answer", json!({"seconds": 0})).await.unwrap().text(), "done");
    let late = client.call("answer", json!({"seconds": 60})).await.unwrap();
    assert!(late.is_error(), "{late:?}");
}
