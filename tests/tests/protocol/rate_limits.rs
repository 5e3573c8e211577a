//! Rate limits: of a handler, of a block, of the server; what is counted, and what a refused caller is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{RateLimit, Revision};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Default)]
struct Runs(AtomicUsize);

#[handlers]
impl Runs {
    /// Count the runs.
    #[tool(rate = "2/h")]
    fn twice(&self) -> usize {
        self.0.fetch_add(1, SeqCst) + 1
    }
}

/// Add.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Burst.
#[tool(rate = "1/min", burst = 3)]
fn burst() {}

/// Review.
#[prompt(rate = "1/h")]
fn review(#[arg(complete = languages)] language: String) -> String {
    language
}

async fn languages(start: &str) -> Vec<String> {
    ["rust", "ruby"].iter().filter(|name| name.starts_with(start)).map(|&name| name.to_owned()).collect()
}

/// A note.
#[resource("note://{id}", rate = "2/h")]
fn note(id: u64) -> String {
    id.to_string()
}

/// A number.
#[resource("number://{id}", rate = "1/h")]
fn number(id: u64) -> String {
    format!("number {id}")
}

/// A name.
#[resource("number://{+name}")]
fn name(name: String) -> String {
    format!("name {name}")
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Greet two.
#[tool(rate = "1/h")]
async fn greet(ctx: &Context) -> Result<String> {
    let Name { name: one } = ctx.elicit("Who is there?").await?;
    let Name { name: two } = ctx.elicit("And who else?").await?;
    Ok(format!("Hello, {one} and {two}!"))
}

/// Work, as a task.
#[tool(task = "required", rate = "2/h")]
async fn work() -> &'static str {
    tokio::task::yield_now().await;
    "done"
}

struct Clocks;

#[handlers(rate = "1/h")]
#[allow(clippy::unused_self, reason = "handlers of one value")]
impl Clocks {
    /// Tell the time.
    #[tool]
    fn time(&self) -> &'static str {
        "noon"
    }

    /// Tell the date.
    #[tool]
    fn date(&self) -> &'static str {
        "today"
    }

    /// Tell the era, more often.
    #[tool(rate = "10/h", burst = 2)]
    fn era(&self) -> &'static str {
        "this one"
    }
}

fn server() -> Server {
    counting(&Arc::default())
}

fn counting(runs: &Arc<Runs>) -> Server {
    Server::new("limited", "1.0.0")
        .mount(Arc::clone(runs))
        .tools(tools![add, burst])
        .prompts(prompts![review])
        .resources(resources![note])
}

async fn client(server: Server) -> TestClient {
    TestClient::connect(server).await.unwrap()
}

#[track_caller]
fn is_refused<T: std::fmt::Debug>(answer: Result<T, ServerError>) -> ServerError {
    let error = answer.unwrap_err();
    assert_eq!(error.code(), Some(-32000), "{error}");
    error
}

#[tokio::test]
async fn call_over_the_rate_does_not_run_and_says_when_to_come_back() {
    for revision in Revision::ALL {
        let runs = Arc::default();
        let client = TestClient::with_revision(counting(&runs), *revision).await.unwrap();
        for run in 1..=2 {
            assert_eq!(client.call("twice", json!({})).await.unwrap().text(), run.to_string());
        }
        let error = is_refused(client.call("twice", json!({})).await);
        let told = error.to_string();
        assert!(told.contains("this tool allows 2 per hour. Wait ") && told.contains(", then try again."), "{told}");
        let data = error.data().unwrap();
        assert_eq!((&data["limit"], &data["remaining"]), (&json!(2), &json!(0)));
        let wait = data["retryAfterMs"].as_u64().unwrap();
        assert!((1_700_000..=1_800_000).contains(&wait), "half an hour, less what has passed: {wait}");
        assert_eq!(runs.0.load(SeqCst), 2, "{revision}");
        assert_eq!(client.call("add", json!({"a": 1, "b": 2})).await.unwrap().text(), "3", "another tool");
    }
}

