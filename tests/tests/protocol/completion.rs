//! `completion/complete`: functions of every shape, and types with default completions. `transcripts/completing/` has
//! the wire format.
#![allow(
    clippy::many_single_char_names,
    clippy::unused_async,
    clippy::unused_self,
    reason = "the shapes of handlers are what is tested, not what they do"
)]

use std::future::Future;

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::CompletionContext;
use mcp_runtime::testing::TestClient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

fn colours(typed: &str) -> Vec<&'static str> {
    ["red", "green", "grey"].into_iter().filter(|colour| colour.starts_with(typed)).collect()
}

/// Paint something.
#[prompt]
fn paint(#[arg(complete = colours)] colour: String, thing: String) -> String {
    format!("Paint the {thing} {colour}.")
}

struct Library {
    titles: Vec<String>,
}

#[handlers]
impl Library {
    /// Review a book.
    #[prompt]
    fn review(&self, #[arg(complete = Self::titles)] title: String) -> String {
        format!("Review {title}.")
    }

    /// A page of a book.
    #[resource("book://{title}/{page}")]
    fn page(&self, #[arg(complete = Self::titles)] title: String, #[arg(complete = numbers)] page: u32) -> String {
        format!("{title}, page {page}")
    }

    async fn titles(&self, typed: &str) -> Vec<String> {
        tokio::task::yield_now().await;
        self.titles.iter().filter(|title| title.starts_with(typed)).cloned().collect()
    }
}

async fn numbers(typed: &str) -> Vec<String> {
    (0..250).map(|number| format!("{typed}{number}")).collect()
}

async fn complete(client: &TestClient, reference: Value, name: &str, value: &str) -> Result<Value, ServerError> {
    let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
    Ok(client.request("completion/complete", params).await?["completion"].take())
}

/// The values for what is typed of an argument of a prompt, with the others that are filled in.
async fn values(client: &TestClient, prompt: &str, name: &str, typed: &str, others: Value) -> Result<Value> {
    let params = json!({
        "ref": {"type": "ref/prompt", "name": prompt},
        "argument": {"name": name, "value": typed},
        "context": {"arguments": others},
    });
    Ok(client.request("completion/complete", params).await?["completion"]["values"].take())
}

fn server() -> Server {
    let library = Library { titles: vec!["Emma".into(), "Persuasion".into()] };
    Server::new("library", "1.0.0").prompts(prompts![paint]).mount(library)
}

#[tokio::test]
async fn completion_works_in_every_revision() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(server(), revision).await?;
        let paint = json!({"type": "ref/prompt", "name": "paint"});
        let values = complete(&client, paint.clone(), "colour", "gr").await?;
        assert_eq!(values, json!({"values": ["green", "grey"], "total": 2, "hasMore": false}));
        let nobody = complete(&client, paint, "thing", "d").await?;
        assert_eq!(nobody, json!({"values": [], "total": 0, "hasMore": false}));
        let review = json!({"type": "ref/prompt", "name": "review"});
        assert_eq!(complete(&client, review, "title", "E").await?["values"], json!(["Emma"]));
        for uri in ["book://{title}/{page}", "book://Emma/1"] {
            let page = json!({"type": "ref/resource", "uri": uri});
            assert_eq!(complete(&client, page, "title", "P").await?["values"], json!(["Persuasion"]));
        }
    }
    Ok(())
}

#[tokio::test]
async fn completion_sends_at_most_a_hundred_values() -> Result<()> {
    let client = TestClient::connect(server()).await?;
    let page = json!({"type": "ref/resource", "uri": "book://{title}/{page}"});
    let values = complete(&client, page, "page", "1").await?;
    assert_eq!(values["values"].as_array().map(Vec::len), Some(100));
    assert_eq!((&values["total"], &values["hasMore"]), (&json!(250), &json!(true)));
    Ok(())
}

#[tokio::test]
async fn unknown_reference_is_an_error() -> Result<()> {
    let client = TestClient::connect(server()).await?;
    let code = |result: Result<Value, ServerError>| result.unwrap_err().code();
    let unknown = json!({"type": "ref/prompt", "name": "sing"});
    assert_eq!(code(complete(&client, unknown, "x", "").await), Some(-32602));
    let unknown = json!({"type": "ref/tool", "name": "paint"});
    assert_eq!(code(complete(&client, unknown, "x", "").await), Some(-32602));
    assert_eq!(code(client.request("completion/complete", json!({})).await), Some(-32602));

    let discovered = client.request("server/discover", json!({})).await?;
    assert_eq!(discovered["capabilities"]["completions"], json!({}));
    let without = TestClient::connect(mcp_tests::fixture::server()).await?;
    assert_eq!(code(without.request("completion/complete", json!({})).await), Some(-32601));
    Ok(())
}

