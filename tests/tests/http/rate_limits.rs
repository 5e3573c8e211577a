//! Rate limits over HTTP: the status and its headers in every revision, and who is counted with whom. Called without a
//! listener, so that the clock can be paused.

use std::time::Duration;

use http::{Response, StatusCode};
use mcp_runtime::auth::{Auth, Rejection, User};
use mcp_runtime::http::{Body, HttpService};
use mcp_runtime::prelude::*;
use mcp_runtime::{RateLimit, Revision};
use mcp_tests::http::{Ask, Site, call, call_in, in_session, initialize, modern};
use serde_json::Value;

use crate::tower::{json_of, respond};

/// Look up a word.
#[tool(rate = "2/s")]
fn look_up() -> &'static str {
    "found"
}

/// Stay.
#[tool(max_concurrent = 1)]
async fn stay() {
    std::future::pending::<()>().await;
}

fn words(_: &str) -> Vec<String> {
    vec!["rain".to_owned()]
}

/// Explain a word.
#[prompt(rate = "1/h")]
fn explain(#[arg(complete = words)] word: String) -> String {
    word
}

/// Callers are named by a header, or not at all.
fn service() -> HttpService {
    named(server().into_service())
}

fn server() -> Server {
    Server::new("dictionary", "1.0.0").tools(tools![look_up, stay])
}

fn named(service: HttpService) -> HttpService {
    service.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()))
}

fn look() -> Ask {
    call("look_up", &json!({}))
}

async fn session(service: &mut HttpService, revision: Revision) -> String {
    let opened = respond(service, &initialize(revision.as_str())).await;
    opened.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

async fn is_refused(response: Response<Body>, seconds: &str) -> Value {
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS, "{response:?}");
    assert_eq!(response.headers()["retry-after"], seconds);
    assert_eq!(response.headers()["content-type"], "application/json");
    let answer = json_of(response).await;
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    answer
}

#[tokio::test(start_paused = true)]
async fn call_over_the_rate_is_429_until_the_time_it_names() {
    let mut service = service();
    for _ in 0..2 {
        assert_eq!(respond(&mut service, &look()).await.status(), StatusCode::OK);
    }
    for _ in 0..3 {
        let answer = is_refused(respond(&mut service, &look()).await, "1").await;
        assert_eq!(answer["id"], 1);
        assert_eq!(answer["error"]["data"], json!({"retryAfterMs": 500, "limit": 2, "remaining": 0}));
        let told = "Too many requests: this tool allows 2 per second. Wait 0.5 seconds, then try again.";
        assert_eq!(answer["error"]["message"], told);
    }
    tokio::time::advance(Duration::from_millis(499)).await;
    is_refused(respond(&mut service, &look()).await, "1").await;
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(respond(&mut service, &look()).await.status(), StatusCode::OK);
    is_refused(respond(&mut service, &look()).await, "1").await;
}

#[tokio::test(start_paused = true)]
async fn limit_of_all_callers_is_429_too() {
    let mut service = named(server().rate_limit(RateLimit::per_second(1).global()).into_service());
    let list = |user: &str| modern("tools/list", json!({})).with("X-User", user);
    assert_eq!(respond(&mut service, &list("ann")).await.status(), StatusCode::OK);
    for user in ["ann", "bob"] {
        let told = is_refused(respond(&mut service, &list(user)).await, "1").await;
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("1 per second for all callers together"), "{message}");
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(respond(&mut service, &list("bob")).await.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn session_gets_429_too() {
    for revision in Revision::ALL.iter().filter(|revision| **revision < Revision::LATEST) {
        let mut service = service();
        let session = session(&mut service, *revision).await;
        for id in 1..=2 {
            let response = respond(&mut service, &call_in(&session, id, "look_up", &json!({}))).await;
            assert_eq!(response.status(), StatusCode::OK, "{revision}");
        }
        let answer = is_refused(respond(&mut service, &call_in(&session, 3, "look_up", &json!({}))).await, "1").await;
        assert_eq!(answer["id"], 3, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn new_session_does_not_reset_the_limit() {
    let mut service = service();
    for number in 0..5 {
        let session = session(&mut service, Revision::ALL[2]).await;
        let response = respond(&mut service, &call_in(&session, 1, "look_up", &json!({}))).await;
        let expected = if number < 2 { StatusCode::OK } else { StatusCode::TOO_MANY_REQUESTS };
        assert_eq!(response.status(), expected, "session {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn batch_is_answered_with_the_errors_of_its_calls() {
    let mut service = service();
    let session = session(&mut service, "2025-03-26".parse().unwrap()).await;
    let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "look_up"}});
    let response = respond(&mut service, &in_session(&session, &json!([call(1), call(2), call(3)]))).await;
    assert_eq!(response.status(), StatusCode::OK);
    let answers = json_of(response).await;
    let codes: Vec<_> = answers.as_array().unwrap().iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [None, None, Some(-32000)]);
}

#[tokio::test(start_paused = true)]
async fn server_without_sessions_answers_429_in_every_revision() {
    let mut service = named(server().into_service().stateless());
    let old = Ask::post(
        json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "look_up"}}).to_string(),
    )
    .with("MCP-Protocol-Version", "2025-06-18");
    assert_eq!(respond(&mut service, &old).await.status(), StatusCode::OK);
    assert_eq!(respond(&mut service, &look()).await.status(), StatusCode::OK, "counted together");
    assert_eq!(is_refused(respond(&mut service, &old).await, "1").await["id"], 9);
    is_refused(respond(&mut service, &look()).await, "1").await;
}