#[tokio::test]
async fn burst_may_be_more_than_the_rate() {
    let client = client(server()).await;
    for _ in 0..3 {
        client.call("burst", json!({})).await.unwrap();
    }
    let error = is_refused(client.call("burst", json!({})).await);
    assert_eq!(error.data().unwrap()["limit"], 3);
    assert!(error.to_string().contains("1 per minute"), "{error}");
}

#[tokio::test]
async fn prompts_and_resources_have_rates() {
    let client = client(server()).await;
    client.get_prompt("review", json!({"language": "rust"})).await.unwrap();
    let error = is_refused(client.get_prompt("review", json!({"language": "ruby"})).await);
    assert!(error.to_string().contains("this prompt allows 1 per hour"), "{error}");
    client.complete_prompt("review", "language", "ru", json!({})).await.unwrap();
    client.read("note://1").await.unwrap();
    client.read("note://2").await.unwrap();
    let error = is_refused(client.read("note://3").await);
    assert!(error.to_string().contains("this resource allows 2 per hour"), "a template is one handler: {error}");
}

#[tokio::test]
async fn rate_of_a_block_is_that_of_each_handler_without_its_own() {
    let client = client(Server::new("clocks", "1.0.0").mount(Clocks)).await;
    for tool in ["time", "date", "era", "era"] {
        client.call(tool, json!({})).await.unwrap();
    }
    for tool in ["time", "date", "era"] {
        is_refused(client.call(tool, json!({})).await);
    }
}

#[tokio::test]
async fn server_counts_lists_and_completions_but_not_the_lifecycle() {
    for revision in Revision::ALL {
        let server = server().rate_limit(RateLimit::per_hour(5));
        let client = TestClient::with_revision(server, *revision).await.unwrap();
        for _ in 0..3 {
            if *revision < Revision::LATEST {
                client.request("ping", json!({})).await.unwrap();
            } else {
                client.request("server/discover", json!({})).await.unwrap();
            }
        }
        client.list_tools().await.unwrap();
        client.complete_prompt("review", "language", "ru", json!({})).await.unwrap();
        client.call("add", json!({"a": 1, "b": 2})).await.unwrap();
        client.read("note://1").await.unwrap();
        client.get_prompt("review", json!({"language": "rust"})).await.unwrap();
        for _ in 0..2 {
            let error = is_refused(client.list_tools().await);
            assert!(error.to_string().contains("this server allows 5 per hour"), "{error}");
            is_refused(client.complete_prompt("review", "language", "ru", json!({})).await);
            is_refused(client.call("add", json!({"a": 1, "b": 2})).await);
        }
    }
}

#[tokio::test]
async fn all_limits_of_a_server_hold() {
    let server = server().rate_limit(RateLimit::per_hour(100)).rate_limit(RateLimit::per_hour(1).global());
    let client = client(server).await;
    client.list_tools().await.unwrap();
    let error = is_refused(client.list_tools().await);
    assert!(error.to_string().contains("1 per hour for all callers together"), "{error}");
}

#[tokio::test]
async fn subscriptions_count_for_the_server() {
    /// A page.
    #[resource("page://1", subscribe)]
    fn page() -> &'static str {
        "page"
    }
    let server = Server::new("pages", "1.0.0").resources(resources![page]).rate_limit(RateLimit::per_hour(4));
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await.unwrap();
    let page = json!({"uri": "page://1"});
    for _ in 0..2 {
        client.request("resources/subscribe", page.clone()).await.unwrap();
        client.request("resources/unsubscribe", page.clone()).await.unwrap();
    }
    is_refused(client.request("resources/subscribe", page.clone()).await);
    is_refused(client.request("resources/unsubscribe", page).await);
}

#[tokio::test]
async fn template_counts_and_refuses_only_what_it_serves() {
    let server = Server::new("numbers", "1.0.0").resources(resources![number, name]);
    let client = client(server).await;
    for _ in 0..3 {
        assert_eq!(client.read("number://ada").await.unwrap().text(), "name ada");
    }
    assert_eq!(client.read("number://1").await.unwrap().text(), "number 1", "none of them has counted");
    is_refused(client.read("number://2").await);
    assert_eq!(client.read("number://ada").await.unwrap().text(), "name ada", "nor is it refused");
}