/// What the functions below return: what was typed and what else there is.
fn seen(who: &str, typed: &str, others: &CompletionContext) -> Vec<String> {
    let others = others.iter().map(|(name, text)| format!("{name}={text}"));
    [who.to_owned(), typed.to_owned()].into_iter().chain(others).collect()
}

fn free(typed: &str, others: &CompletionContext) -> Vec<String> {
    seen("free", typed, others)
}

async fn later(typed: &str, others: &CompletionContext) -> Vec<String> {
    tokio::task::yield_now().await;
    seen("later", typed, others)
}

fn borrowed<'a>(typed: &'a str, others: &'a CompletionContext) -> Vec<&'a str> {
    vec!["borrowed", typed, others.get("b").unwrap_or("none")]
}

fn future(typed: &str, others: &CompletionContext) -> impl Future<Output = Vec<String>> + Send + use<> {
    std::future::ready(seen("future", typed, others))
}

/// Free functions.
#[prompt]
fn functions(
    #[arg(complete = free)] a: String,
    #[arg(complete = later)] b: String,
    #[arg(complete = self::borrowed)] c: String,
    #[arg(complete = future)] d: String,
) -> String {
    a + &b + &c + &d
}

struct Shelf(&'static str);

#[handlers]
impl Shelf {
    /// Methods, of a handler that takes the state and of one that does not.
    #[prompt]
    fn methods(
        &self,
        #[arg(complete = Self::now)] a: String,
        #[arg(complete = Self::later)] b: String,
        #[arg(complete = Self::typed)] c: String,
        #[arg(complete = Self::associated)] d: String,
        #[arg(complete = Self::associated_later)] e: String,
    ) -> String {
        a + &b + &c + &d + &e
    }

    /// Without the state.
    #[prompt]
    fn stateless(#[arg(complete = Self::later)] a: String, #[arg(complete = free)] b: String) -> String {
        a + &b
    }

    fn now(&self, typed: &str, others: &CompletionContext) -> Vec<String> {
        seen(self.0, typed, others)
    }

    async fn later(&self, typed: &str, others: &CompletionContext) -> Vec<String> {
        tokio::task::yield_now().await;
        seen(self.0, typed, others)
    }

    fn typed(&self, typed: &str) -> Vec<String> {
        vec![self.0.to_owned(), typed.to_owned()]
    }

    fn associated(typed: &str) -> Vec<String> {
        vec!["associated".to_owned(), typed.to_owned()]
    }

    async fn associated_later(typed: &str, others: &CompletionContext) -> Vec<String> {
        seen("associated", typed, others)
    }
}

#[tokio::test]
async fn completion_functions_may_read_other_arguments() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let server = Server::new("test", "1").prompts(prompts![functions]).mount(Shelf("shelf"));
        let client = TestClient::with_revision(server, revision).await?;
        // Revisions before have no `context`.
        let told = revision >= Revision::V2025_06_18;
        let cases = [
            ("functions", "a", "free"),
            ("functions", "b", "later"),
            ("functions", "d", "future"),
            ("methods", "a", "shelf"),
            ("methods", "b", "shelf"),
            ("methods", "e", "associated"),
            ("stateless", "a", "shelf"),
            ("stateless", "b", "free"),
        ];
        for (prompt, argument, who) in cases {
            // The argument being typed is not one of the others.
            let others = json!({"x": "1", argument: "half", "y": "\u{e9}\n"});
            let expected = if told { json!([who, "t", "x=1", "y=\u{e9}\n"]) } else { json!([who, "t"]) };
            assert_eq!(values(&client, prompt, argument, "t", others).await?, expected, "{prompt} {argument}");
            assert_eq!(values(&client, prompt, argument, "", json!({})).await?, json!([who, ""]));
        }
        let others = json!({"b": "2"});
        let expected = json!(["borrowed", "t", if told { "2" } else { "none" }]);
        assert_eq!(values(&client, "functions", "c", "t", others.clone()).await?, expected);
        assert_eq!(values(&client, "methods", "c", "t", others.clone()).await?, json!(["shelf", "t"]));
        assert_eq!(values(&client, "methods", "d", "t", others).await?, json!(["associated", "t"]));
    }
    Ok(())
}

