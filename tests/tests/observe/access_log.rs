//! The access log: one line per request, which nothing from the wire can forge.

use mcp_runtime::observe::AccessLog;
use mcp_runtime::testing::TestClient;
use serde_json::json;

use crate::recorder::watched;
use crate::subscriber;

#[tokio::test]
async fn every_request_is_one_line_that_nobody_can_forge() {
    let log = subscriber::set();
    let (server, recorder, _) = watched();
    let name = "evil\n INFO mcp_runtime::access: request method=\"forged\"\u{1b}[2J\u{2028}";
    let client = TestClient::builder(server.observe(AccessLog)).name(name).connect().await.unwrap();
    client.call("add", json!({"a": 1, "b": 2})).await.unwrap();
    client.call("sleep", json!({"ms": 1})).await.unwrap();
    let _ = client.call("x\n INFO mcp_runtime::access: request method=\"forged\"", json!({})).await;
    let _ = client.read(&format!("weather://\n{}", "x".repeat(100_000))).await;
    let _ = client.request(&"long/".repeat(20_000), json!({})).await;
    assert_eq!(recorder.calls(5).await.len(), 5);
    let lines = log.access_log.all();
    assert!(lines.iter().all(|line| line.contains("mcp_runtime::access: request method=")), "{lines:#?}");
    assert!(lines.iter().all(|line| line.len() < 700 && !line.contains('\u{1b}')), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("method=\"forged\"")), "{lines:#?}");
    let own: Vec<_> = lines.iter().filter(|line| line.contains(r"client=evil\u{a}")).collect();
    // One was refused before it was read who sent it.
    assert_eq!(own.len(), 4, "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains(r#"method="_OTHER" outcome="refused" code=-32601"#)), "{lines:#?}");
    for part in ["method=\"tools/call\" target_name=add outcome=\"answered\" micros=", "revision=\"2026-07-28\""] {
        assert!(own[0].contains(part), "{part} in {}", own[0]);
    }
}

#[tokio::test]
async fn flood_of_refused_requests_is_a_few_lines() {
    let log = subscriber::set();
    let (server, recorder, _) = watched();
    let client = TestClient::connect(server.observe(AccessLog)).await.unwrap();
    let begun = std::time::Instant::now();
    for number in 0..500 {
        // A code that no other test is refused with.
        let line = format!(r#"{{"jsonrpc":"2.0","id":{number},"method":7}}"#);
        client.exchange(&line).await.unwrap();
    }
    assert_eq!(recorder.calls(500).await.len(), 500, "observers are told of all");
    let lines = log.access_log.all();
    let of_flood =
        lines.iter().filter(|line| line.contains(r#"method="_OTHER" outcome="refused" code=-32600"#)).count();
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!((1..=seconds + 1).contains(&of_flood), "{of_flood} in {seconds} s");
}
