//! What types alone would let through, and what contradicts them: found in calls, and at start-up.
#![allow(dead_code, unused_variables, reason = "the handlers' arguments are checked, not used")]

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use schemars::JsonSchema;
use serde::Deserialize;

use super::enforced::{Page, Tone, refused};

#[derive(Deserialize, JsonSchema)]
struct Query {
    #[serde(alias = "q")]
    query: String,
    #[schemars(range(max = 5))]
    limit: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Tree(Vec<Tree>);

#[derive(Deserialize, JsonSchema)]
struct Twice {
    tone: Tone,
    #[schemars(with = "Tone")]
    raw: String,
}

/// Take what a type alone would let through.
#[tool]
#[expect(clippy::too_many_arguments, reason = "one for each case")]
fn lax(
    #[arg(one_of = [1, 2, 3])] level: Option<i64>,
    #[arg(format = "regex")] search: Option<String>,
    #[arg(max = 1e16)] share: Option<f64>,
    #[arg(multiple_of = 0.01)] price: Option<f64>,
    #[arg(min = 1)] number: Option<i32>,
    #[arg(unique_items)] ids: Option<Vec<i64>>,
    query: Option<Query>,
    tree: Option<Tree>,
    twice: Option<Twice>,
) -> String {
    format!("{level:?} {:?}", query.map(|query| query.query))
}

/// A month.
#[resource("log://{year}/{month}")]
fn log(year: u32, #[arg(min = 1, max = 12)] month: u8) -> String {
    format!("{year} {month}")
}

#[tokio::test]
async fn violations_that_types_let_through_are_found() -> Result<()> {
    let server = Server::new("s", "1").tools(tools![lax]).resources(resources![log]);
    let client = TestClient::connect(server).await?;
    let aliased = client.call("lax", json!({"query": {"q": "x", "limit": 1}})).await?;
    assert_eq!(aliased.text(), "None Some(\"x\")", "an alias is not in the schema, but the type reads it");
    for (arguments, expected) in [
        (json!({"level": 7}), "`level`: expected one of 1, 2 or 3, got 7"),
        (json!({"search": "("}), "`search`: expected a regular expression"),
        (json!({"share": 2e16}), "`share`: expected a number of at most 10000000000000000"),
        (json!({"price": 5_000_000.005}), "`price`: expected a number that is a multiple of 0.01"),
        (json!({"number": "99999999999"}), "`number`"),
        (json!({"ids": ["1", 1]}), "`ids`: expected a list without duplicates, got 1 twice"),
        (json!({"ids": ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "x"]}), "`ids.10`: expected an integer"),
        (json!({"query": {"q": "x", "limit": 6}}), "`query.limit`: expected an integer from 0 to 5, got 6"),
        (json!({"tree": 5}), "`tree`: expected a list, got 5"),
        (json!({"twice": {"tone": "calm", "raw": "angry"}}), "`twice.raw`: expected one of \"calm\" or \"loud\""),
    ] {
        let (text, _) = refused(&client, "lax", arguments.clone()).await;
        assert!(text.contains(expected), "{arguments}: {text}");
    }
    assert_eq!(client.read("log://2026/07").await?.text(), "2026 7");
    assert!(client.read("log://2026/13").await.unwrap_err().to_string().contains("from 1 to 12, got 13"));
    Ok(())
}

/// Flatten a struct that denies unknown fields.
#[tool]
fn denies(#[arg(flatten)] page: Page, query: String) -> String {
    format!("{} {query}", page.number)
}

#[test]
fn flattened_struct_that_denies_other_arguments_is_a_mistake() {
    let set_up = || drop(Server::new("s", "1").tools(tools![denies]).into_service());
    let text = *std::panic::catch_unwind(set_up).unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("tool `denies`: `Page` denies unknown fields, so it cannot be flattened beside"), "{text}");
}

#[derive(Deserialize, JsonSchema)]
struct Inner {
    #[schemars(range(max = 5))]
    number: u8,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    One { side: u8 },
    Two(Inner),
}

#[derive(Deserialize, JsonSchema)]
struct Outer {
    inner: Option<Vec<Inner>>,
}

/// Take nested types.
#[tool]
fn nested(tagged: Option<Tagged>, outer: Option<Outer>) -> bool {
    true
}

#[tokio::test]
async fn constraints_of_nested_types_cannot_be_bypassed() -> Result<()> {
    let client = TestClient::connect(Server::new("s", "1").tools(tools![nested])).await?;
    let fine = json!({"tagged": {"kind": "Two", "number": 5}, "outer": {"inner": [{"number": 1}]}});
    assert_eq!(client.call("nested", fine).await?.text(), "true");
    for (arguments, expected) in [
        (json!({"tagged": {"kind": "Two", "number": 6}}), "`tagged.number`: expected an integer from 0 to 5, got 6"),
        (json!({"tagged": {"kind": "Two"}}), "`tagged.number` is missing"),
        (json!({"outer": {"inner": [[6]]}}), "`outer.inner.0`: expected an object, got a list of 1 item"),
    ] {
        let (text, _) = refused(&client, "nested", arguments.clone()).await;
        assert!(text.contains(expected), "{arguments}: {text}");
    }
    Ok(())
}

const LOW: i64 = 9;
const HIGH: i64 = 3;
const TOO_HIGH: u32 = 300;
const COLOURS: [&str; 1] = ["green"];
const FORMAT: &str = "colour";

/// Contradict itself.
#[tool]
fn contradicts(
    #[arg(min = LOW, max = HIGH)] a: i64,
    #[arg(max = TOO_HIGH)] b: u8,
    #[arg(one_of = COLOURS)] c: Tone,
    #[arg(format = FORMAT)] d: String,
) -> bool {
    true
}

#[test]
fn contradictions_are_mistakes_in_the_set_up() {
    let set_up = || drop(Server::new("s", "1").tools(tools![contradicts]).into_service());
    let text = *std::panic::catch_unwind(set_up).unwrap_err().downcast::<String>().unwrap();
    for mistake in [
        "`a`: no number is at least 9 and at most 3",
        "`max` of the argument `b` is 300, and its type has nothing above 255",
        "`one_of` of the argument `c` has \"green\", which is not a value of its type",
        "`format` of the argument `d` is `colour`, which cannot be checked",
    ] {
        assert!(text.contains(mistake), "{text}\nlacks: {mistake}");
    }
}
