//! Return values that borrow: from the state, the context or an argument.

use std::borrow::Cow;

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Json, Revision, prelude::*};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::connect;

#[derive(Serialize, JsonSchema)]
struct Config {
    theme: String,
    logo: Vec<u8>,
}

impl Default for Config {
    fn default() -> Self {
        Config { theme: "dark".to_owned(), logo: vec![0, 255] }
    }
}

#[handlers]
impl Config {
    #[tool]
    fn text(&self) -> &str {
        &self.theme
    }

    #[tool]
    async fn text_later(&self, ctx: &Context) -> &str {
        tokio::task::yield_now().await;
        if ctx.client_name().is_some() { &self.theme } else { "nobody" }
    }

    #[tool(blocking)]
    fn text_slowly(&self) -> &str {
        &self.theme
    }

    #[tool]
    fn string(&self) -> &String {
        &self.theme
    }

    #[tool]
    fn cow(&self) -> Cow<'_, str> {
        self.theme.as_str().into()
    }

    #[tool]
    #[allow(mismatched_lifetime_syntaxes, reason = "as it may be written")]
    async fn bare_cow(&self) -> Result<Cow<str>> {
        Ok(self.theme.as_str().into())
    }

    #[tool]
    fn json(&self) -> Json<&Config> {
        Json(self)
    }

    #[tool]
    async fn json_later(&self) -> Result<Json<&Config>> {
        Ok(Json(self))
    }

    #[tool]
    fn maybe(&self, there: bool) -> Option<&str> {
        there.then_some(&self.theme)
    }

    #[tool(blocking)]
    fn result(&self, fine: bool) -> Result<&str> {
        if fine { Ok(&self.theme) } else { Err(Error::msg("not fine")) }
    }

    #[tool]
    fn of_the_context(ctx: &Context) -> Option<&str> {
        ctx.client_name()
    }

    #[tool]
    fn unnamed(&self) -> impl mcp_runtime::IntoToolResult + use<> {
        self.theme.clone()
    }

    #[prompt]
    fn ask(&self) -> &str {
        &self.theme
    }

    #[prompt]
    async fn ask_later(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.theme)
    }

    #[prompt(blocking)]
    fn ask_slowly(&self, fine: bool) -> Result<&str> {
        if fine { Ok(&self.theme) } else { Err(Error::msg("not fine")) }
    }

    #[resource("config://theme/{key}", mime = "text/plain")]
    fn theme(&self, key: String) -> Option<&str> {
        (key == "it").then_some(&self.theme)
    }

    #[resource("config://all")]
    async fn all(&self) -> Json<&Self> {
        Json(self)
    }

    #[resource("config://logo", mime = "image/png")]
    fn logo(&self) -> &[u8] {
        &self.logo
    }

    #[resource("config://logo/slow", blocking)]
    fn logo_slowly(&self) -> Result<&[u8]> {
        Ok(&self.logo)
    }
}

#[resource("static://bytes")]
fn bytes() -> &'static [u8] {
    b"bytes"
}

#[resource("static://included")]
fn included() -> &'static [u8; 5] {
    include_bytes!("included.bin")
}

#[tool]
fn caller(ctx: &Context) -> &str {
    ctx.client_name().unwrap_or("nobody")
}

#[tokio::test]
async fn borrowed_return_values_become_results() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::new("test", "1.0.0").mount(Config::default()).tools(tools![caller]);
        let client = TestClient::with_revision(server, revision).await.unwrap();
        let text = async |name: &str, arguments| client.call(name, arguments).await.unwrap().text();
        for name in ["text", "text_later", "text_slowly", "string", "cow", "bare_cow", "unnamed"] {
            assert_eq!(text(name, json!({})).await, "dark", "{name}");
        }
        for name in ["json", "json_later"] {
            let result = client.call(name, json!({})).await.unwrap();
            let structured: Value = result.structured().unwrap();
            assert_eq!(structured, json!({"theme": "dark", "logo": [0, 255]}), "{name}");
        }
        assert_eq!(text("maybe", json!({"there": true})).await, "dark");
        assert_eq!(text("maybe", json!({"there": false})).await, "");
        assert_eq!(text("result", json!({"fine": true})).await, "dark");
        let failed = client.call("result", json!({"fine": false})).await.unwrap();
        assert!(failed.is_error());
        assert_eq!(failed.text(), "not fine");
        let name = text("caller", json!({})).await;
        assert_ne!(name, "nobody");
        assert_eq!(text("of_the_context", json!({})).await, name);

        assert_eq!(client.get_prompt("ask", json!({})).await.unwrap().text(), "dark");
        assert_eq!(client.get_prompt("ask_later", json!({})).await.unwrap().text(), "dark");
        assert_eq!(client.get_prompt("ask_slowly", json!({"fine": "true"})).await.unwrap().text(), "dark");
        assert!(client.get_prompt("ask_slowly", json!({"fine": "false"})).await.is_err());
    }
}

#[tokio::test]
async fn borrowed_contents_are_read() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::new("test", "1.0.0").mount(Config::default()).resources(resources![bytes, included]);
        let client = TestClient::with_revision(server, revision).await.unwrap();
        assert_eq!(client.read("config://theme/it").await.unwrap().text(), "dark");
        assert!(client.read("config://theme/other").await.is_err());
        assert_eq!(client.read("config://all").await.unwrap().text(), r#"{"theme":"dark","logo":[0,255]}"#);
        let blob = async |uri: &str| client.read(uri).await.unwrap().bytes().unwrap();
        assert_eq!(blob("config://logo").await, [0, 255]);
        assert_eq!(blob("config://logo/slow").await, [0, 255]);
        assert_eq!(blob("static://bytes").await, b"bytes");
        assert_eq!(blob("static://included").await, b"bytes");
    }
}

#[tokio::test]
async fn borrowed_structured_results_have_a_schema() {
    let client = connect(Server::new("test", "1.0.0").mount(Config::default())).await;
    let list = client.request("tools/list", json!({})).await.unwrap();
    let tools = list["tools"].as_array().unwrap();
    let schema = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap().get("outputSchema");
    assert_eq!(schema("json").unwrap()["required"], json!(["theme", "logo"]));
    assert_eq!(schema("json"), schema("json_later"));
    assert_eq!(schema("text"), None);
}
