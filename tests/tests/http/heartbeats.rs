//! Heartbeats: progress that the server reports for a call that is silent, with the clock paused.

use std::time::Duration;

use mcp_runtime::http::{Body, HttpService};
use mcp_runtime::prelude::*;
use mcp_runtime::{Limits, Revision};
use mcp_tests::http::{Ask, call_in, initialize, modern};
use serde_json::Value;
use tokio::time::Instant;

use crate::tower::{json_of, next, respond};

/// Say nothing.
#[tool]
async fn silent(secs: u64) -> &'static str {
    tokio::time::sleep(Duration::from_secs(secs)).await;
    "done"
}

/// Say nothing, on a thread.
#[tool(heartbeat = "20s", timeout = "50s")]
async fn seldom() {
    std::future::pending::<()>().await;
}

/// Report every so often.
#[tool]
async fn reports(ctx: &Context, every: u64, times: u32) -> &'static str {
    for step in 1..=times {
        tokio::time::sleep(Duration::from_secs(every)).await;
        ctx.progress(step, times).await;
    }
    "done"
}

/// Read slowly.
#[resource("slow://{secs}")]
async fn slow(secs: u64) -> String {
    tokio::time::sleep(Duration::from_secs(secs)).await;
    "read".to_owned()
}

fn service(heartbeat: Option<Duration>) -> HttpService {
    let mut limits = Limits::default();
    limits.heartbeat = heartbeat;
    let server = Server::new("slow", "1.0.0").tools(tools![silent, seldom, reports]).resources(resources![slow]);
    let method = |_ctx: Context, secs: u64| async move {
        tokio::time::sleep(Duration::from_secs(secs)).await;
        Ok(secs)
    };
    server
        .method("slow.example/wait", move |ctx, params: Value| method(ctx, params["secs"].as_u64().unwrap_or(0)))
        .limits(limits)
        .into_service()
}

fn with_token(method: &str, mut params: Value) -> Ask {
    params["_meta"] = json!({"progressToken": "t"});
    modern(method, params)
}

fn call(name: &str, arguments: &Value) -> Ask {
    with_token("tools/call", json!({"name": name, "arguments": arguments}))
}

/// The messages of a stream, without comments, and when each came.
async fn messages(body: &mut Body) -> Vec<(u64, Value)> {
    let (begun, mut all) = (Instant::now(), Vec::new());
    while let Some(text) = next(body).await {
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
        all.extend(data.map(|data| (begun.elapsed().as_secs(), serde_json::from_str(data).unwrap())));
    }
    all
}

/// The progress that a call reported: when it came, how much it was, and whether the handler said so.
fn progress(messages: &[(u64, Value)]) -> Vec<(u64, f64, bool)> {
    let reports = messages.iter().filter(|(_, message)| message["method"] == "notifications/progress");
    let reports = reports.map(|(at, message)| {
        let params = &message["params"];
        let is_own = params.get("message").is_none();
        (*at, params["progress"].as_f64().unwrap(), is_own)
    });
    reports.collect()
}

#[track_caller]
fn increases(reports: &[(u64, f64, bool)]) {
    assert!(reports.windows(2).all(|pair| pair[0].1 < pair[1].1), "{reports:?}");
}

#[tokio::test(start_paused = true)]
async fn silent_call_reports_progress() {
    for ask in [
        call("silent", &json!({"secs": 50})),
        with_token("resources/read", json!({"uri": "slow://50"})),
        with_token("slow.example/wait", json!({"secs": 50})),
    ] {
        let mut body = respond(&mut service(Some(Duration::from_secs(15))), &ask).await.into_body();
        let all = messages(&mut body).await;
        let reports = progress(&all);
        // The first of them is what the response waited for.
        let times: Vec<_> = reports.iter().map(|(at, ..)| *at).collect();
        assert_eq!(times, [0, 15, 30], "{all:?}");
        increases(&reports);
        let first = &all[0].1["params"];
        assert_eq!((&first["progressToken"], &first["message"]), (&json!("t"), &json!("still running after 15 s")));
        let (at, answer) = all.last().unwrap();
        assert_eq!((*at, &answer["id"]), (35, &json!(1)), "the answer is last");
        assert!(answer.get("result").is_some(), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn session_gets_heartbeats_in_every_revision() {
    for revision in Revision::ALL.iter().filter(|revision| **revision < Revision::LATEST) {
        let mut service = service(Some(Duration::from_secs(15)));
        let opened = respond(&mut service, &initialize(revision.as_str())).await;
        let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let ask = call_in(&session, 7, "silent", &json!({"secs": 40}));
        let all = messages(&mut respond(&mut service, &ask).await.into_body()).await;
        let reports = all.iter().filter(|(_, message)| message["method"] == "notifications/progress").count();
        assert_eq!((reports, all.last().unwrap().1["id"].as_u64()), (2, Some(7)), "{revision}: {all:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn reports_of_the_handler_put_heartbeats_off() {
    let mut service = service(Some(Duration::from_secs(15)));
    let ask = call("reports", &json!({"every": 10, "times": 6}));
    let reports = progress(&messages(&mut respond(&mut service, &ask).await.into_body()).await);
    assert!(reports.len() == 6 && reports.iter().all(|(_, _, is_own)| *is_own), "{reports:?}");
    let ask = call("reports", &json!({"every": 40, "times": 3}));
    let reports = progress(&messages(&mut respond(&mut service, &ask).await.into_body()).await);
    increases(&reports);
    let own: Vec<_> = reports.iter().filter(|(_, _, is_own)| *is_own).map(|(_, done, _)| *done).collect();
    assert_eq!((own, reports.len()), (vec![1.0, 2.0, 3.0], 9), "two beats before each report: {reports:?}");
}

#[tokio::test(start_paused = true)]
async fn handler_has_a_time_of_its_own() {
    for server in [Some(Duration::from_secs(15)), None] {
        let all = messages(&mut respond(&mut service(server), &call("seldom", &json!({}))).await.into_body()).await;
        assert_eq!(progress(&all).len(), 2, "at 20 and 40 of 50 seconds: {all:?}");
        assert_eq!(all.last().unwrap().1["result"]["isError"], true, "it has timed out");
    }
}

#[tokio::test(start_paused = true)]
async fn call_without_need_of_a_heartbeat_is_answered_with_json() {
    let heartbeat = Some(Duration::from_secs(15));
    let quick = call("silent", &json!({"secs": 14}));
    let long = call("silent", &json!({"secs": 60}));
    let without_token = modern("tools/call", json!({"name": "silent", "arguments": {"secs": 60}}));
    for (heartbeat, ask) in [
        (heartbeat, quick),
        (heartbeat, without_token),
        (heartbeat, long.clone().but("Accept", "application/json")),
        (None, long),
    ] {
        let response = respond(&mut service(heartbeat), &ask).await;
        assert_eq!(response.headers()["content-type"], "application/json", "{ask:?}");
        assert_eq!(json_of(response).await["result"]["content"][0]["text"], "done");
    }
}
