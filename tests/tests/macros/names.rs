//! Names: constants on the wire, and functions whose name hides a crate, a module or a type.

use mcp_runtime::prelude::*;

use crate::connect;

const SEARCH: &str = "notes.search";
const SPACE: &str = "notes search";

mod wire {
    pub(super) const REVIEW: &str = "review-note";
    pub(super) const MANUAL: &str = "The manual, in full";
}

#[tool(name = SEARCH)]
fn search() -> &'static str {
    "found"
}

#[prompt(name = wire::REVIEW)]
fn review() -> &'static str {
    "Review it."
}

#[resource("docs://manual", name = wire::MANUAL)]
fn manual() -> &'static str {
    "contents"
}

#[tool(name = SPACE)]
fn space() {}

#[derive(serde::Serialize, Resource)]
#[resource(uri = "config://app", name = wire::MANUAL)]
struct Config {
    theme: String,
}

struct App;

#[handlers]
impl App {
    const STATE: &'static str = "state";

    #[tool(name = Self::STATE)]
    fn of_the_type(&self) -> &'static str {
        "of the type"
    }
}

#[tokio::test]
async fn names_may_be_constants() {
    let server = Server::new("test", "1.0.0").tools(tools![search]).prompts(prompts![review]).mount(App);
    let server = server.resources(resources![manual]).resource(Config { theme: String::new() });
    let client = connect(server).await;
    assert_eq!(client.call("notes.search", json!({})).await.unwrap().text(), "found");
    assert_eq!(client.call("state", json!({})).await.unwrap().text(), "of the type");
    assert_eq!(client.get_prompt("review-note", json!({})).await.unwrap().text(), "Review it.");
    let list = client.request("resources/list", json!({})).await.unwrap();
    assert_eq!(list["resources"][0]["name"], "The manual, in full");
    assert_eq!(list["resources"][1]["name"], "The manual, in full");
}

#[tokio::test]
#[should_panic(expected = "tool name `notes search` contains ` `")]
async fn constant_names_are_checked_when_the_server_starts() {
    connect(Server::new("test", "1.0.0").tools(tools![space])).await;
}

mod hidden {
    use mcp_runtime::prelude::*;

    mod paths {
        pub(super) fn join(a: &str, b: &str) -> String {
            format!("{a}/{b}")
        }
    }

    /// Join two paths.
    #[tool(item = paths_tool)]
    pub(super) fn paths(a: String, b: String) -> String {
        paths::join(&a, &b)
    }

    #[tool(item = str_tool, name = "text")]
    pub(super) fn str(text: String) -> usize {
        length(&text)
    }

    fn length(text: &str) -> usize {
        text.len()
    }

    /// A crate's name, which is the function's, too.
    #[prompt(item = schemars_prompt)]
    pub(super) async fn schemars() -> String {
        schemars::Schema::default().as_value().to_string()
    }

    #[resource("hidden://serde_json", item = serde_json_resource)]
    pub(super) fn serde_json() -> Result<String> {
        Ok(serde_json::to_string("it")?)
    }
}

#[tokio::test]
async fn items_may_have_names_of_their_own() {
    let server = Server::new("test", "1.0.0").tools(tools![hidden::paths_tool, hidden::str_tool]);
    let server = server.prompts(prompts![hidden::schemars_prompt]).resources(resources![hidden::serde_json_resource]);
    let client = connect(server).await;
    assert_eq!(client.call("paths", json!({"a": "x", "b": "y"})).await.unwrap().text(), "x/y");
    assert_eq!(client.call("text", json!({"text": "four"})).await.unwrap().text(), "4");
    assert_eq!(client.get_prompt("schemars", json!({})).await.unwrap().text(), "{}");
    assert_eq!(client.read("hidden://serde_json").await.unwrap().text(), "\"it\"");
    assert_eq!(hidden::paths("a".into(), "b".into()), "a/b");
    assert_eq!(hidden::str("a".into()), 1);
}
