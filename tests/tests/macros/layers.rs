//! `layer = …` in attributes: functions, expressions, methods, and blocks.
#![allow(clippy::unused_async, reason = "the shapes of handlers are what is tested, not what they do")]

use std::time::Duration;

use mcp_runtime::layers::{Cache, Call, Next, Outcome, ResponseLimit};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, ToolResult};

async fn brackets(call: Call, next: Next) -> Outcome {
    around(call, next, "[", "]").await
}

async fn braces(call: Call, next: Next) -> Result<Outcome> {
    Ok(around(call, next, "{", "}").await)
}

async fn around(call: Call, next: Next, before: &str, after: &str) -> Outcome {
    let mut outcome = next.run(call).await;
    outcome.edit_texts(|text| Some(format!("{before}{text}{after}")));
    outcome
}

mod nested {
    pub(super) async fn parens(call: super::Call, next: super::Next) -> super::Outcome {
        super::around(call, next, "(", ")").await
    }
}

/// One.
#[tool(layer = brackets)]
fn one() -> &'static str {
    "one"
}

/// Two.
#[tool(layer = [brackets, braces, nested::parens])]
async fn two() -> &'static str {
    "two"
}

/// Made by an expression.
#[tool(read_only, layer = [ResponseLimit::new(3).truncate().advice("Less."), Cache::new(Duration::from_secs(1))])]
fn three() -> &'static str {
    "three"
}

/// A closure.
#[tool(layer = |call: Call, next: Next| async move { around(call, next, "<", ">").await })]
fn four() -> &'static str {
    "four"
}

/// A prompt.
#[prompt(layer = brackets)]
fn ask() -> &'static str {
    "ask"
}

/// A resource.
#[resource("text://{id}", layer = brackets)]
fn text(id: u32) -> String {
    id.to_string()
}

struct Shop {
    open: bool,
}

#[handlers(layer = Self::during_hours)]
impl Shop {
    /// Order.
    #[tool(layer = [brackets, Self::signed])]
    fn order(&self, what: String) -> String {
        what
    }

    /// The menu.
    #[resource("menu://today")]
    fn menu(&self) -> &'static str {
        "soup"
    }

    async fn during_hours(&self, call: Call, next: Next) -> Outcome {
        if self.open { next.run(call).await } else { Error::msg("closed").into() }
    }

    async fn signed(&self, call: Call, next: Next) -> Result<Outcome> {
        Ok(around(call, next, "", if self.open { " (open)" } else { " (closed)" }).await)
    }
}

struct Pair<T>(T);

#[handlers(layer = [brackets, Self::braced])]
impl<T: std::fmt::Display> Pair<T> {
    /// The first.
    #[tool(layer = nested::parens)]
    fn first(&self) -> String {
        self.0.to_string()
    }

    async fn braced(&self, call: Call, next: Next) -> Result<Outcome> {
        braces(call, next).await
    }
}

#[tokio::test]
async fn layers_of_attributes_surround_their_handlers() -> Result<()> {
    for &revision in Revision::ALL {
        let server = Server::new("layered", "1.0.0")
            .tools(tools![one, two, three, four])
            .prompts(prompts![ask])
            .resources(resources![text]);
        let client = TestClient::with_revision(server, revision).await?;
        assert_eq!(client.call("one", json!({})).await?.text(), "[one]");
        assert_eq!(client.call("two", json!({})).await?.text(), "[{(two)}]", "the first is the outermost");
        let cut = client.call("three", json!({})).await?.text();
        assert_eq!(cut, "thr\n\n[Cut off after 3 of 5 bytes. Less.]");
        assert_eq!(client.call("four", json!({})).await?.text(), "<four>");
        assert_eq!(client.get_prompt("ask", json!({})).await?.text(), "[ask]");
        assert_eq!(client.read("text://5").await?.text(), "[5]");
        assert_eq!((one(), two().await), ("one", "two"), "functions stay as they are");
    }
    Ok(())
}

#[tokio::test]
async fn layers_of_blocks_are_outside_and_may_be_methods() -> Result<()> {
    let client = TestClient::connect(Server::new("shop", "1").mount(Shop { open: true })).await?;
    assert_eq!(client.call("order", json!({"what": "tea"})).await?.text(), "[tea (open)]");
    assert_eq!(client.read("menu://today").await?.text(), "soup");
    let client = TestClient::connect(Server::new("shop", "1").mount(Shop { open: false })).await?;
    let closed = client.call("order", json!({"what": "tea"})).await?;
    assert_eq!((closed.is_error(), &*closed.text()), (true, "closed"));
    assert_eq!(client.read("menu://today").await.unwrap_err().to_string(), "closed");
    let client = TestClient::connect(Server::new("pair", "1").mount(Pair(7))).await?;
    assert_eq!(client.call("first", json!({})).await?.text(), "[{(7)}]");
    Ok(())
}

#[tokio::test]
async fn macro_rules_may_write_the_attribute() -> Result<()> {
    macro_rules! layered {
        ($name:ident, $layer:expr) => {
            /// Made by a macro.
            #[tool(layer = $layer)]
            fn $name() -> ToolResult {
                ToolResult::text("made")
            }
        };
    }
    layered!(made, brackets);
    let client = TestClient::connect(Server::new("made", "1").tools(tools![made])).await?;
    assert_eq!(client.call("made", json!({})).await?.text(), "[made]");
    Ok(())
}
