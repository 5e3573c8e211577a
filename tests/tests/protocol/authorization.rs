//! Authorization without HTTP: a test client calls as a user, in every revision.

use mcp_runtime::auth::{Auth, User};
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, Tool, prelude::*};

/// Read a note.
#[tool]
fn read_note() -> &'static str {
    "read"
}

/// Write a note.
#[tool(scopes("notes:write"))]
fn write_note(ctx: &Context) -> Result<String> {
    Ok(format!("written by {}", ctx.user()?.subject()))
}

/// Write a note for another user.
#[tool(scopes("notes:write"))]
async fn write_for(ctx: &Context, owner: String) -> Result<String> {
    tokio::task::yield_now().await;
    if owner != ctx.user()?.subject() {
        ctx.require_scopes(["notes:all"])?;
    }
    Ok(owner)
}

/// Who calls.
#[tool]
fn whoami(ctx: &Context) -> Result<String> {
    Ok(ctx.user()?.subject().to_owned())
}

/// A prompt for writers.
#[prompt(scopes("notes:write"))]
fn compose(#[arg(complete = topics)] topic: String) -> String {
    topic
}

/// A note.
#[resource("note://{id}", scopes("notes:all"))]
fn note(#[arg(complete = topics)] id: String) -> String {
    id
}

/// All notes.
#[resource("notes://all", scopes("notes:all"))]
fn all() -> &'static str {
    "all"
}

fn topics(_typed: &str) -> Vec<String> {
    vec!["rust".to_owned()]
}

fn server() -> Server {
    Server::new("notes", "1.0.0")
        .tools(tools![read_note, write_note, write_for, whoami])
        .prompts(prompts![compose])
        .resources(resources![note, all])
}

async fn client(server: Server, revision: Revision, scopes: &[&str]) -> Result<TestClient, ServerError> {
    TestClient::builder(server).revision(revision).user("alice", scopes.iter().copied()).connect().await
}

async fn tools(client: &TestClient) -> Vec<String> {
    client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}

#[track_caller]
fn assert_denied<T: std::fmt::Debug>(result: Result<T, ServerError>, needed: &[&str], missing: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), Some(-31403), "{error}");
    assert_eq!(error.data().unwrap(), &json!({"requiredScopes": needed, "missingScopes": missing}));
    assert!(missing.iter().all(|scope| error.to_string().contains(scope)), "{error}");
}

#[tokio::test]
async fn user_without_a_scope_is_denied_in_every_revision() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let reader = client(server(), revision, &["notes:read"]).await?;
        assert_eq!(reader.call("whoami", json!({})).await?.text(), "alice");
        assert_eq!(tools(&reader).await, ["read_note", "whoami"], "{revision}");
        assert_denied(reader.call("write_note", json!({})).await, &["notes:write"], &["notes:write"]);
        assert_denied(reader.get_prompt("compose", json!({"topic": "a"})).await, &["notes:write"], &["notes:write"]);
        assert_denied(reader.read("note://7").await, &["notes:all"], &["notes:all"]);
        assert_denied(reader.read("notes://all").await, &["notes:all"], &["notes:all"]);
        for reference in
            [json!({"type": "ref/prompt", "name": "compose"}), json!({"type": "ref/resource", "uri": "note://{id}"})]
        {
            let name = if reference["type"] == "ref/prompt" { "topic" } else { "id" };
            let params = json!({"ref": reference, "argument": {"name": name, "value": ""}});
            assert_eq!(reader.request("completion/complete", params).await.unwrap_err().code(), Some(-31403));
        }
        assert!(reader.list_prompts().await?.is_empty());
        assert!(reader.list_resources().await?.is_empty() && reader.list_templates().await?.is_empty());

        let writer = client(server(), revision, &["notes:write"]).await?;
        assert_eq!(writer.call("write_note", json!({})).await?.text(), "written by alice");
        assert_eq!(writer.get_prompt("compose", json!({"topic": "a"})).await?.text(), "a");
        assert_eq!(tools(&writer).await.len(), 4);
        assert_eq!(writer.call("write_for", json!({"owner": "alice"})).await?.text(), "alice");
        let denied = writer.call("write_for", json!({"owner": "bob"})).await;
        assert_denied(denied, &["notes:write", "notes:all"], &["notes:all"]);
    }
    Ok(())
}

#[tokio::test]
async fn baseline_and_hierarchy_are_those_of_the_server() -> Result<()> {
    let auth = || {
        Auth::bearer([("ci", "token-of-the-ci")])
            .resource("https://mcp.example.com/mcp")
            .scopes(["notes:read"])
            .scope_implies(|granted, needed| granted == "notes:write" && needed == "notes:read")
    };
    let nobody = client(server().authorize(auth()), Revision::LATEST, &[]).await?;
    assert_denied(nobody.call("read_note", json!({})).await, &["notes:read"], &["notes:read"]);
    let needed = ["notes:read", "notes:write"];
    assert_denied(nobody.call("write_note", json!({})).await, &needed, &needed);
    let writer = client(server().authorize(auth()), Revision::LATEST, &["notes:write"]).await?;
    assert_eq!(writer.call("read_note", json!({})).await?.text(), "read");
    let shown = client(server().authorize(auth().show_all()), Revision::LATEST, &["notes:read"]).await?;
    assert_eq!(tools(&shown).await.len(), 4);
    assert_denied(shown.call("write_note", json!({})).await, &needed, &["notes:write"]);
    Ok(())
}

