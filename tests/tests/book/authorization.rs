//! `docs/book/authorization.md`, with an issuer on this machine.

use mcp_runtime::Server;
use mcp_runtime::auth::Auth;
use mcp_tests::fake_issuer::FakeIssuer;
use mcp_tests::http::{Ask, Response, Site, call};
use serde_json::{Value, json};

use crate::child::{Address, Place, Program};
use crate::programs::authorization_5;
use crate::services::ask;

/// The names on the page.
const ISSUER: &str = "https://auth.example.com";
const RESOURCE: &str = "https://mcp.example.com/mcp";
const ADDRESS: &str = "127.0.0.1:8080";

/// A call with a token.
fn with_token(tool: &str, arguments: &Value, token: &str) -> Ask {
    call(tool, arguments).with("Authorization", format!("Bearer {token}"))
}

fn text(response: &Response) -> String {
    assert_eq!(response.status, 200, "{response:?}");
    response.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

fn challenge(response: &Response) -> &str {
    response.header("www-authenticate").unwrap_or_else(|| panic!("{response:?}"))
}

pub(crate) async fn program() {
    let (issuer, address) = (FakeIssuer::start().await, Address::free());
    let url = address.url();
    let environment = [(ISSUER, &*issuer.url), (RESOURCE, &*url), ("0.0.0.0:8080", &*address.everywhere())];
    let mut program = Program::start("authorization_1", &environment);
    let refused = program.ask(address.socket, &call("list_notes", &json!({}))).await;
    assert_eq!(refused.status, 401);
    let expected = format!("http://{}/.well-known/oauth-protected-resource/mcp", address.socket);
    let told = challenge(&refused);
    assert!(told.contains(&expected) && told.contains(r#"scope="notes:read""#), "{told}");

    let reader = issuer.access_token(&url, "alice", "notes:read");
    let notes = program.ask(address.socket, &with_token("list_notes", &json!({}), &reader)).await;
    assert_eq!(text(&notes), "the notes of alice");
    let refused = program.ask(address.socket, &with_token("delete_note", &json!({"id": 7}), &reader)).await;
    assert!(refused.status == 403 && challenge(&refused).contains("insufficient_scope"), "{refused:?}");
    let writer = issuer.access_token(&url, "alice", "notes:read notes:write");
    let gone = program.ask(address.socket, &with_token("delete_note", &json!({"id": 7}), &writer)).await;
    assert_eq!(text(&gone), "note 7 of alice is gone");
    program.terminate().await;
}

pub(crate) async fn people_and_machines() {
    let (issuer, address, place) = (FakeIssuer::start().await, Address::free(), Place::new("machines"));
    let (url, backup) = (address.url(), place.file("backup"));
    std::fs::write(&backup, "the-token-of-the-backup\n").unwrap();
    let mut environment = vec![(ISSUER, &*issuer.url), (RESOURCE, &*url), ("/run/secrets/backup", &*backup)];
    let socket = address.to_text();
    environment.push((ADDRESS, &socket));
    // `CI_TOKEN` is not set yet.
    let (succeeded, (_, log)) = Program::start("authorization_2", &environment).ended().await;
    assert!(!succeeded && log.contains("CI_TOKEN"), "{log}");

    environment.push(("CI_TOKEN", "the-token-of-the-machine"));
    let mut program = Program::start("authorization_2", &environment);
    let alice = issuer.access_token(&url, "alice", "notes:read");
    for (token, name) in [("the-token-of-the-machine", "ci"), ("the-token-of-the-backup", "backup"), (&*alice, "alice")]
    {
        let answer = program.ask(address.socket, &with_token("whoami", &json!({}), token)).await;
        assert_eq!(text(&answer), name);
    }
    let refused = program.ask(address.socket, &with_token("whoami", &json!({}), "the-token-of-a-stranger")).await;
    assert!(refused.status == 401 && challenge(&refused).contains("invalid_token"), "{refused:?}");
    program.terminate().await;
}

pub(crate) async fn bound_tokens() {
    let (issuer, address) = (FakeIssuer::start().await, Address::free());
    let (url, socket) = (address.url(), address.to_text());
    let secret = ("NONCE_SECRET", "a secret that all replicas share");
    let mut program =
        Program::start("authorization_3", &[(ISSUER, &issuer.url), (RESOURCE, &url), (ADDRESS, &socket), secret]);
    let stolen = issuer.access_token(&url, "alice", "notes:read");
    let refused = program.ask(address.socket, &with_token("whoami", &json!({}), &stolen)).await;
    assert!(refused.status == 401 && challenge(&refused).starts_with("DPoP "), "{refused:?}");
    program.terminate().await;
}

pub(crate) async fn own_verification() {
    let address = Address::free();
    let (url, socket) = (address.url(), address.to_text());
    let environment = [(ISSUER, ISSUER), (RESOURCE, &*url), (ADDRESS, &*socket)];
    let mut program = Program::start("authorization_4", &environment);
    let answer = program.ask(address.socket, &with_token("whoami", &json!({}), "known")).await;
    assert_eq!(text(&answer), "alice");
    let refused = program.ask(address.socket, &with_token("whoami", &json!({}), "revoked")).await;
    assert!(refused.status == 401 && challenge(&refused).contains("the token is unknown or revoked"), "{refused:?}");
    // An error of the database.
    let refused = program.ask(address.socket, &with_token("whoami", &json!({}), "another")).await;
    assert!(refused.status == 503 && refused.header("retry-after").is_some(), "{refused:?}");
    program.terminate().await;
}

/// The document is where clients of a nested service look for it.
pub(crate) async fn document_in_axum() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let url = format!("http://{address}/mcp");
    let auth = Auth::bearer([("ci", "the-token-of-the-machine")]).resource(&url);
    let service = Server::new("notes", "1.0.0").into_service().authorize(auth);
    let router = authorization_5::router(service);
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let refused = ask(address, &call("whoami", &json!({}))).await;
    let place = challenge(&refused).split("resource_metadata=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let path = place.strip_prefix(&format!("http://{address}")).unwrap();
    let document = ask(address, &Ask::new("GET").at(path)).await;
    assert_eq!((document.status, &document.json()["resource"]), (200, &json!(url)), "{document:?}");
    serving.abort();
}

pub(crate) async fn doctor() {
    let issuer = FakeIssuer::start().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let url = format!("http://{address}/mcp");
    let auth = Auth::jwt(&issuer.url).resource(&url);
    let service = Server::new("notes", "1.0.0").disable_signals().into_service().authorize(auth);
    let handle = service.handle();
    let site = Site { address, handle, serving: tokio::spawn(service.serve_on(listener)) };
    let environment = [(ISSUER, &*issuer.url), (RESOURCE, &*url)];
    let (is_healthy, said) = Program::start("authorization_6", &environment).ended().await;
    assert!(is_healthy, "{said:?}");

    site.handle.shutdown().await;
    site.serving.await.unwrap().unwrap();
    let (is_healthy, (_, log)) = Program::start("authorization_6", &environment).ended().await;
    assert!(!is_healthy && log.contains("nothing listens there"), "{log}");
}
