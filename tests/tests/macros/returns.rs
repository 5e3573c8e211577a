//! Every return type of a tool, and what a client sees of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcp_runtime::{Json, ToolResult, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client;

macro_rules! tools_returning {
    ($($name:ident: $ty:ty = $value:expr, $text:expr;)*) => {
        $(#[tool] fn $name() -> $ty { $value })*

        #[tokio::test]
        async fn plain_return_types_become_text() {
            let client = client(tools![$($name),*]).await;
            $(
                let result = client.call(stringify!($name), json!({})).await.unwrap();
                assert_eq!(result.text(), $text, stringify!($name));
                assert_eq!(result.content().len(), 1, stringify!($name));
                assert!(!result.is_error(), stringify!($name));
            )*
        }
    };
}

tools_returning! {
    owned: String = "owned".into(), "owned";
    borrowed: &'static str = "borrowed", "borrowed";
    cow: Cow<'static, str> = "cow".into(), "cow";
    boxed: Box<str> = "boxed".into(), "boxed";
    letter: char = 'x', "x";
    yes: bool = true, "true";
    byte: u8 = 255, "255";
    signed_byte: i8 = -1, "-1";
    short: u16 = 1, "1";
    signed_short: i16 = -1, "-1";
    word: u32 = 1, "1";
    signed_word: i32 = -1, "-1";
    long: u64 = u64::MAX, "18446744073709551615";
    signed_long: i64 = -1, "-1";
    huge: u128 = 1, "1";
    signed_huge: i128 = -1, "-1";
    size: usize = 1, "1";
    signed_size: isize = -1, "-1";
    float: f32 = 0.5, "0.5";
    double: f64 = -0.25, "-0.25";
    some: Option<i64> = Some(1), "1";
    fine: Result<String> = Ok("fine".into()), "fine";
    own_error: Result<i64, std::fmt::Error> = Ok(1), "1";
    nested: Result<Option<Content>> = Ok(Some(Content::text("nested"))), "nested";
    content: Content = Content::text("content"), "content";
}

#[tool]
fn unit() {}

#[tool]
#[expect(clippy::unused_unit, reason = "as it may be written")]
fn explicit_unit() -> () {}

#[tool]
async fn async_unit() -> Result<()> {
    Ok(())
}

#[tool]
fn none() -> Option<String> {
    None
}

#[tool]
fn vector() -> Vec<Content> {
    vec![Content::text("a"), Content::image(b"png", "image/png"), Content::text("b")]
}

#[tool]
fn array() -> [Content; 2] {
    [Content::text("a"), Content::audio(b"wav", "audio/wav")]
}

#[tool]
fn own_result() -> ToolResult {
    ToolResult::error("own").with_meta("example.com/a", 1)
}

#[tool]
fn anything() -> impl mcp_runtime::IntoToolResult {
    "anything"
}

#[tool]
async fn anything_later() -> Result<impl mcp_runtime::IntoToolResult> {
    Ok(5)
}

#[tokio::test]
async fn content_unit_and_own_results_pass_through() {
    let client =
        client(tools![unit, explicit_unit, async_unit, none, vector, array, own_result, anything, anything_later])
            .await;
    for name in ["unit", "explicit_unit", "async_unit", "none"] {
        let result = client.call(name, json!({})).await.unwrap();
        assert!(result.content().is_empty() && !result.is_error(), "{name}");
    }
    let result = client.call("vector", json!({})).await.unwrap();
    assert_eq!((result.text(), result.content().len()), ("a\nb".into(), 3));
    assert_eq!(result.content()[1]["mimeType"], "image/png");
    assert_eq!(client.call("array", json!({})).await.unwrap().content()[1]["type"], "audio");
    let result = client.call("own_result", json!({})).await.unwrap();
    assert!(result.is_error());
    assert_eq!(result.meta()["example.com/a"], 1);
    assert_eq!(client.call("anything", json!({})).await.unwrap().text(), "anything");
    assert_eq!(client.call("anything_later", json!({})).await.unwrap().text(), "5");
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Hit {
    id: u64,
    title: Option<String>,
}

fn hit() -> Hit {
    Hit { id: 7, title: None }
}

type Found = Json<Hit>;

#[tool]
fn structured() -> Json<Hit> {
    Json(hit())
}

#[tool]
async fn aliased() -> Result<Found, std::fmt::Error> {
    Ok(Json(hit()))
}

#[tool]
fn list() -> Json<Vec<Hit>> {
    Json(vec![hit()])
}

#[tool]
fn map() -> Json<BTreeMap<String, u8>> {
    Json([("a".to_owned(), 1)].into())
}

#[tool]
fn dynamic() -> Json<Value> {
    Json(json!({"n": 1}))
}

#[tool]
fn maybe(there: bool) -> Option<Json<Hit>> {
    there.then(|| Json(hit()))
}

#[tokio::test]
async fn json_return_is_structured_with_a_schema() {
    let tools = tools![structured, aliased, list, map, dynamic, maybe];
    let schema = |index: usize| tools[index].descriptor().output_schema.clone();
    let hit_schema = json!({
        "type": "object",
        "properties": {"id": {"type": "integer", "minimum": 0}, "title": {"type": ["string", "null"]}},
        "required": ["id", "title"],
    });
    let mut without_title = schema(0).unwrap();
    without_title.as_object_mut().unwrap().remove("title");
    assert_eq!(without_title, hit_schema);
    assert_eq!(schema(0), schema(1), "the type decides, not its spelling");
    assert_eq!(schema(2).unwrap()["type"], "array");
    assert_eq!(schema(3).unwrap()["type"], "object");
    assert_eq!(schema(4), None, "an empty schema is omitted");
    assert_eq!(schema(5), None, "nothing would not conform to it");
    let client = client(tools).await;
    for name in ["structured", "aliased"] {
        let result = client.call(name, json!({})).await.unwrap();
        assert_eq!(result.structured::<Hit>().unwrap(), hit());
        assert_eq!(result.text(), r#"{"id":7,"title":null}"#);
    }
    assert_eq!(client.call("list", json!({})).await.unwrap().structured::<Vec<Hit>>().unwrap(), [hit()]);
    assert_eq!(client.call("dynamic", json!({})).await.unwrap().structured::<Value>().unwrap(), json!({"n": 1}));
    assert!(client.call("maybe", json!({"there": false})).await.unwrap().content().is_empty());
    let there = client.call("maybe", json!({"there": true})).await.unwrap();
    assert_eq!(there.structured::<Hit>().unwrap(), hit());
}
