//! Checks before dispatch: hosts, origins, methods, bodies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_runtime::Revision;
use mcp_tests::http::server::{server, site, site_within};
use mcp_tests::http::{Ask, Site, call, modern, soon, stream_of};
use serde_json::json;

#[tokio::test]
async fn host_and_origin_are_checked_for_every_method() {
    let (site, _) = site().await;
    let session = site.session(Revision::V2025_11_25).await;
    let post = modern("tools/list", json!({}));
    let get = stream_of(&session);
    let delete = Ask { method: "DELETE".into(), ..get.clone() };
    let options = Ask::new("OPTIONS").with("Access-Control-Request-Method", "POST");
    for ask in [post.clone(), get, delete, options, Ask::new("PUT")] {
        let strangers = [
            ask.clone().but("Host", "evil.example"),
            ask.clone().but("Host", "localhost.evil.example"),
            ask.clone().with("Origin", "http://evil.example"),
            ask.clone().with("Origin", "http://localhost.evil.example"),
            ask.clone().with("Origin", "null"),
            ask.clone().with("Origin", "http://localhost").with("Origin", "http://evil.example"),
            ask.clone().but("Host", "evil.example").with("Origin", "http://evil.example"),
        ];
        for stranger in strangers {
            let response = site.ask(&stranger).await;
            assert_eq!(response.outcome(), (403, -32600), "{stranger:?}");
            assert_eq!(response.header("access-control-allow-origin"), None);
        }
    }
    let number = site.address.port();
    for host in ["localhost", "127.0.0.1", "[::1]", "LocalHost"] {
        for host in [host.to_owned(), format!("{host}:{number}")] {
            let friend = post.clone().but("Host", &host).with("Origin", format!("http://{host}"));
            assert_eq!(site.ask(&friend).await.status, 200, "{host}");
        }
    }
    for (target, status) in [("http://localhost/mcp", 200), ("http://evil.example/mcp", 403), ("/elsewhere", 404)] {
        let bytes = String::from_utf8(post.bytes()).unwrap().replacen("/mcp", target, 1);
        let mut wire = site.open().await;
        wire.send(bytes.as_bytes()).await;
        assert_eq!(wire.response().await.status, status, "{target}");
    }
    let preflight = Ask::new("OPTIONS").with("Origin", "http://localhost:3000");
    assert_eq!(site.ask(&preflight).await.status, 405, "no page is told that it may");
}

#[tokio::test]
async fn allow_hosts_and_allow_origins_replace_the_defaults() {
    let state = Arc::default();
    let service =
        server(&state).into_service().allow_hosts(["api.example.com"]).allow_origins(["https://app.example.com"]);
    let site = Site::serving(service).await;
    let ask = |host: &str| modern("tools/list", json!({})).but("Host", host);
    assert_eq!(site.ask(&ask("api.example.com")).await.status, 200);
    assert_eq!(site.ask(&ask("api.example.com:8443").with("Origin", "https://app.example.com")).await.status, 200);
    assert_eq!(site.ask(&ask("api.example.com").with("Origin", "https://app.example.com:444")).await.status, 403);
    assert_eq!(site.ask(&ask("api.example.com").with("Origin", "http://app.example.com")).await.status, 403);
    assert_eq!(site.ask(&ask("localhost")).await.status, 403);
}

#[tokio::test]
async fn any_host_does_not_admit_every_origin() {
    let state = Arc::default();
    let service = || server(&state).into_service().allow_hosts(["*"]);
    let page = || modern("tools/list", json!({})).but("Host", "mcp.internal").with("Origin", "https://evil.example");
    let site = Site::serving(service()).await;
    assert_eq!(site.ask(&modern("tools/list", json!({})).but("Host", "mcp.internal")).await.status, 200);
    assert_eq!(site.ask(&page()).await.status, 403);
    let site = Site::serving(service().allow_origins(["*"])).await;
    assert_eq!(site.ask(&page()).await.status, 200);
}

/// The error names the option to set, and says that its list replaces the default.
#[tokio::test]
async fn forbidden_host_or_origin_names_the_option() {
    let (site, _) = site().await;
    let list = || modern("tools/list", json!({}));
    let rows = [
        (list().but("Host", "evil.example"), "host `evil.example`", "name it in `HttpService::allow_hosts`"),
        (list().with("Origin", "http://a.example"), "origin `http://a.example`", "`HttpService::allow_origins`"),
    ];
    for (ask, who, option) in rows {
        let response = site.ask(&ask).await;
        let message = response.json()["error"]["message"].as_str().unwrap().to_owned();
        for part in [who, option, "whose list replaces the default one"] {
            assert!(message.contains(part), "{message}");
        }
    }
}

#[test]
#[should_panic(expected = "host `mcp.example.com:8095` can never match: hosts are compared without ports; \
                           write `mcp.example.com`")]
fn allow_hosts_panics_on_a_port() {
    let _ = server(&Arc::default()).into_service().allow_hosts(["localhost", "mcp.example.com:8095"]);
}

#[test]
#[should_panic(expected = "origin `app.example.com` can never match: an origin is a scheme and a host, like \
                           `https://app.example.com`")]
fn allow_origins_panics_without_a_scheme() {
    let _ = server(&Arc::default()).into_service().allow_origins(["app.example.com"]);
}

