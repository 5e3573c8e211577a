//! Heartbeats: progress that the server reports for a call that is silent, with the clock paused.

use std::time::Duration;

use mcp_runtime::http::{Body, HttpService};
use mcp_runtime::prelude::*;
use mcp_runtime::{Limits, Revision};
use mcp_tests::http::{Ask, call_in, in_session, initialize, modern};
use serde_json::Value;
use tokio::time::Instant;

use crate::resuming::again;
use crate::tower::{json_of, next, respond};

/// Say nothing.
#[tool]
async fn silent(secs: u64) -> &'static str {
    tokio::time::sleep(Duration::from_secs(secs)).await;
    "done"
}

/// Say nothing, seldom.
#[tool(heartbeat = "20s", timeout = "50s")]
async fn seldom() {
    std::future::pending::<()>().await;
}

/// Say nothing, on a thread.
#[tool(blocking, heartbeat = "20s", timeout = "50s")]
fn blocked() {
    // Of the real clock: the paused one is done with the call long before.
    std::thread::sleep(Duration::from_secs(60));
}

/// Report once more, and say nothing for a long time.
#[tool]
async fn trails_off(ctx: &Context) -> &'static str {
    ctx.progress(1, 3).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    ctx.progress_message(2, 3, "indexing").await;
    tokio::time::sleep(Duration::from_secs(2 * 60 * 60)).await;
    "done"
}

/// Begin late.
#[tool]
async fn begins_late(ctx: &Context) {
    tokio::time::sleep(Duration::from_secs(20)).await;
    ctx.progress_message(0, 100, "indexing").await;
}

/// Work, as a task.
#[tool(task = "required")]
async fn work() -> &'static str {
    tokio::time::sleep(Duration::from_secs(50)).await;
    "done"
}

/// Ask slowly.
#[prompt]
async fn slow_prompt(#[arg(complete = slowly)] secs: u64) -> String {
    tokio::time::sleep(Duration::from_secs(secs)).await;
    "asked".to_owned()
}

async fn slowly(_start: &str) -> Vec<String> {
    tokio::time::sleep(Duration::from_secs(50)).await;
    vec!["50".to_owned()]
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

/// Read at once, but nothing with a number.
#[resource("slow://{+known}")]
fn quick(known: bool) -> String {
    known.to_string()
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
    let server =
        Server::new("slow", "1.0.0").tools(tools![silent, seldom, reports, blocked, trails_off, begins_late, work]);
    let server = server.resources(resources![quick, slow]).prompts(prompts![slow_prompt]);
    let method = |_ctx: Context, secs: u64| async move {
        tokio::time::sleep(Duration::from_secs(secs)).await;
        Ok(secs)
    };
    server
        .method("slow.example/wait", move |ctx, params: Value| method(ctx, params["secs"].as_u64().unwrap_or(0)))
        .limits(limits)
        .into_service()
        .legacy_sse()
}

async fn session(service: &mut HttpService, revision: Revision) -> String {
    let opened = respond(service, &initialize(revision.as_str())).await;
    opened.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

fn request_in(session: &str, id: u64, method: &str, mut params: Value) -> Ask {
    params["_meta"] = json!({"progressToken": "t"});
    in_session(session, &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
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
        with_token("prompts/get", json!({"name": "slow_prompt", "arguments": {"secs": "50"}})),
        with_token(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "slow_prompt"}, "argument": {"name": "secs", "value": ""}}),
        ),
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
        let session = session(&mut service, *revision).await;
        let ask = call_in(&session, 7, "silent", &json!({"secs": 40}));
        let all = messages(&mut respond(&mut service, &ask).await.into_body()).await;
        let reports = all.iter().filter(|(_, message)| message["method"] == "notifications/progress").count();
        assert_eq!((reports, all.last().unwrap().1["id"].as_u64()), (2, Some(7)), "{revision}: {all:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn result_of_a_task_is_waited_for_with_heartbeats() {
    let mut service = service(Some(Duration::from_secs(15)));
    let session = session(&mut service, Revision::V2025_11_25).await;
    let ask = request_in(&session, 1, "tools/call", json!({"name": "work", "arguments": {}, "task": {}}));
    let created = json_of(respond(&mut service, &ask).await).await;
    let id = &created["result"]["task"]["taskId"];
    let ask = request_in(&session, 2, "tasks/result", json!({"taskId": id}));
    let all = messages(&mut respond(&mut service, &ask).await.into_body()).await;
    assert_eq!(progress(&all).len(), 3, "{all:?}");
    assert_eq!(all.last().unwrap().1["result"]["content"][0]["text"], "done");
}

#[tokio::test(start_paused = true)]
async fn stream_of_http_and_sse_has_heartbeats() {
    let mut service = service(Some(Duration::from_secs(15)));
    let mut body = respond(&mut service, &Ask::new("GET").at("/sse")).await.into_body();
    let first = next(&mut body).await.unwrap();
    let path = format!("/{}", first.trim().strip_prefix("event: endpoint\ndata: ").unwrap());
    let post = |message: Value| Ask::post(message.to_string()).at(&path);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}});
    let params = json!({"name": "silent", "arguments": {"secs": 40}, "_meta": {"progressToken": "t"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    for message in [hello, json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), call] {
        assert_eq!(respond(&mut service, &post(message)).await.status(), 202);
    }
    let mut beats = 0;
    loop {
        let text = next(&mut body).await.unwrap();
        beats += text.matches("notifications/progress").count();
        if text.contains("\"id\":2") {
            break;
        }
    }
    assert_eq!(beats, 2, "at 15 and 30 of 40 seconds");
}

/// Heartbeats that nobody reads would push the handler's reports out of the replay buffer.
#[tokio::test(start_paused = true)]
async fn heartbeats_without_a_reader_are_not_replayed() {
    let mut service = service(Some(Duration::from_secs(15)));
    let session = session(&mut service, Revision::V2025_11_25).await;
    let ask = request_in(&session, 7, "tools/call", json!({"name": "trails_off", "arguments": {}}));
    let mut body = respond(&mut service, &ask).await.into_body();
    let mut text = String::new();
    while !text.contains("notifications/progress") {
        text.push_str(&next(&mut body).await.unwrap());
    }
    let last = text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap().to_owned();
    drop(body);
    tokio::time::sleep(Duration::from_secs(3 * 60 * 60)).await;
    let response = respond(&mut service, &again(&session, &last)).await;
    assert_eq!(response.status(), 200, "nothing is missing");
    let all = messages(&mut response.into_body()).await;
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[0].1["params"]["message"], "indexing");
    assert_eq!(all[1].1["result"]["content"][0]["text"], "done");
}

#[tokio::test(start_paused = true)]
async fn first_report_of_a_handler_comes_after_a_heartbeat() {
    let ask = call("begins_late", &json!({}));
    let all = messages(&mut respond(&mut service(Some(Duration::from_secs(15))), &ask).await.into_body()).await;
    increases(&progress(&all));
    let told: Vec<_> = all.iter().filter_map(|(_, message)| message["params"]["message"].as_str()).collect();
    assert_eq!(told, ["still running after 15 s", "indexing"]);
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
        for tool in ["seldom", "blocked"] {
            let all = messages(&mut respond(&mut service(server), &call(tool, &json!({}))).await.into_body()).await;
            assert_eq!(progress(&all).len(), 2, "at 20 and 40 of 50 seconds: {tool}, {all:?}");
            assert_eq!(all.last().unwrap().1["result"]["isError"], true, "it has timed out");
        }
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
