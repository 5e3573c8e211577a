//! Authorization over HTTP: what a request gets with a token, without one, and with one that says too little.

mod doctor;
mod document;
mod dpop;
mod durable_tasks;
mod expiry;
mod introspection;
mod isolation;
mod issuers;
mod lists;
mod scopes;
mod set_up;
mod tokens;

use std::time::{Duration, SystemTime};

use mcp_runtime::auth::{Auth, Rejection, User};
use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_tests::http::{Ask, Response, Site};

/// Where the document is, in every challenge.
const METADATA: &str = r#"resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp""#;

struct Notes;

#[handlers]
#[allow(clippy::unused_self, reason = "handlers of one value")]
impl Notes {
    /// Who calls.
    #[tool]
    fn whoami(&self, ctx: &Context) -> Result<String> {
        Ok(ctx.user()?.subject().to_owned())
    }

    /// What the principal is.
    #[tool]
    fn principal(&self, ctx: &Context) -> Option<String> {
        ctx.principal().map(str::to_owned)
    }

    /// Write a note.
    #[tool(scopes("notes:write"))]
    fn write_note(&self, text: String) -> String {
        text
    }

    /// Delete all notes.
    #[tool(scopes("notes:write", "notes:purge"))]
    fn purge(&self) -> &'static str {
        "gone"
    }

    /// Write a note, later.
    #[tool(task, scopes("notes:write"))]
    async fn write_later(&self) -> &'static str {
        tokio::task::yield_now().await;
        "written"
    }

    /// Read somebody's note.
    #[tool]
    fn read_of(&self, ctx: &Context, owner: String) -> Result<String> {
        if owner != ctx.user()?.subject() {
            ctx.require_scopes(["notes:all"])?;
        }
        Ok(format!("the note of {owner}"))
    }

    /// Wait, then need more scopes.
    #[tool(scopes("notes:write"))]
    async fn waits(&self, ctx: &Context, tells: bool) -> Result<&'static str> {
        if tells {
            ctx.log(LogLevel::Warning, "hm").await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        ctx.require_scopes(["notes:all"])?;
        Ok("all of them")
    }

    /// Tell once, and then wait for long.
    #[tool]
    async fn hum(&self, ctx: &Context) {
        ctx.log(LogLevel::Warning, "hm").await;
        tokio::time::sleep(Duration::from_secs(10 * 60)).await;
    }

    /// A task that waits.
    #[tool(task)]
    async fn long(&self) {
        tokio::time::sleep(Duration::from_secs(10 * 60)).await;
    }

    /// Ask before going on.
    #[tool]
    async fn ask(&self, ctx: &Context) -> Result<String> {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        struct Sure {
            sure: bool,
        }
        let Sure { sure } = ctx.elicit("Sure?").await?;
        Ok(format!("{}: {sure}", ctx.user()?.subject()))
    }

    /// A prompt for writers.
    #[prompt(scopes("notes:write"))]
    fn compose(&self, #[arg(complete = topics)] topic: String) -> String {
        topic
    }

    /// All notes.
    #[resource("notes://all", scopes("notes:all"), subscribe)]
    fn all(&self) -> &'static str {
        "all"
    }

    /// My notes.
    #[resource("notes://mine", subscribe)]
    fn mine(&self) -> &'static str {
        "mine"
    }

    /// A note.
    #[resource("note://{id}", scopes("notes:all"))]
    fn note(&self, #[arg(complete = topics)] id: String) -> String {
        id
    }
}

fn topics(_typed: &str) -> Vec<String> {
    vec!["rust".to_owned()]
}

fn server() -> Server {
    Server::new("notes", "1.0.0").mount(Notes)
}

/// A token is `NAME@CLIENT;SCOPE+SCOPE;MILLIS`; it lives for so many milliseconds, if it says so. The client is `cli`, if it
/// does not say.
#[allow(clippy::unused_async, reason = "as one that asks elsewhere")]
async fn verify(token: String) -> Result<User, Rejection> {
    if token == "away" {
        return Err(Rejection::unavailable(Duration::from_secs(7)));
    }
    let mut parts = token.split(';');
    let user = parts.next().unwrap_or_default();
    let (name, client) = user.split_once('@').unwrap_or((user, "cli"));
    if !["alice", "bob", "carol"].contains(&name) {
        return Err(Rejection::invalid("the token is unknown"));
    }
    let scopes = parts.next().unwrap_or_default().split('+').filter(|scope| !scope.is_empty());
    let user = User::new(name).with_issuer("https://auth.example.com").with_client_id(client).with_scopes(scopes);
    Ok(match parts.next().map(|millis| millis.parse().unwrap()) {
        Some(millis) => user.with_expiry(SystemTime::now() + Duration::from_millis(millis)),
        None => user,
    })
}

fn auth() -> Auth {
    Auth::verify_with(verify)
        .resource("https://mcp.example.com/mcp")
        .authorization_servers(["https://auth.example.com"])
        .scopes(["notes:read"])
}

fn service() -> HttpService {
    server().into_service().authorize(auth())
}

async fn site() -> Site {
    Site::serving(service()).await
}

/// A request with a token.
fn with(ask: Ask, token: &str) -> Ask {
    ask.with("Authorization", format!("Bearer {token}"))
}

/// The token of a user with these scopes, joined by `+`.
fn token(name: &str, scopes: &str) -> String {
    format!("{name};{scopes}")
}

#[track_caller]
fn challenge(response: &Response) -> &str {
    response.header("www-authenticate").unwrap_or_else(|| panic!("no challenge: {response:?}"))
}