/// Authentication is for a layer in front: the `principal` hook only names callers.
#[tokio::test]
async fn request_without_principal_is_served() {
    let site = Site::serving(server(&Arc::default()).into_service().principal(|_| None)).await;
    assert_eq!(site.ask(&modern("tools/list", json!({}))).await.status, 200);
    site.session(Revision::V2025_11_25).await;
}

#[tokio::test]
async fn unsupported_methods_get_405() {
    let (site, _) = site().await;
    for method in ["HEAD", "PUT", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let response = site.ask(&Ask::new(method)).await;
        assert_eq!((response.status, response.header("allow")), (405, Some("POST, GET, DELETE")), "{method}");
    }
    site.serves().await;
}

#[tokio::test]
async fn content_type_must_be_json() {
    let (site, _) = site().await;
    let add = || call("add", &json!({"a": 1, "b": 2}));
    for fine in ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;x=y"] {
        assert_eq!(site.ask(&add().but("Content-Type", fine)).await.status, 200, "{fine}");
    }
    for wrong in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", "", "ü"]
    {
        assert_eq!(site.ask(&add().but("Content-Type", wrong)).await.outcome(), (415, -32600), "{wrong}");
    }
    assert_eq!(site.ask(&add().without("Content-Type")).await.status, 415);
}

#[tokio::test]
async fn malformed_bodies_are_rejected() {
    let (site, _) = site().await;
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{}{}}}"#, "[".repeat(50_000), "]".repeat(50_000));
    let rows: [(&[u8], (u16, i64), &str); 13] = [
        (b"", (400, -32700), "null"),
        (b"{", (400, -32700), "null"),
        (b"nonsense", (400, -32700), "null"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}", (400, -32700), "null"),
        (b"5", (400, -32600), "null"),
        (b"null", (400, -32600), "null"),
        (br#"{"id":7,"method":"ping"}"#, (400, -32600), "7"),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, (400, -32600), "null"),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, (400, -32600), "null"),
        (br#"{"jsonrpc":"2.0","id":7}"#, (400, -32600), "7"),
        (br#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, (400, -32600), "null"),
        (br#"{"jsonrpc":"2.0","id":7,"method":"ping"} {}"#, (400, -32700), "null"),
        (deep.as_bytes(), (400, -32600), "7"),
    ];
    for (body, expected, id) in rows {
        let response = site.ask(&Ask::post(body)).await;
        assert_eq!(response.outcome(), expected, "{response:?}");
        assert_eq!(response.json()["id"].to_string(), id, "{response:?}");
    }
    let open = "[".repeat(100_000);
    assert_eq!(site.ask(&Ask::post(open)).await.status, 400);
    site.serves().await;
}

#[tokio::test]
async fn body_over_message_bytes_gets_413() {
    let (site, _) = site_within(|limits| limits.message_bytes = 10_000).await;
    let just = |length: usize| {
        let empty = call("fail", &json!({"x": ""})).body.unwrap().len();
        call("fail", &json!({"x": "y".repeat(length - empty)}))
    };
    assert_eq!(just(10_000).body.unwrap().len(), 10_000);
    assert_eq!(site.ask(&just(10_000)).await.status, 200);
    assert_eq!(site.ask(&just(10_001)).await.outcome(), (413, -32600));

    // Announced, and refused before any of it is sent.
    let mut wire = site.open().await;
    let head =
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n";
    wire.send(head).await;
    assert_eq!(wire.response().await.status, 413);

    // Never announced.
    let mut wire = site.open().await;
    wire.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    for _ in 0..20 {
        wire.send(format!("400\r\n{}\r\n", "x".repeat(0x400)).as_bytes()).await;
    }
    assert_eq!(wire.response().await.status, 413);
    assert!(wire.is_closed().await, "the rest of the body is not read as a request");
    site.serves().await;
}

#[tokio::test]
async fn chunked_bodies_are_accepted() {
    let (site, _) = site().await;
    let ask = call("add", &json!({"a": 1, "b": 2}));
    let body = ask.body.clone().unwrap();
    let mut bytes = Ask { body: None, ..ask.with("Transfer-Encoding", "chunked") }.bytes();
    for part in body.chunks(7) {
        bytes.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    let mut wire = site.open().await;
    wire.send(&bytes).await;
    assert_eq!(wire.response().await.outcome(), (200, 0));
}

#[tokio::test]
async fn slow_request_times_out() {
    let (site, _) = site_within(|limits| limits.request_timeout = Duration::from_millis(150)).await;
    let ask = call("add", &json!({"a": 1, "b": 2})).bytes();
    // Nothing; a part of the head, byte by byte; a part of the body, byte by byte.
    for sent in [0, 20, ask.len() - 40] {
        let mut wire = site.open().await;
        let begun = Instant::now();
        wire.send(&ask[..sent]).await;
        for byte in &ask[sent..sent + 10] {
            wire.send(&[*byte]).await;
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        let head = soon(wire.try_head()).await;
        assert!(head.is_none_or(|head| head.status == 408), "{sent} bytes");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    site.serves().await;
}

#[tokio::test]
async fn truncated_body_runs_nothing() {
    let (site, state) = site().await;
    let ask = call("sleep", &json!({"ms": 1})).bytes();
    let mut wire = site.open().await;
    wire.send(&ask[..ask.len() - 5]).await;
    drop(wire);
    site.serves().await;
    assert_eq!(state.begun.load(std::sync::atomic::Ordering::SeqCst), 0);
}
