//! Names from the wire are folded: however many a client invents, observers see few.

use std::collections::HashSet;

use mcp_runtime::testing::TestClient;
use mcp_tests::http::{Site, modern};
use serde_json::json;

use crate::recorder::watched;

#[tokio::test]
async fn ten_thousand_names_are_one() {
    let (server, recorder, _) = watched();
    let client = TestClient::connect(server).await.unwrap();
    for number in 0..10_000 {
        let line = match number % 2 {
            0 => format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"attack/{number}"}}"#),
            _ => {
                let meta = mcp_tests::http::meta();
                let params = json!({"name": format!("tool{number}"), "_meta": meta});
                format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{params}}}"#)
            }
        };
        client.exchange(&line).await.unwrap();
    }
    let rows = recorder.calls(10_000).await;
    let labels: HashSet<_> = rows.into_iter().map(|row| (row.method, row.target)).collect();
    let expected = [("_OTHER".to_owned(), None), ("tools/call".to_owned(), Some("_OTHER".to_owned()))];
    assert_eq!(labels, expected.into());
}

#[tokio::test]
async fn names_over_http_are_folded_too() {
    let (server, recorder, _) = watched();
    let site = Site::of(server).await;
    for number in 0..20 {
        site.ask(&modern(&format!("attack/{number}"), json!({}))).await;
        site.ask(&mcp_tests::http::call_in("nobody", 1, "add", &json!({}))).await;
    }
    let methods: HashSet<_> = recorder.calls(40).await.into_iter().map(|row| row.method).collect();
    assert_eq!(methods, ["_OTHER".to_owned(), "tools/call".to_owned()].into());
}

#[tokio::test]
async fn own_methods_keep_their_names_over_http() {
    let (server, recorder, _) = watched();
    let site = Site::of(server).await;
    assert_eq!(site.ask(&modern("example.com/own", json!({}))).await.status, 200);
    assert_eq!(recorder.call().await.method, "example.com/own");
}
