//! Who sent a request: known of calls, and of what is refused, as far as the server got.

use mcp_runtime::auth::{Auth, Rejection, User};
use mcp_runtime::http::HttpService;
use mcp_runtime::observe::{AccessLog, Outcome, Spans, Transport};
use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, Response, Site, call, call_in, initialize, modern};

use crate::recorder::{Recorder, Row, watched};
use crate::subscriber::{self, attribute};

/// A service where the token is the name of its user.
fn guarded() -> (HttpService, Recorder) {
    let (server, recorder, _) = watched();
    let auth = Auth::verify_with(|token: String| async move {
        if token == "nobody" { Err(Rejection::invalid("nobody")) } else { Ok(User::new(token)) }
    })
    .resource("https://mcp.example.com/mcp")
    .authorization_servers(["https://auth.example.com"]);
    let server = server.observe(AccessLog).spans(Spans::new());
    (server.into_service().authorize(auth).request_ids(), recorder)
}

fn of(user: &str, id: &str, ask: Ask) -> Ask {
    ask.with("Authorization", format!("Bearer {user}")).with("X-Request-Id", id)
}

/// What was told of a request by its id.
#[track_caller]
fn row(recorder: &Recorder, id: &str) -> Row {
    let found = recorder.rows().into_iter().find(|row| row.http_request_id.as_deref() == Some(id));
    found.unwrap_or_else(|| panic!("{id}: {:#?}", recorder.rows()))
}

#[tokio::test]
async fn refused_request_has_a_sender() {
    let (service, recorder) = guarded();
    let site = Site::serving(service).await;
    let older = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let modern_header = Ask::post(older.to_string()).with("MCP-Protocol-Version", "2026-07-28");
    let cases: [(&str, Ask, i32); 5] = [
        ("type", modern("tools/list", json!({})).but("Content-Type", "text/plain"), -32600),
        ("mismatch", call("add", &json!({})).but("Mcp-Name", "other"), -32020),
        ("method", modern("no/such/method", json!({})), -32601),
        ("meta", modern_header.with("Mcp-Method", "tools/list"), -32602),
        ("tool", call("nothing", &json!({})), -32602),
    ];
    for (id, ask, code) in cases {
        site.ask(&of("alice", id, ask)).await;
        let row = row(&recorder, id);
        assert_eq!((row.outcome, row.code), (Outcome::Refused, Some(code)), "{id}");
        assert_eq!(row.user.as_deref(), Some("|alice|"), "{id}");
        assert_eq!((row.revision.as_deref(), row.peer.as_deref()), (Some("2026-07-28"), Some("127.0.0.1")), "{id}");
    }
    site.ask(&of("nobody", "token", call("add", &json!({})))).await;
    let row = row(&recorder, "token");
    assert_eq!((row.status, row.user, row.peer.as_deref()), (Some(401), None, Some("127.0.0.1")));
}

async fn open(site: &Site, user: &str) -> String {
    let opened: Response = site.ask(&of(user, "open", initialize("2025-11-25"))).await;
    opened.header("mcp-session-id").unwrap().to_owned()
}

#[tokio::test]
async fn session_of_another_user_is_refused_to_a_known_one() {
    let (service, recorder) = guarded();
    let site = Site::serving(service).await;
    let session = open(&site, "alice").await;
    assert_eq!(site.ask(&of("bob", "theft", call_in(&session, 1, "add", &json!({})))).await.status, 404);
    let theft = row(&recorder, "theft");
    assert_eq!((theft.outcome, theft.user.as_deref()), (Outcome::Refused, Some("|bob|")));
    // In a session of one's own, also what is no call.
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "no/such/method"});
    site.ask(&of("alice", "unknown", mcp_tests::http::in_session(&session, &unknown))).await;
    let unknown = row(&recorder, "unknown");
    assert_eq!((unknown.code, unknown.user.as_deref()), (Some(-32601), Some("|alice|")));
    assert_eq!((unknown.revision.as_deref(), unknown.peer.as_deref()), (Some("2025-11-25"), Some("127.0.0.1")));
    assert_eq!(unknown.transport, Transport::HttpSession);
}

/// By the id of the HTTP request, the lines of a proxy, of the access log and of traces are found.
#[tokio::test]
async fn request_id_is_in_every_record() {
    let collected = subscriber::set();
    let (service, recorder) = guarded();
    let site = Site::serving(service).await;
    let session = open(&site, "alice").await;
    let arguments = json!({"a": 1, "b": 2, "ms": 1});
    for (id, ask) in [
        ("find-me-at-once", call("add", &arguments)),
        ("find-me-later", call("sleep", &arguments)),
        ("find-me-in-session", call_in(&session, 1, "add", &arguments)),
        // No other test is refused so: of refusals that are alike, one per second is logged.
        ("find-me-refused", modern("prompts/get", json!({"name": "poem"})).but("Mcp-Name", "other")),
    ] {
        let response = site.ask(&of("alice", id, ask)).await;
        assert_eq!(response.header("x-request-id"), Some(id));
        row(&recorder, id);
        let lines = collected.access_log.all();
        let field = format!("request_id={id}");
        assert!(lines.iter().any(|line| line.split(' ').any(|part| part == field)), "{id}: {lines:#?}");
        let span =
            collected.span(|span| attribute(span, "http.request.header.x-request-id").as_deref() == Some(id)).await;
        assert!(attribute(&span, "mcp.method.name").is_some());
    }
    let made_up = site.ask(&call("add", &arguments).with("Authorization", "Bearer alice")).await;
    row(&recorder, made_up.header("x-request-id").unwrap());
}

/// Those without a token, and those with too few scopes, for example.
#[tokio::test]
async fn refusals_of_different_statuses_are_different_lines() {
    let collected = subscriber::set();
    let (service, recorder) = guarded();
    let site = Site::serving(service).await;
    let refused = [
        (401, of("nobody", "different-lines", modern("tools/list", json!({})))),
        (403, modern("tools/list", json!({})).but("Host", "evil.example")),
        (415, of("alice", "different-lines", modern("tools/list", json!({})).but("Content-Type", "text/plain"))),
    ];
    for (status, ask) in refused {
        assert_eq!(site.ask(&ask).await.status, status);
        let of_status = |line: &&String| line.contains(&format!("status={status} "));
        let lines = collected.access_log.all();
        // Other tests are refused as well, and their line may be the one of this second.
        assert!(lines.iter().any(|line| of_status(&line) && line.contains("code=-32600")), "{status}: {lines:#?}");
    }
    assert_eq!(recorder.rows().len(), 3, "observers are told of all");
}
