//! The keys of `#[arg(…)]` that narrow a value: what a client sees of them.
#![allow(unused_variables, reason = "the arguments are only described")]

use std::collections::BTreeSet;

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};

const LIMIT: usize = 50;
const STEP: f64 = 0.25;
const SLUG: &str = "^[a-z0-9-]+$";
const ORDERS: [&str; 2] = ["asc", "desc"];

#[tool]
#[expect(clippy::too_many_arguments, reason = "one of each")]
fn narrow(
    /// From 1 to 5.
    #[arg(min = 1, max = 5)]
    stars: u8,
    #[arg(exclusive_min = -1.5, exclusive_max = 1_000)] ratio: f64,
    #[arg(min = 18_446_744_073_709_551_615, multiple_of = 5)] large: u64,
    #[arg(min = -9_000_000_000)] low: Option<i64>,
    #[arg(min_length = 1, max_length = 3)] code: String,
    #[arg(pattern = "^[A-Z]+$", default = "EUR")] currency: String,
    #[arg(format = "date-time")] at: Option<String>,
    #[arg(min_items = 1, max_items = 3, unique_items)] tags: Vec<String>,
    #[arg(unique_items = false)] words: Vec<String>,
    #[arg(one_of = ["a", "b"])] letter: String,
    #[arg(one_of = [-1, 0, 1])] sign: i8,
) -> usize {
    tags.len()
}

#[tool]
fn expressions(
    #[arg(max = LIMIT, min = LIMIT - 40)] limit: usize,
    #[arg(multiple_of = STEP)] hours: f64,
    #[arg(pattern = SLUG)] slug: String,
    #[arg(one_of = ORDERS)] order: String,
    #[arg(one_of = [SLUG, "other"])] what: String,
    #[arg(max_items = LIMIT)] ids: BTreeSet<u32>,
) -> usize {
    limit
}

fn property(tool: &Tool, name: &str) -> serde_json::Value {
    tool.descriptor().input_schema["properties"][name].clone()
}

#[test]
fn constraints_are_keywords_of_the_schema() {
    let [tool] = tools![narrow];
    let property = |name| property(&tool, name);
    assert_eq!(property("stars")["minimum"], 1);
    assert_eq!(property("stars")["maximum"], 5);
    assert_eq!(property("stars")["description"], "From 1 to 5.");
    assert_eq!(property("ratio")["exclusiveMinimum"], -1.5);
    assert_eq!(property("ratio")["exclusiveMaximum"], 1000);
    assert_eq!(property("large")["minimum"], u64::MAX);
    assert_eq!(property("large")["multipleOf"], 5);
    assert_eq!(property("low")["minimum"], -9_000_000_000_i64);
    assert_eq!(property("code")["minLength"], 1);
    assert_eq!(property("code")["maxLength"], 3);
    assert_eq!(property("currency")["pattern"], "^[A-Z]+$");
    assert_eq!(property("currency")["default"], "EUR");
    assert_eq!(property("at")["format"], "date-time");
    assert_eq!(property("tags")["minItems"], 1);
    assert_eq!(property("tags")["maxItems"], 3);
    assert_eq!(property("tags")["uniqueItems"], true);
    assert!(property("words").get("uniqueItems").is_none());
    assert_eq!(property("letter")["enum"], json!(["a", "b"]));
    assert_eq!(property("sign")["enum"], json!([-1, 0, 1]));
}

#[test]
fn constraints_may_be_expressions() {
    let [tool] = tools![expressions];
    let property = |name| property(&tool, name);
    assert_eq!(property("limit")["maximum"], 50);
    assert_eq!(property("limit")["minimum"], 10);
    assert_eq!(property("hours")["multipleOf"], 0.25);
    assert_eq!(property("slug")["pattern"], SLUG);
    assert_eq!(property("order")["enum"], json!(["asc", "desc"]));
    assert_eq!(property("what")["enum"], json!([SLUG, "other"]));
    assert_eq!(property("ids")["maxItems"], 50);
}

#[prompt]
fn summary(#[arg(min = 1, max = 5)] sentences: u8, #[arg(one_of = ["en", "de"])] language: String) -> String {
    format!("{sentences} {language}")
}

#[resource("page://{number}/{slug}")]
fn page(#[arg(min = 1)] number: u32, #[arg(pattern = SLUG)] slug: String) -> String {
    format!("{number} {slug}")
}

#[tokio::test]
async fn constraints_are_checked_before_the_handler_runs() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::new("test", "1.0.0").tools(tools![expressions]);
        let server = server.prompts(prompts![summary]).resources(resources![page]);
        let client = TestClient::with_revision(server, revision).await.unwrap();
        let arguments = |limit: u32, slug: &str| json!({"limit": limit, "hours": 0.5, "slug": slug, "order": "asc", "what": "other", "ids": []});
        assert_eq!(client.call("expressions", arguments(10, "a-b")).await.unwrap().text(), "10");
        for (limit, slug) in [(9, "a"), (51, "a"), (10, "A")] {
            assert!(client.call("expressions", arguments(limit, slug)).await.unwrap().is_error(), "{limit} {slug}");
        }
        let prompt = async |arguments| client.get_prompt("summary", arguments).await.map(|prompt| prompt.text());
        assert_eq!(prompt(json!({"sentences": "5", "language": "de"})).await.unwrap(), "5 de");
        assert!(prompt(json!({"sentences": "6", "language": "de"})).await.is_err());
        assert!(prompt(json!({"sentences": "5", "language": "fr"})).await.is_err());
        assert_eq!(client.read("page://1/a-b").await.unwrap().text(), "1 a-b");
        assert!(client.read("page://0/a-b").await.is_err());
        assert!(client.read("page://1/A").await.is_err());
    }
}
