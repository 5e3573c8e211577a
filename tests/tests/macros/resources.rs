//! Resources: functions with a URI, and structs whose value is the contents.

use std::borrow::Cow;

use mcp_runtime::Json;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::{ReadResult, ResourceContents};
use mcp_runtime::testing::TestClient;
use serde::Serialize;
use serde_json::Value;

use crate::connect;

async fn listed(resources: impl IntoIterator<Item = Resource>) -> (TestClient, Value, Value) {
    let client = connect(Server::new("test", "1").resources(resources)).await;
    let mut fixed = client.request("resources/list", json!({})).await.unwrap();
    let mut templates = client.request("resources/templates/list", json!({})).await.unwrap();
    let (fixed, templates) = (fixed["resources"].take(), templates["resourceTemplates"].take());
    (client, fixed, templates)
}

/// Everything.
#[resource(
    "docs://every/key",
    name = "every key, for people",
    title = "Every key",
    mime = "text/markdown",
    audience = ["user", "assistant"],
    priority = 0.5,
    last_modified = "2026-01-31T12:00:00Z",
    size = 1024,
    icon = "https://example.com/a.png",
    meta = { "example.com/kind": "manual" },
    timeout = "500ms",
    blocking
)]
fn every_key() -> String {
    "# Manual".into()
}

/// Not this.
#[resource("docs://{page}", description = "But this.", mime = "text/plain", audience = "user", priority = 1)]
async fn template(page: u32) -> String {
    page.to_string()
}

#[resource("docs://raw/{type}/{+rest}")]
fn r#match(r#type: String, ctx: &Context, #[arg(rename = "rest")] path: String) -> String {
    format!("{} {path} {}", r#type, ctx.client_name().unwrap_or_default())
}

#[tokio::test]
async fn function_descriptor_has_every_key() {
    let (client, fixed, templates) = listed(resources![every_key, template, r#match]).await;
    assert_eq!(
        fixed,
        json!([{
            "uri": "docs://every/key",
            "name": "every key, for people",
            "title": "Every key",
            "description": "Everything.",
            "icons": [{"src": "https://example.com/a.png"}],
            "mimeType": "text/markdown",
            "annotations":
                {"audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2026-01-31T12:00:00Z"},
            "size": 1024,
            "_meta": {"example.com/kind": "manual"},
        }])
    );
    assert_eq!(
        templates,
        json!([
            {
                "uriTemplate": "docs://{page}",
                "name": "template",
                "description": "But this.",
                "mimeType": "text/plain",
                "annotations": {"audience": ["user"], "priority": 1.0},
            },
            {"uriTemplate": "docs://raw/{type}/{+rest}", "name": "match"},
        ])
    );
    let contents = client.read("docs://every/key").await.unwrap();
    assert_eq!(contents.text(), "# Manual");
    assert_eq!(contents.contents()[0].mime_type.as_deref(), Some("text/markdown"));
    assert_eq!(client.read("docs://7").await.unwrap().text(), "7");
    assert_eq!(client.read("docs://raw/a%20b/c/d").await.unwrap().text(), "a b c/d test-client");
    assert_eq!(client.read("docs://seven").await.unwrap_err().code(), Some(-32602));
}

#[resource("r://static")]
fn fixed_text() -> &'static str {
    "static"
}

#[resource("r://cow")]
fn cow() -> Cow<'static, str> {
    "cow".into()
}

#[resource("r://bytes")]
fn bytes() -> Vec<u8> {
    vec![0, 255]
}

#[resource("r://json")]
fn as_json() -> Json<Vec<u8>> {
    Json(vec![1, 2])
}

#[resource("r://contents")]
fn contents() -> ResourceContents {
    ResourceContents::text("own").with_mime("text/html").with_uri("r://other")
}

#[resource("r://several")]
fn several() -> Vec<ResourceContents> {
    vec![ResourceContents::text("one"), ResourceContents::text("two")]
}

#[resource("r://result")]
async fn result() -> Result<ReadResult> {
    Ok(ReadResult::new(several()))
}

#[resource("r://maybe/{id}")]
fn maybe(id: u8) -> Option<String> {
    (id < 10).then(|| id.to_string())
}

#[resource("r://io")]
fn io() -> std::io::Result<String> {
    Err(std::io::Error::other("disk full"))
}

