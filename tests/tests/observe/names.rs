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

#[tokio::test]
async fn notifications_are_told_by_names_that_are_few() {
    use mcp_runtime::Revision;
    use mcp_runtime::observe::Transport;
    use mcp_tests::http::{in_session, until};

    let (server, recorder, _) = watched();
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await.unwrap();
    for method in ["notifications/roots/list_changed", "example.com/told", "attack/1", "attack/2"] {
        client.send(&json!({"jsonrpc": "2.0", "method": method}).to_string()).unwrap();
    }
    let of =
        |methods: &[&str], transport| methods.iter().map(|name| ((*name).to_owned(), transport)).collect::<Vec<_>>();
    let all = ["notifications/initialized", "notifications/roots/list_changed", "example.com/told", "_OTHER", "_OTHER"];
    until(|| recorder.notifications() == of(&all, Transport::Stdio)).await;
    let (server, recorder, _) = watched();
    let site = Site::of(server).await;
    let session = site.session(Revision::V2025_11_25).await;
    let told = json!({"jsonrpc": "2.0", "method": "example.com/told"});
    assert_eq!(site.ask(&in_session(&session, &told)).await.status, 202);
    let in_session = of(&["notifications/initialized", "example.com/told"], Transport::HttpSession);
    until(|| recorder.notifications() == in_session).await;
    assert!(recorder.rows().iter().all(|row| row.method == "initialize"), "none of them is a request");
}

#[tokio::test]
async fn completions_are_for_a_prompt() {
    let (server, recorder, _) = watched();
    let client = TestClient::connect(server).await.unwrap();
    for (reference, target) in [
        (json!({"type": "ref/prompt", "name": "poem"}), "poem"),
        (json!({"type": "ref/prompt", "name": "invented"}), "_OTHER"),
        (json!({"type": "ref/resource", "uri": "memo://{id}"}), "memo://{id}"),
    ] {
        let params = json!({"ref": reference, "argument": {"name": "about", "value": "r"}});
        let _ = client.request("completion/complete", params).await;
        assert_eq!(recorder.rows().pop().unwrap().target.as_deref(), Some(target));
    }
}
