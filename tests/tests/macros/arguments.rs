//! Arguments: names, defaults, options, and their schema.

use std::collections::BTreeMap;

use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client;

fn schema(tool: &Tool) -> &Value {
    &tool.descriptor().input_schema
}

/// Keywords as names.
#[tool]
fn r#match(r#type: String, r#fn: Option<String>, mut count: i64) -> String {
    count += 1;
    format!("{type} {fn:?} {count}")
}

#[tokio::test]
async fn raw_identifiers_lose_their_prefix() {
    let tools = tools![r#match];
    assert_eq!(tools[0].name(), "match");
    assert_eq!(schema(&tools[0])["required"], json!(["type", "count"]));
    let client = client(tools).await;
    let result = client.call("match", json!({"type": "a", "fn": "b", "count": 1})).await.unwrap();
    assert_eq!(result.text(), "a Some(\"b\") 2");
    assert_eq!(r#match("a".into(), None, 1), "a None 2");
}

/// Renamed arguments.
#[tool]
fn rename(#[arg(rename = "from-path")] from: String, #[arg(rename = "to")] target: String) -> String {
    format!("{from} {target}")
}

#[tokio::test]
async fn arguments_can_be_renamed() {
    let tools = tools![rename];
    assert_eq!(schema(&tools[0])["required"], json!(["from-path", "to"]));
    let client = client(tools).await;
    let result = client.call("rename", json!({"from-path": "a", "to": "b"})).await.unwrap();
    assert_eq!(result.text(), "a b");
    let wrong = client.call("rename", json!({"from": "a", "to": "b"})).await.unwrap();
    assert!(wrong.is_error());
    assert!(wrong.text().contains("`from-path` is missing"), "{}", wrong.text());
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    #[default]
    Celsius,
    DegreesFahrenheit,
}

const LIMIT: u32 = 20;

fn tags() -> Vec<String> {
    vec!["new".into()]
}

/// Every kind of default.
#[tool]
#[expect(clippy::too_many_arguments)]
fn defaults(
    #[arg(default = 10)] number: i64,
    #[arg(default = -1.5)] negative: f64,
    #[arg(default = true)] flag: bool,
    #[arg(default = "plain")] text: String,
    #[arg(default = "boxed")] boxed: Box<str>,
    #[arg(default = Unit::DegreesFahrenheit)] unit: Unit,
    #[arg(default)] bare: Unit,
    #[arg(default)] nothing: String,
    #[arg(default = LIMIT * 2)] expression: u32,
    #[arg(default = tags())] list: Vec<String>,
    #[arg(default = Some(5))] option: Option<u32>,
) -> String {
    format!("{number} {negative} {flag} {text} {boxed} {unit:?} {bare:?} {nothing:?} {expression} {list:?} {option:?}")
}

#[test]
fn defaults_are_in_the_schema() {
    let [tool] = tools![defaults];
    let schema = schema(&tool);
    assert_eq!(schema.get("required"), None);
    let properties = schema["properties"].as_object().unwrap();
    let shown: Vec<_> = properties.iter().map(|(name, schema)| (&**name, schema["default"].clone())).collect();
    assert_eq!(
        shown,
        [
            ("number", json!(10)),
            ("negative", json!(-1.5)),
            ("flag", json!(true)),
            ("text", json!("plain")),
            ("boxed", json!("boxed")),
            ("unit", json!("degrees_fahrenheit")),
            ("bare", json!("celsius")),
            ("nothing", json!("")),
            ("expression", json!(40)),
            ("list", json!(["new"])),
            ("option", json!(5)),
        ]
    );
}

#[tokio::test]
async fn defaults_apply_to_missing_and_null_arguments() {
    let client = client(tools![defaults]).await;
    let all = "10 -1.5 true plain boxed DegreesFahrenheit Celsius \"\" 40 [\"new\"] Some(5)";
    assert_eq!(client.call("defaults", json!({})).await.unwrap().text(), all);
    // Models send null for what they do not want to set.
    let nulls = json!({"number": null, "text": null, "unit": null, "list": null});
    assert_eq!(client.call("defaults", nulls).await.unwrap().text(), all);
    let given = json!({"number": 1, "text": "x", "unit": "celsius", "option": 1, "list": []});
    assert_eq!(
        client.call("defaults", given).await.unwrap().text(),
        "1 -1.5 true x boxed Celsius Celsius \"\" 40 [] Some(1)"
    );
    let wrong = client.call("defaults", json!({"number": "ten"})).await.unwrap();
    assert!(wrong.is_error());
    assert!(wrong.text().contains("`number`"), "{}", wrong.text());
}

type Maybe<T> = Option<T>;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
struct Wrapped(Option<u8>);

/// Options, however they are spelled.
#[tool]
fn optional(a: Maybe<i64>, b: std::option::Option<String>, c: Wrapped, d: Option<Vec<u8>>) -> String {
    format!("{a:?} {b:?} {c:?} {d:?}")
}

#[tokio::test]
async fn options_are_optional_however_spelled() {
    let tools = tools![optional];
    assert_eq!(schema(&tools[0]).get("required"), None);
    assert_eq!(schema(&tools[0])["properties"]["a"], json!({"type": "integer"}));
    let client = client(tools).await;
    assert_eq!(client.call("optional", json!({})).await.unwrap().text(), "None None Wrapped(None) None");
    let some = json!({"a": 1, "b": null, "c": 2, "d": [3]});
    assert_eq!(client.call("optional", some).await.unwrap().text(), "Some(1) None Wrapped(Some(2)) Some([3])");
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Line {
    from: Point,
    to: Point,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Point {
    x: i64,
    unit: Option<Unit>,
}

/// Nested structs.
#[tool]
fn nested(line: Line, origin: Point, units: Vec<Unit>, by_name: BTreeMap<String, Point>) -> String {
    let Line { from, to } = line;
    format!("{} {} {} {} {}", from.x, to.x, origin.x, units.len(), by_name.len() + usize::from(origin.unit.is_some()))
}

#[tokio::test]
async fn types_used_twice_are_shared_at_the_root() {
    let tools = tools![nested];
    let schema = schema(&tools[0]);
    assert_eq!(schema["properties"]["line"]["properties"]["to"], json!({"$ref": "#/$defs/Point"}));
    assert_eq!(schema["properties"]["origin"], json!({"$ref": "#/$defs/Point"}));
    assert_eq!(schema["properties"]["units"]["items"], json!({"$ref": "#/$defs/Unit"}));
    assert_eq!(schema["properties"]["by_name"]["additionalProperties"], json!({"$ref": "#/$defs/Point"}));
    let names: Vec<_> = schema["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["Point", "Unit"]);
    assert!(!schema.to_string().contains("definitions"));
    let client = client(tools).await;
    let point = json!({"x": 1});
    let arguments = json!({"line": {"from": point, "to": {"x": 2}}, "origin": {"x": 3}, "units": ["celsius"], "by_name": {"a": point}});
    assert_eq!(client.call("nested", arguments).await.unwrap().text(), "1 2 3 1 1");
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Tree {
    name: String,
    #[serde(default)]
    children: Vec<Tree>,
}

impl Tree {
    fn depth(&self) -> usize {
        1 + self.children.iter().map(Tree::depth).max().unwrap_or(0)
    }
}

/// A recursive type.
#[tool]
fn depth(tree: Tree) -> String {
    format!("{} {}", tree.name, tree.depth())
}

#[tokio::test]
async fn recursive_types_refer_to_themselves() {
    let tools = tools![depth];
    let schema = schema(&tools[0]);
    assert_eq!(schema["properties"]["tree"], json!({"$ref": "#/$defs/Tree"}));
    assert_eq!(schema["$defs"]["Tree"]["properties"]["children"]["items"], json!({"$ref": "#/$defs/Tree"}));
    let client = client(tools).await;
    let tree = json!({"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]});
    assert_eq!(client.call("depth", json!({"tree": tree})).await.unwrap().text(), "a 3");
}

/// How to search.
#[derive(Debug, Deserialize, JsonSchema)]
struct Query {
    /// What to look for.
    text: String,
    #[serde(default = "ten")]
    limit: u32,
    sort: Option<Unit>,
}

fn ten() -> u32 {
    10
}

/// A struct whose fields are the arguments.
#[tool]
fn search(#[arg(flatten)] query: Query, page: Option<u32>) -> String {
    format!("{query:?} {page:?}")
}

#[tokio::test]
async fn flattened_struct_adds_its_fields() {
    let tools = tools![search];
    let schema = schema(&tools[0]);
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["text", "limit", "sort", "page"]);
    assert_eq!(schema["required"], json!(["text"]));
    assert_eq!(schema["properties"]["text"], json!({"type": "string", "description": "What to look for."}));
    assert_eq!(schema["properties"]["limit"]["default"], 10);
    assert_eq!(schema["type"], "object");
    assert_eq!(schema.get("title"), None);
    assert_eq!(schema.get("description"), None, "the tool has its own");
    let client = client(tools).await;
    let result = client.call("search", json!({"text": "a", "page": 2})).await.unwrap();
    assert_eq!(result.text(), "Query { text: \"a\", limit: 10, sort: None } Some(2)");
    let missing = client.call("search", json!({"page": 2})).await.unwrap();
    assert!(missing.is_error() && missing.text().contains("text"), "{}", missing.text());
}

/// An argument a proxy may look at.
#[tool]
fn regional(#[arg(header = "Region")] region: String, #[arg(header = "Tenant-Id", default = 1)] tenant: u32) -> String {
    format!("{region} {tenant}")
}

#[test]
fn header_arguments_are_marked_in_the_schema() {
    let [tool] = tools![regional];
    let properties = &schema(&tool)["properties"];
    assert_eq!(properties["region"], json!({"type": "string", "x-mcp-header": "Region"}));
    assert_eq!(properties["tenant"]["x-mcp-header"], "Tenant-Id");
    assert_eq!(properties["tenant"]["default"], 1);
    assert_eq!(regional("eu".into(), 2), "eu 2");
}

/// All that is borrowed comes from the server, wherever it stands.
#[tool]
async fn context(a: i64, ctx: &Context, b: i64) -> String {
    tokio::task::yield_now().await;
    format!("{} {}", a + b, ctx.client_name().unwrap_or("nobody"))
}

type Call = Context;

/// An alias of the context.
#[tool(blocking)]
fn aliased(ctx: &Call) -> String {
    ctx.request_id().to_owned()
}

#[tokio::test]
async fn context_is_not_an_argument() {
    let tools = tools![context, aliased];
    assert_eq!(schema(&tools[0])["required"], json!(["a", "b"]));
    assert_eq!(*schema(&tools[1]), json!({"type": "object", "properties": {}}));
    let client = client(tools).await;
    assert_eq!(client.call("context", json!({"a": 1, "b": 2})).await.unwrap().text(), "3 test-client");
    assert!(!client.call("aliased", json!({})).await.unwrap().text().is_empty());
}

#[tokio::test]
async fn schema_keeps_the_order_of_arguments() {
    #[tool]
    fn order(zebra: i64, apple: i64, middle: i64) -> i64 {
        zebra + apple + middle
    }
    let tools = tools![order];
    let names: Vec<_> = schema(&tools[0])["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["zebra", "apple", "middle"]);
    let client = client(tools).await;
    assert_eq!(client.call("order", json!({"middle": 1, "apple": 10, "zebra": 100})).await.unwrap().text(), "111");
}

/// A `Cow` owns what is decoded. A type called `Context` may be the user's own.
mod own {
    use std::borrow::Cow;

    use mcp_runtime::tool;
    use schemars::JsonSchema;
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Context {
        pub(super) page: u32,
    }

    #[tool]
    pub(super) fn owned(text: Cow<'_, str>, tags: Vec<Cow<'_, str>>, ctx: Context) -> String {
        format!("{text} {} {}", tags.join("+"), ctx.page)
    }
}

#[tokio::test]
async fn cows_and_types_called_context_are_arguments() {
    let client = client(tools![own::owned]).await;
    let arguments = json!({"text": "a", "tags": ["b", "c"], "ctx": {"page": 3}});
    assert_eq!(client.call("owned", arguments).await.unwrap().text(), "a b+c 3");
}
