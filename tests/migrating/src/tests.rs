//! What the page says that rmcp does.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::ElicitationSchema;
use rmcp::{ServerHandler, ServiceExt, tool, tool_router};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::http::{Service, stateless, strict};
use crate::lists::{Cookbook, Kitchen};
use crate::negotiation::Atlas;
use crate::rounds::Rounds;

#[derive(Clone)]
struct Twice;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tool_router(server_handler)]
impl Twice {
    #[tool(name = "one", description = "The first.")]
    fn first(&self, _: Parameters<Nothing>) -> String {
        "first".into()
    }

    #[tool(name = "one", description = "The second.")]
    fn second(&self, _: Parameters<Nothing>) -> String {
        "second".into()
    }
}

#[test]
fn of_two_tools_of_one_name_it_keeps_the_second() {
    let tools = Twice::tool_router().list_all();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].description.as_deref(), Some("The second."));
}

/// The `_meta` of a request of 2026-07-28.
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}"#;

/// A request of 2026-07-28 with these members as its params.
fn request(method: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members}{comma}{META}}}}}"#)
}

/// The line that a server writes when it has read this one.
async fn exchange(server: impl ServerHandler, line: &str) -> String {
    let (ours, theirs) = tokio::io::duplex(65_536);
    tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
    let (read, mut write) = tokio::io::split(ours);
    write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    BufReader::new(read).read_line(&mut answer).await.unwrap();
    answer
}

/// What a server answers to a call by a client of 2026-07-28.
async fn answer(server: impl ServerHandler, call: &str) -> String {
    exchange(server, &request("tools/call", &format!(r#"{call},"arguments":{{}}"#))).await
}

#[tokio::test]
async fn it_does_not_elicit_in_2026_07_28() {
    let answer = answer(crate::asking::Asking, r#""name":"delete""#).await;
    assert!(answer.contains(r#""isError":true"#), "{answer}");
}

#[tokio::test]
async fn it_asks_in_rounds_that_the_handler_tells_apart() {
    let asked = answer(Rounds::default(), r#""name":"delete""#).await;
    assert!(asked.contains(r#""resultType":"input_required""#) && asked.contains("Delete all notes?"), "{asked}");
    let answers = r#""inputResponses":{"sure":{"action":"accept","content":{"sure":true}}}"#;
    let done = answer(Rounds::default(), &format!(r#""name":"delete",{answers}"#)).await;
    assert!(done.contains(r#""text":"deleted""#), "{done}");
}

#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for its schema")]
enum Plain {
    #[schemars(title = "When there is time")]
    Low,
}

#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for its schema")]
struct Form {
    priority: Plain,
}

#[test]
fn an_enum_of_a_form_needs_both_hints() {
    let form = ElicitationSchema::from_type::<crate::asking::Ticket>().unwrap();
    let form = serde_json::to_value(form).unwrap();
    let choices = &form["properties"]["priority"]["oneOf"];
    assert_eq!(choices[1]["title"], "Before everything else", "{form}");
    ElicitationSchema::from_type::<Form>().unwrap_err();
}

#[tokio::test]
async fn it_pages_and_hints_as_the_handler_says() {
    let kitchen = || Kitchen { recipes: ["ragu", "pesto", "soup"].map(str::to_owned).to_vec() };
    let first = exchange(kitchen(), &request("resources/list", "")).await;
    assert!(first.contains(r#""nextCursor":"2","ttlMs":60000,"cacheScope":"public""#), "{first}");
    let last = exchange(kitchen(), &request("resources/list", r#""cursor":"2""#)).await;
    assert!(last.contains("recipe://soup") && !last.contains("nextCursor"), "{last}");
    let read = exchange(kitchen(), &request("resources/read", r#""uri":"recipe://soup""#)).await;
    assert!(read.contains(r#""ttlMs":5000,"cacheScope":"private""#), "{read}");
}

#[tokio::test]
async fn it_lists_all_tools_without_a_hint() {
    let listed = exchange(Cookbook, &request("tools/list", r#""cursor":"nonsense""#)).await;
    assert!(listed.contains(r#""name":"search""#) && listed.contains(r#""ttlMs":0"#), "{listed}");
}

#[tokio::test]
async fn it_shows_a_range_and_does_not_check_it() {
    let listed = exchange(Cookbook, &request("tools/list", "")).await;
    assert!(listed.contains(r#""maximum":50"#) && listed.contains("What it is made of."), "{listed}");
    assert!(listed.contains("2020-12/schema"), "{listed}");
    let call = r#""name":"search","arguments":{"ingredient":"leek","limit":51}"#;
    let called = exchange(Cookbook, &request("tools/call", call)).await;
    assert_eq!(called.matches(r#"\"leek soup\""#).count(), 51, "{called}");
}

#[tokio::test]
async fn it_supports_the_revisions_that_the_handler_names() {
    let told = answer(Atlas, r#""name":"revision""#).await;
    assert!(told.contains(r#""text":"2026-07-28""#), "{told}");
    let about = exchange(Atlas, &request("server/discover", "")).await;
    assert!(about.contains(r#""supportedVersions":["2025-11-25","2026-07-28"]"#), "{about}");
    assert!(about.contains(r#""resources":{"subscribe":true}"#), "{about}");
    let old = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
    let offered = exchange(Atlas, old).await;
    assert!(offered.contains(r#""protocolVersion":"2025-11-25""#), "{offered}");
}

/// The status and the body of the response to a request with these headers.
async fn post(service: Service, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .extension("ann".to_owned());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = service.handle(request.body(Body::from(body.to_owned())).unwrap()).await;
    let status = response.status().as_u16();
    let body = to_bytes(Body::new(response.into_body()), usize::MAX).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn it_checks_headers_against_the_body() {
    let body = request("tools/call", r#""name":"forecast","arguments":{"region":"Alps"}"#);
    let sent = |name, region| {
        let method = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call")];
        [method[0], method[1], ("mcp-name", name), ("mcp-param-region", region)]
    };
    let (status, told) = post(stateless(), &sent("forecast", "Alps"), &body).await;
    assert!(status == 200 && told.contains("sunny in Alps"), "{status} {told}");
    for wrong in [sent("forecast", "Andes"), sent("add", "Alps")] {
        let (status, told) = post(stateless(), &wrong, &body).await;
        assert!(status == 400 && told.contains("-32020"), "{status} {told}");
    }
}

#[tokio::test]
async fn it_can_refuse_requests_without_metadata() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}"#;
    let version = [("mcp-protocol-version", "2025-11-25")];
    for headers in [&[][..], &version] {
        let (status, told) = post(stateless(), headers, body).await;
        assert!(status == 200 && told.contains(r#""text":"ann""#), "{status} {told}");
    }
    let (status, told) = post(strict(), &[], body).await;
    assert!(status == 400 && told.contains("-32020"), "{status} {told}");
    let (status, told) = post(strict(), &version, body).await;
    assert!(status == 400 && told.contains("-32602"), "{status} {told}");
}