/// On stdio the caller has started the server.
#[tokio::test]
async fn local_caller_has_every_scope_or_those_of_local() -> Result<()> {
    let free = TestClient::connect(server()).await?;
    assert_eq!(free.read("notes://all").await?.text(), "all");
    assert_eq!(tools(&free).await.len(), 4);
    let unknown = free.call("whoami", json!({})).await?;
    assert!(unknown.is_error() && unknown.text().contains("TestClientBuilder::user"), "{}", unknown.text());

    let local = TestClient::connect(server().authorize(Auth::local(["notes:write"]))).await?;
    assert_eq!(local.call("write_note", json!({})).await?.text(), "written by local");
    assert_denied(local.read("notes://all").await, &["notes:all"], &["notes:all"]);

    let tokens = Auth::bearer([("ci", "token-of-the-ci")]).resource("https://mcp.example.com/mcp").scopes(["a"]);
    let served = TestClient::connect(server().authorize(tokens)).await?;
    assert_eq!(served.read("notes://all").await?.text(), "all", "tokens are for HTTP");
    Ok(())
}

struct Notes;

#[handlers(scopes("notes:read"))]
#[allow(clippy::unused_self, reason = "handlers of one value")]
impl Notes {
    /// Read.
    #[tool]
    fn get(&self) {}

    /// Write.
    #[tool(scopes("notes:write", "notes:read"))]
    fn put(&self) {}
}

#[tokio::test]
async fn scopes_of_a_block_are_added_to_those_of_its_handlers() -> Result<()> {
    let client = client(Server::new("notes", "1.0.0").mount(Notes), Revision::LATEST, &[]).await?;
    assert_denied(client.call("get", json!({})).await, &["notes:read"], &["notes:read"]);
    let needed = ["notes:read", "notes:write"];
    assert_denied(client.call("put", json!({})).await, &needed, &needed);
    Ok(())
}

#[tokio::test]
async fn handlers_of_run_time_have_scopes() -> Result<()> {
    let tool =
        |scope: &str| Tool::builder("plugin").scopes([scope]).handler(async |_ctx, _args: serde_json::Value| "ok");
    let client = client(Server::new("notes", "1.0.0").tools([tool("notes:write")]), Revision::LATEST, &[]).await?;
    assert_denied(client.call("plugin", json!({})).await, &["notes:write"], &["notes:write"]);
    let wrong =
        std::panic::catch_unwind(|| TestClient::connect_raw(Server::new("notes", "1.0.0").tools([tool("a b")])));
    let text = wrong.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("`a b` is several scopes"), "{text}");
    Ok(())
}

/// What else is known of a user.
#[tool]
fn claims(ctx: &Context) -> Result<String> {
    #[derive(serde::Deserialize)]
    struct Claims {
        email: String,
    }
    let user = ctx.user()?;
    let Claims { email } = user.claims()?;
    Ok(format!("{} {email} {:?} {:?}", user.issuer(), user.client_id(), user.scopes().collect::<Vec<_>>()))
}

/// Whether the caller is of the staff.
#[tool(visible_if = is_staff, scopes("notes:all"))]
fn staff() -> &'static str {
    "welcome"
}

fn is_staff(ctx: &Context) -> bool {
    ctx.user().is_ok_and(|user| user.subject() == "carol")
}

#[tokio::test]
async fn user_has_issuer_client_and_claims() -> Result<()> {
    let user = User::new("7").with_issuer("https://auth.example.com").with_client_id("cli").with_scopes(["a"]);
    let user = user.with_claims(json!({"email": "alice@example.com"}))?;
    let client = TestClient::builder(server().tools(tools![claims])).user_is(user).connect().await?;
    let text = r#"https://auth.example.com alice@example.com Some("cli") ["a"]"#;
    assert_eq!(client.call("claims", json!({})).await?.text(), text);
    Ok(())
}

/// What a predicate hides does not exist, and is not denied.
#[tokio::test]
async fn hidden_is_unknown_before_it_is_forbidden() -> Result<()> {
    let server = || Server::new("notes", "1.0.0").tools(tools![staff]);
    let alice = TestClient::builder(server()).user("alice", ["notes:read"]).connect().await?;
    assert_eq!(alice.call("staff", json!({})).await.unwrap_err().code(), Some(-32602));
    let carol = TestClient::builder(server()).user("carol", ["notes:read"]).connect().await?;
    assert_denied(carol.call("staff", json!({})).await, &["notes:all"], &["notes:all"]);
    Ok(())
}