#[tokio::test]
async fn call_that_its_handler_refuses_does_not_count_for_the_server() {
    let client = client(server().rate_limit(RateLimit::per_hour(4))).await;
    for _ in 0..2 {
        client.call("twice", json!({})).await.unwrap();
    }
    for _ in 0..5 {
        let error = is_refused(client.call("twice", json!({})).await);
        assert!(error.to_string().contains("this tool"), "{error}");
    }
    for _ in 0..2 {
        client.list_tools().await.unwrap();
    }
    is_refused(client.list_tools().await);
}

#[tokio::test]
async fn call_that_has_begun_may_ask() {
    for revision in Revision::ALL.iter().filter(|revision| **revision >= Revision::V2025_06_18) {
        let server = Server::new("asker", "1.0.0").tools(tools![greet]);
        let client = TestClient::builder(server).revision(*revision).on_elicit(|_| json!({"name": "Ada"}));
        let client = client.connect().await.unwrap();
        assert_eq!(client.call("greet", json!({})).await.unwrap().text(), "Hello, Ada and Ada!", "{revision}");
        let error = is_refused(client.call("greet", json!({})).await);
        let wait = error.data().unwrap()["retryAfterMs"].as_u64().unwrap();
        // Each round is a request.
        let requests = if *revision == Revision::LATEST { 3 } else { 1 };
        assert!(wait > (requests - 1) * 3_600_000 && wait <= requests * 3_600_000, "{revision}: {wait}");
    }
}

#[tokio::test]
async fn tasks_and_custom_methods_count() {
    let server = Server::new("worker", "1.0.0").tools(tools![work]);
    let server = server.method("worker.example/echo", async |_ctx, params: Value| Ok(params));
    let server = server.rate_limit(RateLimit::per_hour(100));
    let client = TestClient::builder(server).tasks().connect().await.unwrap();
    for _ in 0..2 {
        assert_eq!(client.call("work", json!({})).await.unwrap().text(), "done");
    }
    is_refused(client.call("work", json!({})).await);
    let mut echoes = 0;
    while client.request("worker.example/echo", json!({"a": 1})).await.is_ok() {
        echoes += 1;
    }
    assert!((50..97).contains(&echoes), "tasks were created and fetched: {echoes}");
    is_refused(client.request("worker.example/echo", json!({})).await);
}

#[tokio::test]
async fn each_call_of_a_batch_counts() {
    let client = TestClient::with_revision(server(), "2025-03-26".parse().unwrap()).await.unwrap();
    let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "twice"}});
    let batch = json!([call(101), call(102), call(103), call(104)]);
    let answers: Value = serde_json::from_str(&client.exchange(&batch.to_string()).await.unwrap()).unwrap();
    let codes: Vec<_> = answers.as_array().unwrap().iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [None, None, Some(-32000), Some(-32000)], "{answers}");
}

#[tokio::test]
async fn handler_of_run_time_has_limits() {
    let tool = Tool::builder("now").rate_limit(RateLimit::per_minute(1)).handler(async |_ctx, _args: Value| "noon");
    let client = client(Server::new("dynamic", "1.0.0").tools([tool])).await;
    client.call("now", json!({})).await.unwrap();
    is_refused(client.call("now", json!({})).await);
}

#[test]
#[should_panic(expected = "a rate limit of 0 refuses every request: allow at least 1")]
fn rate_of_zero_is_a_mistake() {
    let _ = server().rate_limit(RateLimit::per_second(0)).into_service();
}

#[test]
#[should_panic(expected = "a rate limit with a burst of 0 refuses every request: allow at least 1")]
fn burst_of_zero_is_a_mistake() {
    let tool = Tool::builder("now").rate_limit(RateLimit::per_minute(1).burst(0));
    let _ = Server::new("s", "1").tools([tool.handler(async |_ctx, _args: Value| "noon")]).into_service();
}

#[test]
#[should_panic(expected = "`max_concurrent` must be at least 1")]
fn no_place_to_run_is_a_mistake() {
    let tool = Tool::builder("now").max_concurrent(0).handler(async |_ctx, _args: Value| "noon");
    let _ = Server::new("s", "1").tools([tool]).into_service();
}
