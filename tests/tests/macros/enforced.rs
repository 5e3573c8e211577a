//! What a schema shows is enforced before the handler runs: `#[arg]` keys, constraints of the user's types, defaults,
//! unknown arguments, lenient types, structured results.
#![allow(dead_code, unused_variables, reason = "the handlers' arguments are checked, not used")]

use std::collections::HashSet;

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Json, Revision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// A page of results.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Page {
    #[schemars(range(min = 1, max = 5))]
    number: u32,
    #[schemars(length(min = 2, max = 4))]
    code: Option<String>,
    #[schemars(regex(pattern = "^[a-z]+$"))]
    slug: Option<String>,
    #[schemars(inner(range(max = 9)))]
    digits: Option<Vec<u8>>,
    #[schemars(extend("format" = "email"))]
    owner: Option<String>,
}

/// Turn to a page.
#[tool]
fn turn(page: Page) -> u32 {
    page.number
}

/// Take every key.
#[tool]
#[expect(clippy::too_many_arguments, reason = "one for each key")]
fn keys(
    #[arg(min = 1, max = 5, default = 1)] number: i64,
    #[arg(exclusive_min = 0.0, exclusive_max = 1.0)] share: Option<f64>,
    #[arg(multiple_of = 5)] step: Option<u32>,
    #[arg(min_length = 2, max_length = 3)] code: Option<String>,
    #[arg(pattern = "^[a-z]+$")] slug: Option<String>,
    #[arg(format = "date")] day: Option<String>,
    #[arg(min_items = 1, max_items = 2, unique_items)] tags: Option<Vec<String>>,
    #[arg(one_of = ["low", "high"])] level: Option<String>,
) -> String {
    format!("{number} {share:?} {step:?} {code:?} {slug:?} {day:?} {tags:?} {level:?}")
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Calm,
    Loud,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

/// Take types that check themselves.
#[tool]
fn typed(tone: Option<Tone>, shape: Option<Shape>, set: Option<HashSet<i32>>, pair: Option<(u8, String)>) -> usize {
    usize::from(tone.is_some()) + usize::from(shape.is_some()) + set.map_or(0, |set| set.len()) + pair.map_or(0, |_| 1)
}

/// Find notes.
#[tool]
fn find(query: String, limit: Option<u32>, #[arg(default = true)] fuzzy: bool, tags: Option<Vec<String>>) -> String {
    format!("{query} {limit:?} {fuzzy} {tags:?}")
}

/// Say hello.
#[prompt]
fn hello(#[arg(min_length = 2)] name: String, #[arg(min = 1, max = 3)] times: Option<u32>) -> String {
    format!("{name} {times:?}")
}

/// A note.
#[resource("note://{id}")]
fn note(#[arg(min = 1, max = 9)] id: u32) -> String {
    id.to_string()
}

fn server() -> Server {
    Server::new("s", "1").tools(tools![turn, keys, typed, find]).prompts(prompts![hello]).resources(resources![note])
}

async fn refused(client: &TestClient, tool: &str, arguments: Value) -> (String, Value) {
    let told = client.call(tool, &arguments).await.unwrap();
    assert!(told.is_error(), "{tool} {arguments}: {}", told.text());
    (told.text(), told.meta()["argumentError"].clone())
}

#[tokio::test]
async fn constraints_of_user_types_are_enforced() -> Result<()> {
    for revision in REVISIONS {
        let client = TestClient::with_revision(server(), revision).await?;
        assert_eq!(client.call("turn", json!({"page": {"number": 5, "code": "ab"}})).await?.text(), "5");
        for (page, expected) in [
            (json!({"number": 9}), "`page.number`: expected an integer from 1 to 5, got 9"),
            (
                json!({"number": 1, "code": "abcde"}),
                "`page.code`: expected a string or null of 2 to 4 characters, got 5 characters",
            ),
            (json!({"number": 1, "slug": "A"}), "that matches the pattern ^[a-z]+$, got the string \"A\""),
            (json!({"number": 1, "digits": [1, 10]}), "`page.digits.1`: expected an integer from 0 to 9, got 10"),
            (json!({"number": 1, "owner": "me"}), "`page.owner`: expected an email address"),
            (json!({"number": 1, "numbr": 2}), "`page.numbr` is unknown; did you mean `number`?"),
            (json!({}), "`page.number` is missing: expected an integer from 1 to 5"),
        ] {
            let (text, _) = refused(&client, "turn", json!({"page": page})).await;
            assert!(text.contains(expected), "{text}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn every_arg_key_is_shown_and_enforced() -> Result<()> {
    for revision in REVISIONS {
        let client = TestClient::with_revision(server(), revision).await?;
        let tools = client.list_tools().await?;
        let schema = &tools.iter().find(|tool| tool.name == "keys").unwrap().input_schema["properties"];
        assert_eq!(schema["number"], json!({"type": "integer", "default": 1, "minimum": 1, "maximum": 5}));
        assert_eq!(schema["share"], json!({"type": "number", "exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0}));
        assert_eq!(schema["level"], json!({"type": "string", "enum": ["low", "high"]}));
        let fine = json!({"number": 5, "share": 0.5, "step": 10, "code": "ab", "slug": "x", "day": "2026-07-28",
            "tags": ["a", "b"], "level": "low"});
        assert!(!client.call("keys", fine).await?.is_error());
        for (name, value, expected) in [
            ("number", json!(6), "an integer from 1 to 5, got 6"),
            ("share", json!(1.0), "a number greater than 0 and less than 1, got 1"),
            ("step", json!(7), "an integer of at least 0 that is a multiple of 5, got 7"),
            ("code", json!("abcd"), "a string of 2 to 3 characters, got 4 characters"),
            ("slug", json!("a1"), "a string that matches the pattern ^[a-z]+$, got the string \"a1\""),
            ("day", json!("2026-02-30"), "a date, like 2026-07-28, got the string \"2026-02-30\""),
            ("tags", json!([]), "a list of 1 to 2 items without duplicates, got an empty list"),
            ("tags", json!(["a", "a"]), "a list of 1 to 2 items without duplicates, got the string \"a\" twice"),
            ("level", json!("mid"), "one of \"low\" or \"high\", got the string \"mid\""),
        ] {
            let (text, error) = refused(&client, "keys", json!({name: value})).await;
            assert_eq!(text, format!("Invalid arguments: `{name}`: expected {expected}"));
            assert_eq!(error["field"], name);
        }
    }
    Ok(())
}

#[tokio::test]
async fn all_problems_are_told_together_and_truthfully() -> Result<()> {
    for revision in REVISIONS {
        let client = TestClient::with_revision(server(), revision).await?;
        let (text, error) = refused(&client, "keys", json!({"number": 0, "day": "soon", "level": 3})).await;
        let lines = [
            "Invalid arguments:",
            "- `number`: expected an integer from 1 to 5, got 0",
            "- `day`: expected a date, like 2026-07-28, got the string \"soon\"",
            "- `level`: expected one of \"low\" or \"high\", got 3",
        ];
        assert_eq!(text, lines.join("\n"));
        assert_eq!(error["errors"].as_array().unwrap().len(), 3);
        assert_eq!(error["errors"][1], json!({"field": "day", "expectedType": "date", "actualType": "string"}));
        assert_eq!(error["errors"][2], json!({"field": "level", "expectedType": "string", "actualType": "integer"}));
        let (text, error) = refused(&client, "typed", json!({"tone": "angry"})).await;
        assert_eq!(text, "Invalid arguments: `tone`: expected one of \"calm\" or \"loud\", got the string \"angry\"");
        assert_eq!(error, json!({"field": "tone", "expectedType": "string", "actualType": "string"}));
        let (text, _) = refused(&client, "typed", json!({"shape": {"kind": "circle"}})).await;
        assert_eq!(text, "Invalid arguments: `shape.radius` is missing: expected a number");
        let (text, _) = refused(&client, "typed", json!({"shape": {"kind": "cube"}})).await;
        assert!(
            text.contains("`shape.kind`: expected one of \"circle\" or \"square\", got the string \"cube\""),
            "{text}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn prompt_arguments_and_uri_variables_are_enforced() -> Result<()> {
    for revision in REVISIONS {
        let client = TestClient::with_revision(server(), revision).await?;
        assert!(client.get_prompt("hello", json!({"name": "Jo", "times": "3"})).await.is_ok());
        let error = client.get_prompt("hello", json!({"name": "J", "times": "4"})).await.unwrap_err().to_string();
        assert!(error.contains("`name`: expected a string of at least 2 characters, got 1 character"), "{error}");
        assert!(error.contains("`times`: expected an integer from 1 to 3, got 4"), "{error}");
        assert!(client.read("note://9").await.is_ok());
        let error = client.read("note://10").await.unwrap_err().to_string();
        assert!(error.contains("`id`: expected an integer from 1 to 9, got 10"), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn lenient_types_have_one_reading_and_can_be_switched_off() -> Result<()> {
    let arguments = json!({"query": "a", "limit": "5", "fuzzy": "False", "tags": "[\"x\"]"});
    for revision in REVISIONS {
        let client = TestClient::with_revision(server(), revision).await?;
        assert_eq!(client.call("find", &arguments).await?.text(), "a Some(5) false Some([\"x\"])");
        let single = client.call("find", json!({"query": "a", "tags": "x", "limit": 2.0})).await?;
        assert_eq!(single.text(), "a Some(2) true Some([\"x\"])");
        let nulls = json!({"query": "a", "limit": null, "fuzzy": null, "tags": null});
        assert_eq!(client.call("find", nulls).await?.text(), "a None true None");
        assert_eq!(client.call("turn", json!({"page": "{\"number\": \"2\"}"})).await?.text(), "2");
        // A string is no number, and a number is no string.
        let (text, _) = refused(&client, "find", json!({"query": 5, "limit": "many"})).await;
        assert!(text.contains("`query`: expected a string, got 5") && text.contains("`limit`"), "{text}");
        let (text, _) = refused(&client, "keys", json!({"number": "9"})).await;
        assert_eq!(text, "Invalid arguments: `number`: expected an integer from 1 to 5, got the string \"9\"");
        let client = TestClient::with_revision(server().lenient_types(false), revision).await?;
        let (text, error) = refused(&client, "find", arguments.clone()).await;
        assert!(text.contains("`limit`: expected an integer of at least 0, got the string \"5\""), "{text}");
        assert_eq!(error["errors"].as_array().unwrap().len(), 3, "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn unknown_arguments_follow_one_rule() -> Result<()> {
    for revision in REVISIONS {
        let client = TestClient::with_revision(server(), revision).await?;
        assert!(!client.call("find", json!({"query": "a", "limt": 5, "dummy": true})).await?.is_error());
        let (text, _) = refused(&client, "find", json!({"qurey": "a"})).await;
        assert!(text.contains("`query` is missing: expected a string; `qurey` was sent: is that it?"), "{text}");
        let client = TestClient::with_revision(server().strict_arguments(true), revision).await?;
        let (text, _) = refused(&client, "find", json!({"query": "a", "limt": 5})).await;
        assert_eq!(text, "Invalid arguments: `limt` is unknown; did you mean `limit`?");
        let tools = client.list_tools().await?;
        assert!(tools.iter().all(|tool| tool.input_schema["additionalProperties"] == false));
    }
    Ok(())
}

/// A result whose schema promises more than it keeps.
#[derive(Serialize, JsonSchema)]
struct Promise {
    #[schemars(range(max = 5))]
    number: u32,
}

/// Break a promise.
#[tool]
async fn promise(number: u32) -> Json<Promise> {
    Json(Promise { number })
}

#[tokio::test]
async fn structured_results_are_checked_against_their_schema() -> Result<()> {
    let server = || Server::new("s", "1").tools(tools![promise]);
    for revision in REVISIONS {
        let client = TestClient::with_revision(server(), revision).await?;
        assert!(!client.call("promise", json!({"number": 5})).await?.is_error());
        let told = client.call("promise", json!({"number": 6})).await?;
        assert!(told.is_error() && told.text().contains("does not match its own outputSchema"), "{}", told.text());
        assert!(told.text().contains("`number`: expected an integer from 0 to 5, got 6"), "{}", told.text());
        let client = TestClient::with_revision(server().validate_output(false), revision).await?;
        assert!(!client.call("promise", json!({"number": 6})).await?.is_error());
    }
    Ok(())
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct AlsoNamed {
    name: String,
}

/// Flatten two structs with one field name, beside an argument of another.
#[tool]
fn clash(#[arg(flatten)] one: Named, #[arg(flatten)] two: AlsoNamed, note: String) -> String {
    one.name + &two.name + &note
}

/// Take a default that is not allowed.
#[tool]
fn wrong_default(#[arg(max = LIMIT, default = 500)] limit: u32) -> u32 {
    limit
}

const LIMIT: u32 = 100;

type Name = String;

/// Constrain a type by a key of another.
#[tool]
fn misplaced(#[arg(min = 1)] name: Name) -> String {
    name
}

#[test]
fn mistakes_in_schemas_are_told_at_start_up() {
    let set_up = || drop(Server::new("s", "1").tools(tools![clash, wrong_default, misplaced]).into_service());
    let text = *std::panic::catch_unwind(set_up).unwrap_err().downcast::<String>().unwrap();
    for mistake in [
        "tool `clash`: the field `name` of `AlsoNamed` has the name of the field `name` of `Named`; rename one",
        "tool `clash`: the argument `note` has the name of the field `note` of `Named`",
        "tool `wrong_default`: the default of `limit` does not match: expected an integer from 0 to 100, got 500",
        "tool `misplaced`: `min` is for numbers, and the argument `name` is of type string",
    ] {
        assert!(text.contains(mistake), "{text}\nlacks: {mistake}");
    }
}

/// Flatten one struct.
#[tool]
fn flat(#[arg(flatten)] one: Named) -> String {
    one.name
}

#[test]
fn optional_fields_of_a_flattened_struct_look_like_optional_arguments() {
    let [flat] = tools![flat];
    let schema = &flat.descriptor().input_schema;
    assert_eq!(schema["properties"]["note"], json!({"type": "string"}));
    assert_eq!(schema["required"], json!(["name"]));
}

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