#[tokio::test]
async fn resource_return_types_become_contents() {
    let all = resources![fixed_text, cow, bytes, as_json, contents, several, result, maybe, io];
    let (client, ..) = listed(all).await;
    for (uri, text) in [
        ("r://static", "static"),
        ("r://cow", "cow"),
        ("r://json", "[1,2]"),
        ("r://several", "one\ntwo"),
        ("r://result", "one\ntwo"),
    ] {
        let answer = client.read(uri).await.unwrap();
        assert_eq!(answer.text(), text);
        assert_eq!(answer.contents()[0].uri, uri);
    }
    assert_eq!(client.read("r://json").await.unwrap().contents()[0].mime_type.as_deref(), Some("application/json"));
    assert_eq!(client.read("r://bytes").await.unwrap().bytes().unwrap(), [0, 255]);
    let own = client.read("r://contents").await.unwrap();
    assert_eq!((&*own.contents()[0].uri, own.contents()[0].mime_type.as_deref()), ("r://other", Some("text/html")));
    assert_eq!(client.read("r://maybe/1").await.unwrap().text(), "1");
    let error = client.read("r://maybe/11").await.unwrap_err();
    assert_eq!(error.data().unwrap()["uri"], "r://maybe/11");
    assert_eq!(client.read("r://io").await.unwrap_err().to_string(), "disk full");
}

/// The settings.
///
/// All of them.
#[derive(Serialize, Resource)]
#[resource(uri = "config://app")]
struct AppConfig {
    theme: &'static str,
}

/// A page.
#[derive(Resource)]
#[resource(
    uri = "docs://{slug}/{+path}",
    name = "page-{slug}",
    title = "{title}",
    description = "{title} of {slug}",
    mime = "text/markdown",
    audience = "user",
    priority = 0.25,
    icon = "https://example.com/a.png",
    meta = { "example.com/kind": "page" },
    size
)]
struct Page {
    slug: String,
    path: &'static str,
    title: String,
    #[resource(text)]
    body: String,
    #[resource(last_modified)]
    changed: &'static str,
}

#[derive(Resource)]
#[resource(uri = "img://{type}", last_modified = "2026-01-31T12:00:00Z", size)]
struct Image {
    r#type: u8,
    #[resource(blob)]
    data: Vec<u8>,
}

#[derive(Resource)]
#[resource(uri = "num://one", size = 7)]
struct Number {
    #[resource(text)]
    value: f64,
}

#[derive(Serialize, Resource)]
#[resource(uri = "unit://")]
struct Unit;

#[derive(Serialize, Resource)]
#[resource(uri = "pair://")]
struct Pair(u8, u8);

#[derive(Resource)]
#[resource(uri = "marked://")]
struct Marked(u8, #[resource(text)] &'static str);

#[tokio::test]
async fn derived_descriptor_has_every_key() {
    let page = Page {
        slug: "a b/c".into(),
        path: "d/e f",
        title: "First {page}".into(),
        body: "# Fürst".into(),
        changed: "2026-02-01",
    };
    let server = Server::new("test", "1")
        .resource(AppConfig { theme: "dark" })
        .resources(vec![page])
        .resource(Image { r#type: 5, data: vec![1, 2, 3, 4] })
        .resource(Number { value: 1.5 })
        .resource(Unit)
        .resource(Pair(1, 2))
        .resource(Marked(1, "marked"));
    let client = connect(server).await;
    let listed = client.request("resources/list", json!({})).await.unwrap();
    assert_eq!(
        listed["resources"],
        json!([
            {
                "uri": "config://app",
                "name": "app_config",
                "description": "The settings.\n\nAll of them.",
                "mimeType": "application/json",
            },
            {
                "uri": "docs://a%20b%2Fc/d/e%20f",
                "name": "page-a b/c",
                "title": "First {page}",
                "description": "First {page} of a b/c",
                "icons": [{"src": "https://example.com/a.png"}],
                "mimeType": "text/markdown",
                "annotations": {"audience": ["user"], "priority": 0.25, "lastModified": "2026-02-01"},
                "size": 8,
                "_meta": {"example.com/kind": "page"},
            },
            {
                "uri": "img://5",
                "name": "image",
                "mimeType": "application/octet-stream",
                "annotations": {"lastModified": "2026-01-31T12:00:00Z"},
                "size": 4,
            },
            {"uri": "num://one", "name": "number", "mimeType": "text/plain", "size": 7},
            {"uri": "unit://", "name": "unit", "mimeType": "application/json"},
            {"uri": "pair://", "name": "pair", "mimeType": "application/json"},
            {"uri": "marked://", "name": "marked", "mimeType": "text/plain"},
        ])
    );
    assert_eq!(client.read("config://app").await.unwrap().text(), r#"{"theme":"dark"}"#);
    let page = client.read("docs://a%20b%2Fc/d/e%20f").await.unwrap();
    assert_eq!(page.text(), "# Fürst");
    assert_eq!(page.contents()[0].mime_type.as_deref(), Some("text/markdown"));
    assert_eq!(client.read("img://5").await.unwrap().bytes().unwrap(), [1, 2, 3, 4]);
    assert_eq!(client.read("num://one").await.unwrap().text(), "1.5");
    assert_eq!(client.read("unit://").await.unwrap().text(), "null");
    assert_eq!(client.read("pair://").await.unwrap().text(), "[1,2]");
    assert_eq!(client.read("marked://").await.unwrap().text(), "marked");
}
