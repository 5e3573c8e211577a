//! A tour: everything the author of a server writes, in one file.
#![allow(clippy::unused_async, unreachable_pub, reason = "the shapes of handlers are what is tested, not what they do")]

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Json, Revision, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Add two integers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

mod text {
    use mcp_runtime::prelude::*;

    /// A title as it can stand in a URL.
    #[tool(read_only)]
    fn slugify(title: String) -> String {
        title.to_lowercase().replace(' ', "-")
    }

    /// Count words.
    #[tool(read_only)]
    fn count(text: String) -> usize {
        text.split_whitespace().count()
    }

    pub fn tools() -> [Tool; 2] {
        tools![slugify, count]
    }
}

/// Draft a commit message for a diff.
#[prompt]
fn commit_message(diff: String, style: Style) -> String {
    format!("Write a {style:?} commit message for:\n{diff}")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Style {
    Plain,
    Conventional,
}

/// The server's settings.
#[derive(Serialize, Resource)]
#[resource(uri = "config://notes", mime = "application/json")]
struct Config {
    root: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Debug, PartialEq)]
struct Hit {
    id: u64,
    title: String,
}

/// Whatever needs state is a method: state is `self`.
struct Notebook {
    db: Db,
}

#[handlers]
impl Notebook {
    /// Find notes by their text.
    #[tool(title = "Search notes", read_only)]
    async fn search(
        &self,
        /// Words that must all occur.
        query: String,
        /// How many hits to return.
        #[arg(default = 10)]
        limit: u32,
        tag: Option<String>,
    ) -> Result<Json<Vec<Hit>>> {
        Ok(Json(self.db.search(&query, limit, tag.as_deref()).await?))
    }

    /// Delete a note.
    #[tool(destructive)]
    async fn delete(&self, ctx: &Context, id: u64) -> Result<String> {
        if ctx.client_name().is_none() {
            return Err(Error::msg("the user kept the note"));
        }
        self.db.delete(id).await?;
        Ok(format!("deleted {id}"))
    }

    /// Rebuild the index. A cancelled call is simply dropped at its next `.await`.
    #[tool]
    async fn reindex(&self, ctx: &Context) -> Result<()> {
        let ids = self.db.ids().await?;
        for (done, id) in ids.iter().enumerate() {
            self.db.index(*id).await?;
            ctx.progress(done + 1, ids.len()).await;
        }
        Ok(())
    }

    /// One note, as Markdown.
    #[resource("note://{id}", mime = "text/markdown")]
    async fn note(&self, id: u64) -> Result<String> {
        Ok(self.db.body(id).await?)
    }

    /// Ask for a review of a note.
    #[prompt]
    async fn review(&self, #[arg(complete = Self::titles)] title: String) -> Result<String> {
        Ok(format!("Review this note:\n\n{}", self.db.by_title(&title).await?))
    }

    async fn titles(&self, prefix: &str) -> Vec<String> {
        self.db.titles(prefix).await
    }
}

fn server() -> Server {
    Server::new("notes", env!("CARGO_PKG_VERSION"))
        .instructions("Search before you create.")
        .tools(tools![add])
        .tools(text::tools())
        .prompts(prompts![commit_message])
        .resource(Config { root: "notes.db".into() })
        .mount(Notebook { db: Db::open() })
}

/// A database that yields, as a real one would.
struct Db;

type Stored<T> = std::io::Result<T>;

impl Db {
    fn open() -> Self {
        Db
    }

    async fn search(&self, query: &str, limit: u32, _tag: Option<&str>) -> Stored<Vec<Hit>> {
        tokio::task::yield_now().await;
        Ok((1..=u64::from(limit)).map(|id| Hit { id, title: format!("{query} {id}") }).take(2).collect())
    }

    async fn delete(&self, id: u64) -> Stored<()> {
        self.body(id).await.map(drop)
    }

    async fn ids(&self) -> Stored<Vec<u64>> {
        Ok(vec![1, 2])
    }

    async fn index(&self, _: u64) -> Stored<()> {
        Ok(())
    }

    async fn body(&self, id: u64) -> Stored<String> {
        tokio::task::yield_now().await;
        if id == 1 { Ok("# One".into()) } else { Err(std::io::Error::other(format!("there is no note {id}"))) }
    }

    async fn by_title(&self, title: &str) -> Stored<String> {
        Ok(format!("# {title}"))
    }

    async fn titles(&self, prefix: &str) -> Vec<String> {
        ["One", "Two"].iter().filter(|title| title.starts_with(prefix)).map(ToString::to_string).collect()
    }
}

#[tokio::test]
async fn handler_stays_a_plain_function() -> Result<()> {
    assert_eq!(add(2, 2), 4); // still a plain function
    let client = TestClient::connect(server()).await?;
    assert_eq!(client.call("add", json!({"a": 2, "b": 2})).await?.text(), "4");
    Ok(())
}

#[tokio::test]
async fn tour_works_in_every_revision() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = TestClient::with_revision(server(), revision).await?;
        let tools: Vec<String> = client.list_tools().await?.into_iter().map(|tool| tool.name).collect();
        assert_eq!(tools, ["add", "slugify", "count", "search", "delete", "reindex"], "in the order of registration");

        let hits = client.call("search", json!({"query": "milk"})).await?;
        assert_eq!(hits.text(), r#"[{"id":1,"title":"milk 1"},{"id":2,"title":"milk 2"}]"#);
        if revision.is_modern() {
            assert_eq!(hits.structured::<Vec<Hit>>()?[1].title, "milk 2");
        }
        assert_eq!(client.call("delete", json!({"id": 1})).await?.text(), "deleted 1");
        let missing = client.call("delete", json!({"id": 7})).await?;
        assert!(missing.is_error());
        assert_eq!(missing.text(), "there is no note 7");
        assert_eq!(client.call("reindex", json!({})).await?.content().len(), 0);

        assert_eq!(client.read("note://1").await?.text(), "# One");
        assert_eq!(client.read("config://notes").await?.text(), r#"{"root":"notes.db"}"#);
        let prompt = client.get_prompt("commit_message", json!({"diff": "+1", "style": "plain"})).await?;
        assert_eq!(prompt.text(), "Write a Plain commit message for:\n+1");
        assert!(client.get_prompt("commit_message", json!({"diff": "+1", "style": "loud"})).await.is_err());
        let style = json!({
            "ref": {"type": "ref/prompt", "name": "commit_message"}, "argument": {"name": "style", "value": "c"},
        });
        let completed = client.request("completion/complete", style).await?;
        assert_eq!(completed["completion"]["values"], json!(["conventional"]), "an enum argument completes itself");
        assert_eq!(client.get_prompt("review", json!({"title": "One"})).await?.text(), "Review this note:\n\n# One");
    }
    Ok(())
}
