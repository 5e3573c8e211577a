//! Durable tasks of users: another replica has their user, but not their token.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::auth::Auth;
use mcp_runtime::prelude::*;
use mcp_runtime::store::MemoryBackend;
use mcp_tests::fake_issuer::FakeIssuer;
use mcp_tests::http::mortal::Mortal;
use mcp_tests::http::{Ask, modern, soon};
use serde::Deserialize;

use super::issuers::RESOURCE;
use super::with;

#[derive(Deserialize)]
struct Claims {
    email: String,
}

struct Desk(Arc<AtomicUsize>);

#[handlers]
impl Desk {
    /// Hang in the first run, and tell who calls in the next.
    #[tool(task, durable, scopes("notes:write"))]
    async fn report(&self, ctx: &Context) -> Result<String> {
        if self.0.fetch_add(1, Ordering::SeqCst) == 0 {
            std::future::pending::<()>().await;
        }
        let user = ctx.user()?;
        ctx.require_scopes(["notes:read"])?;
        let may_purge = ctx.require_scopes(["notes:purge"]).is_ok();
        let Claims { email } = user.claims()?;
        Ok(format!("{} {email} {may_purge} {}", user.subject(), user.expires_at().is_some()))
    }
}

fn request(method: &str, mut params: serde_json::Value) -> Ask {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    modern(method, params)
}

#[tokio::test]
async fn another_replica_knows_the_user() {
    let (issuer, backend, runs) = (FakeIssuer::start().await, MemoryBackend::new(), Arc::<AtomicUsize>::default());
    let replica = async || {
        let mut limits = Limits::default();
        limits.replica_lease = Duration::from_millis(600);
        let server =
            Server::new("desk", "1.0.0").backend(backend.clone()).limits(limits).mount(Desk(Arc::clone(&runs)));
        let auth = Auth::jwt(&issuer.url).resource(RESOURCE);
        let auth = auth.scope_implies(|granted, needed| granted == "notes:write" && needed == "notes:read");
        Mortal::serving(server.into_service().authorize(auth)).await
    };
    let a = replica().await;
    let token = |user: &str| {
        issuer.sign(
            &json!({"aud": RESOURCE, "sub": user, "scope": "notes:write", "email": format!("{user}@example.com")}),
        )
    };
    let call = request("tools/call", json!({"name": "report", "arguments": {}}));
    let created = a.site.ask(&with(call, &token("alice"))).await.json();
    let id = created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}"));
    soon(async {
        while runs.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let b = replica().await;
    a.dies();
    let get = |user: &str| with(request("tasks/get", json!({"taskId": id})), &token(user));
    let task = soon(async {
        loop {
            let task = b.site.ask(&get("alice")).await.json()["result"].take();
            if task["status"] != "working" {
                break task;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(task["result"]["content"][0]["text"], "alice alice@example.com false true", "{task}");
    assert!(b.site.ask(&get("bob")).await.json()["result"].is_null(), "it is not theirs");
}