#[test]
fn arguments_can_be_built_for_tests() {
    let others: CompletionContext = [("language", "rust"), ("tone", "calm")].into_iter().collect();
    assert_eq!((others.get("tone"), others.get("Tone")), (Some("calm"), None));
    assert_eq!(others.iter().last(), Some(("tone", "calm")));
    assert!(!others.is_empty() && CompletionContext::default().is_empty());
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Style {
    /// As it is.
    Plain,
    VeryFancy,
    /// With verve.
    VeryLoud,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Wrapped(Style);

fn only_plain(_: &str) -> Vec<&'static str> {
    vec!["plain"]
}

/// Write something.
#[prompt]
#[expect(clippy::too_many_arguments)]
fn write(
    style: Style,
    optional: Option<Style>,
    #[arg(default = Style::Plain)] with_default: Style,
    #[arg(rename = "new-name")] renamed: Wrapped,
    #[arg(complete = only_plain)] explicit: Style,
    flag: bool,
    perhaps: Option<bool>,
    text: String,
    number: u8,
) -> String {
    format!("{style:?}{optional:?}{with_default:?}{:?}{explicit:?}{flag}{perhaps:?}{text}{number}", renamed.0)
}

/// A picture.
#[resource("picture://{style}/{+path}")]
fn picture(style: Style, path: String) -> String {
    format!("{style:?}{path}")
}

/// Anything.
#[resource("picture://{+anything}")]
fn anything(anything: String) -> String {
    anything
}

/// A square.
#[resource("picture://square-{flag}")]
fn square(flag: bool) -> String {
    flag.to_string()
}

#[tokio::test]
async fn enums_and_booleans_are_completed_by_default() -> Result<()> {
    let client = TestClient::connect(Server::new("test", "1").prompts(prompts![write])).await?;
    let discovered = client.request("server/discover", json!({})).await?;
    assert_eq!(discovered["capabilities"]["completions"], json!({}));
    for argument in ["style", "optional", "with_default", "new-name"] {
        let all = values(&client, "write", argument, "", json!({})).await?;
        assert_eq!(all.as_array().map(Vec::len), Some(3), "{argument}: {all}");
        let very = values(&client, "write", argument, "Very-", json!({})).await?;
        assert_eq!(very, json!(["very-fancy", "very-loud"]), "{argument}");
        assert_eq!(values(&client, "write", argument, "lou", json!({})).await?, json!([]));
    }
    assert_eq!(values(&client, "write", "explicit", "very", json!({})).await?, json!(["plain"]));
    for argument in ["flag", "perhaps"] {
        assert_eq!(values(&client, "write", argument, "", json!({})).await?, json!(["true", "false"]));
        assert_eq!(values(&client, "write", argument, "F", json!({})).await?, json!(["false"]));
    }
    for argument in ["text", "number"] {
        assert_eq!(values(&client, "write", argument, "", json!({})).await?, json!([]));
    }
    // What is offered is what is understood.
    let arguments = json!({
        "style": "very-loud", "new-name": "plain", "explicit": "plain", "flag": "false", "text": "", "number": "1",
    });
    client.get_prompt("write", arguments).await?;
    Ok(())
}

#[tokio::test]
async fn template_is_matched_by_text_before_uri() -> Result<()> {
    let server = Server::new("test", "1").resources(resources![anything, picture, square]);
    let client = TestClient::connect(server).await?;
    let of = |uri: &str| json!({"type": "ref/resource", "uri": uri});
    let plain = complete(&client, of("picture://{style}/{+path}"), "style", "p").await?;
    assert_eq!(plain["values"], json!(["plain"]));
    let square = complete(&client, of("picture://square-{flag}"), "flag", "").await?;
    assert_eq!(square["values"], json!(["true", "false"]));
    // Any other URI is one of a resource, which is read from the first template that matches.
    assert_eq!(complete(&client, of("picture://plain/me"), "style", "p").await?["values"], json!([]));
    Ok(())
}

async fn sleepy(_: &str) -> Vec<String> {
    std::future::pending().await
}

fn clumsy(_: &str) -> Vec<String> {
    panic!("secret details")
}

async fn clumsy_later(_: &str) -> Vec<String> {
    tokio::task::yield_now().await;
    panic!("secret details")
}

/// Waits for nothing, but not forever.
#[prompt(timeout = "20ms")]
async fn troubled(
    #[arg(complete = sleepy)] a: String,
    #[arg(complete = clumsy)] b: String,
    #[arg(complete = clumsy_later)] c: String,
) -> String {
    a + &b + &c
}

#[tokio::test]
async fn failing_completion_function_is_an_internal_error() -> Result<()> {
    let client = TestClient::connect(Server::new("test", "1").prompts(prompts![troubled])).await?;
    let error = values(&client, "troubled", "a", "", json!({})).await.unwrap_err();
    assert_eq!((error.code(), &*error.to_string()), (Some(-32603), "completion/complete timed out after 20ms"));
    for argument in ["b", "c"] {
        let error = values(&client, "troubled", argument, "", json!({})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32603));
        assert_eq!(error.to_string(), "completion/complete failed unexpectedly; the server's log has the details");
    }
    assert_eq!(values(&client, "troubled", "d", "", json!({})).await?, json!([]), "and nothing else is wrong");
    Ok(())
}
