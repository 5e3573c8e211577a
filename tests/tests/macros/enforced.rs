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
pub(super) struct Page {
    #[schemars(range(min = 1, max = 5))]
    pub(super) number: u32,
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
pub(super) enum Tone {
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

pub(super) async fn refused(client: &TestClient, tool: &str, arguments: Value) -> (String, Value) {
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
        assert!(!told.text().contains("layer"), "{}", told.text());
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