#[tokio::test(start_paused = true)]
async fn users_do_not_affect_each_other() {
    let mut service = service();
    for user in ["ann", "bob"] {
        for status in [StatusCode::OK, StatusCode::OK, StatusCode::TOO_MANY_REQUESTS] {
            assert_eq!(respond(&mut service, &look().with("X-User", user)).await.status(), status, "{user}");
        }
    }
    assert_eq!(respond(&mut service, &look()).await.status(), StatusCode::OK, "nor those without a name");
}

#[tokio::test]
async fn anonymous_callers_are_told_apart_by_their_address() {
    let limited = server().rate_limit(RateLimit::per_hour(1));
    let site = Site::serving(limited.into_service().trust_proxies(["127.0.0.0/8"])).await;
    let from = |address: &str| modern("tools/list", json!({})).with("X-Forwarded-For", address);
    for address in ["192.0.2.1", "192.0.2.2", "2001:db8:1:1::1", "2001:db8:1:2::1"] {
        assert_eq!(site.ask(&from(address)).await.outcome(), (200, 0), "{address}");
        let refused = site.ask(&from(address)).await;
        assert_eq!(refused.outcome(), (429, -32000), "{address}");
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((3500..=3600).contains(&wait), "{refused:?}");
    }
    let neighbour = site.ask(&from("2001:db8:1:1:ffff::2")).await;
    assert_eq!(neighbour.outcome(), (429, -32000), "the owner of a network has all of its addresses");
}

/// A token is `USER-CLIENT`.
#[allow(clippy::unused_async, reason = "as one that asks elsewhere")]
async fn verify(token: String) -> Result<User, Rejection> {
    let (user, client) = token.split_once('-').ok_or_else(|| Rejection::invalid("the token is unknown"))?;
    Ok(User::new(user).with_issuer("https://auth.example.com").with_client_id(client))
}

fn by_token(server: Server) -> HttpService {
    let auth = Auth::verify_with(verify)
        .resource("https://mcp.example.com/mcp")
        .authorization_servers(["https://auth.example.com"]);
    server.into_service().authorize(auth)
}

#[tokio::test(start_paused = true)]
async fn user_of_two_clients_is_one_user() {
    let ask = |token: &str| modern("tools/list", json!({})).with("Authorization", format!("Bearer {token}"));
    let mut by_user = by_token(server().rate_limit(RateLimit::per_hour(1)));
    assert_eq!(respond(&mut by_user, &ask("ann-phone")).await.status(), StatusCode::OK);
    is_refused(respond(&mut by_user, &ask("ann-laptop")).await, "3600").await;
    assert_eq!(respond(&mut by_user, &ask("bob-phone")).await.status(), StatusCode::OK);

    let mut by_client = by_token(server().rate_limit(RateLimit::per_hour(1).per_client()));
    assert_eq!(respond(&mut by_client, &ask("ann-phone")).await.status(), StatusCode::OK);
    assert_eq!(respond(&mut by_client, &ask("ann-laptop")).await.status(), StatusCode::OK);
    let told = is_refused(respond(&mut by_client, &ask("bob-phone")).await, "3600").await;
    assert!(told["error"]["message"].as_str().unwrap().contains("1 per hour for each client"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn handler_without_a_free_place_is_503() {
    let service = service();
    let stay = call("stay", &json!({}));
    let waiting: Vec<_> = (0..17)
        .map(|_| {
            let (mut service, stay) = (service.clone(), stay.clone());
            tokio::spawn(async move { respond(&mut service, &stay).await })
        })
        .collect();
    // The paused clock goes on when all of them wait.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let refused = respond(&mut service.clone(), &stay).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(json_of(refused).await["error"]["data"], json!({"retryAfterMs": 1000}));
    assert!(waiting.iter().all(|call| !call.is_finished()));
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

/// Who types asks for completions with each key.
#[tokio::test(start_paused = true)]
async fn completions_count_for_the_server_and_not_for_their_prompt() {
    let complete = || {
        let argument = json!({"name": "word", "value": "r"});
        modern("completion/complete", json!({"ref": {"type": "ref/prompt", "name": "explain"}, "argument": argument}))
    };
    let get = || modern("prompts/get", json!({"name": "explain", "arguments": {"word": "rain"}}));
    let mut service = named(server().prompts(prompts![explain]).into_service());
    for _ in 0..5 {
        assert_eq!(respond(&mut service, &complete()).await.status(), StatusCode::OK);
    }
    assert_eq!(respond(&mut service, &get()).await.status(), StatusCode::OK);
    is_refused(respond(&mut service, &get()).await, "3600").await;
    assert_eq!(respond(&mut service, &complete()).await.status(), StatusCode::OK);
    let limited = server().prompts(prompts![explain]).rate_limit(RateLimit::per_second(1));
    let mut service = named(limited.into_service());
    assert_eq!(respond(&mut service, &complete()).await.status(), StatusCode::OK);
    is_refused(respond(&mut service, &complete()).await, "1").await;
}
