//! The headers of 2026-07-28 that repeat the body, and the order of the checks: the first that fails decides the
//! error.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-headers>

use mcp_tests::http::server::site;
use mcp_tests::http::{Ask, Site, call, described, meta, modern};
use serde_json::{Value, json};

const MISMATCH: (u16, i64) = (400, -32020);
const FINE: (u16, i64) = (200, 0);

/// Each of `rows` gets its outcome.
async fn table(site: &Site, rows: impl IntoIterator<Item = (&str, Ask, (u16, i64))>) {
    for (what, ask, expected) in rows {
        let response = site.ask(&ask).await;
        assert_eq!(response.outcome(), expected, "{what}: {response:?}");
        assert_eq!(response.json()["id"], 1, "{what}: the id is echoed");
        assert_eq!(response.header("mcp-session-id"), None, "{what}");
    }
}

#[tokio::test]
async fn version_header_must_match_the_body() {
    let (site, _) = site().await;
    let plain = || modern("tools/list", json!({}));
    let rows = [
        ("present", plain(), FINE),
        ("in another case", plain().without("mcp-protocol-version").with("mCp-PrOtOcOl-VeRsIoN", "2026-07-28"), FINE),
        ("padded", plain().but("MCP-Protocol-Version", "  \t2026-07-28 \t "), FINE),
        ("absent", plain().without("MCP-Protocol-Version"), MISMATCH),
        ("empty", plain().but("MCP-Protocol-Version", ""), MISMATCH),
        ("twice", plain().with("MCP-Protocol-Version", "2026-07-28"), MISMATCH),
        ("a list", plain().but("MCP-Protocol-Version", "2026-07-28, 2026-07-28"), MISMATCH),
        ("another, older", plain().but("MCP-Protocol-Version", "2025-11-25"), MISMATCH),
        ("another, newer", plain().but("MCP-Protocol-Version", "2027-01-01"), MISMATCH),
        ("no text", plain().but("MCP-Protocol-Version", b"2026-07-28\xff"), MISMATCH),
    ];
    table(&site, rows).await;
}

#[tokio::test]
async fn method_header_must_match_the_body() {
    let (site, _) = site().await;
    let plain = || modern("tools/list", json!({}));
    let rows = [
        ("in another case", plain().without("mcp-method").with("MCP-METHOD", "tools/list"), FINE),
        ("padded", plain().but("Mcp-Method", "\t tools/list "), FINE),
        ("absent", plain().without("Mcp-Method"), MISMATCH),
        ("empty", plain().but("Mcp-Method", ""), MISMATCH),
        ("twice", plain().with("Mcp-Method", "tools/list"), MISMATCH),
        ("another", plain().but("Mcp-Method", "prompts/list"), MISMATCH),
        ("the value in another case", plain().but("Mcp-Method", "Tools/List"), MISMATCH),
        ("encoded, which no method is", plain().but("Mcp-Method", "=?base64?dG9vbHMvbGlzdA==?="), MISMATCH),
    ];
    table(&site, rows).await;
}

#[tokio::test]
async fn name_header_must_match_the_body() {
    let (site, _) = site().await;
    let add = || call("add", &json!({"a": 1, "b": 2}));
    let read = |uri| modern("resources/read", json!({"uri": uri}));
    let rows = [
        ("plain", add(), FINE),
        ("in another case", add().without("mcp-name").with("MCP-NAME", "add"), FINE),
        ("padded", add().but("Mcp-Name", "  add\t"), FINE),
        ("encoded without need", add().but("Mcp-Name", "=?base64?YWRk?="), FINE),
        ("absent", add().without("Mcp-Name"), MISMATCH),
        ("empty", add().but("Mcp-Name", ""), MISMATCH),
        ("twice", add().with("Mcp-Name", "add"), MISMATCH),
        ("another", add().but("Mcp-Name", "sub"), MISMATCH),
        ("the value in another case", add().but("Mcp-Name", "Add"), MISMATCH),
        ("not base64", add().but("Mcp-Name", "=?base64?Y!Rk?="), MISMATCH),
        ("base64 without padding", add().but("Mcp-Name", "=?base64?YWRkYQ?="), MISMATCH),
        ("base64 of no UTF-8", add().but("Mcp-Name", "=?base64?/w==?="), MISMATCH),
        ("marks in upper case, which are none", add().but("Mcp-Name", "=?BASE64?YWRk?="), MISMATCH),
        ("a resource", read("note://7"), FINE),
        ("a resource, another", read("note://7").but("Mcp-Name", "note://8"), MISMATCH),
        ("a resource that is no ASCII", read("note://ü").but("Mcp-Name", "=?base64?bm90ZTovL8O8?="), FINE),
        ("the same, not encoded", read("note://ü"), MISMATCH),
        ("a prompt", modern("prompts/get", json!({"name": "greet"})), FINE),
        ("a prompt, absent", modern("prompts/get", json!({"name": "greet"})).without("Mcp-Name"), MISMATCH),
        ("where there is nothing to repeat", modern("tools/list", json!({})).with("Mcp-Name", "whatever"), FINE),
        // What the body lacks is what is wrong.
        ("a body without a name", modern("tools/call", json!({})), (200, -32602)),
        ("a body whose name is a number", modern("tools/call", json!({"name": 5})), (200, -32602)),
    ];
    table(&site, rows).await;
}

#[tokio::test]
async fn missing_headers_are_reported_together() {
    let (site, _) = site().await;
    let add = || call("add", &json!({"a": 1, "b": 2}));
    let (version, method, name) = (
        r#"`mcp-protocol-version` (the body says "2026-07-28")"#,
        r#"`mcp-method` (the body says "tools/call")"#,
        r#"`mcp-name` (the body says "add")"#,
    );
    let none = add().without("MCP-Protocol-Version").without("Mcp-Method").without("Mcp-Name");
    let rows = [
        (none.clone(), vec![version, method, name]),
        (none.clone().with("Mcp-Name", "add"), vec![version, method]),
        (none.clone().with("Mcp-Method", "tools/call"), vec![version, name]),
        (none.clone().with("Mcp-Method", "wrong"), vec![version, name]),
        (none.with("MCP-Protocol-Version", "2026-07-28"), vec![method, name]),
        (add().without("Mcp-Name"), vec![name]),
    ];
    for (ask, missing) in rows {
        let response = site.ask(&ask).await;
        assert_eq!(response.outcome(), MISMATCH, "{response:?}");
        let expected = format!("Header mismatch: missing {}", missing.join(", "));
        assert_eq!(response.json()["error"]["message"], expected);
    }
    let list = modern("tools/list", json!({})).without("Mcp-Method");
    let message = site.ask(&list).await.json()["error"]["message"].clone();
    assert_eq!(message, r#"Header mismatch: missing `mcp-method` (the body says "tools/list")"#, "it is on nothing");
}

#[tokio::test]
async fn encoded_name_header_reaches_tool_lookup() {
    let (site, _) = site().await;
    let search = call("搜索", &json!({})).but("Mcp-Name", "=?base64?5pCc57Si?=");
    let rows = [
        ("encoded", search.clone(), (200, -32602)),
        ("raw bytes, which no header may have", search.but("Mcp-Name", "搜索"), MISMATCH),
    ];
    table(&site, rows).await;
}

#[tokio::test]
async fn param_headers_must_match_the_arguments() {
    let (site, _) = site().await;
    let place = |arguments: Value| call("place", &arguments);
    let eu = || place(json!({"region": "eu"}));
    let tenant = |number: Value| place(json!({"tenant": number}));
    let dry = |flag: bool| place(json!({"dry": flag}));
    let rows = [
        ("none, and none in the body", place(json!({})), FINE),
        ("null in the body", place(json!({"region": null})), FINE),
        ("equal", eu().with("Mcp-Param-Region", "eu"), FINE),
        ("in another case", eu().with("MCP-PARAM-REGION", "eu"), FINE),
        ("padded", eu().with("Mcp-Param-Region", " eu\t"), FINE),
        ("encoded", eu().with("Mcp-Param-Region", "=?base64?ZXU=?="), FINE),
        ("absent", eu(), MISMATCH),
        ("another", eu().with("Mcp-Param-Region", "us"), MISMATCH),
        ("the value in another case", eu().with("Mcp-Param-Region", "EU"), MISMATCH),
        ("twice", eu().with("Mcp-Param-Region", "eu").with("Mcp-Param-Region", "eu"), MISMATCH),
        ("no base64", eu().with("Mcp-Param-Region", "=?base64?ZXU?="), MISMATCH),
        ("there, though the body has none", place(json!({})).with("Mcp-Param-Region", "eu"), MISMATCH),
        ("there, though the body has null", place(json!({"region": null})).with("Mcp-Param-Region", "eu"), MISMATCH),
        ("the empty text", place(json!({"region": ""})).with("Mcp-Param-Region", ""), FINE),
        ("bytes that are no ASCII", place(json!({"region": "ü"})).with("Mcp-Param-Region", "ü"), MISMATCH),
        ("the same, encoded", place(json!({"region": "ü"})).with("Mcp-Param-Region", "=?base64?w7w=?="), FINE),
        ("with spaces inside", place(json!({"region": "a b"})).with("Mcp-Param-Region", "a b"), FINE),
        ("one nobody knows", place(json!({})).with("Mcp-Param-Other", "x"), FINE),
        ("one of another tool", call("add", &json!({"a": 1, "b": 2})).with("Mcp-Param-Region", "x"), FINE),
        ("a number", tenant(json!(42)).with("Mcp-Param-Tenant-Id", "42"), FINE),
        ("the same number", tenant(json!(42)).with("Mcp-Param-Tenant-Id", "42.0"), FINE),
        ("another number", tenant(json!(42)).with("Mcp-Param-Tenant-Id", "43"), MISMATCH),
        ("no number", tenant(json!(42)).with("Mcp-Param-Tenant-Id", "forty"), MISMATCH),
        (
            "a number one more than a double can tell",
            tenant(json!(9_007_199_254_740_993_i64)).with("Mcp-Param-Tenant-Id", "9007199254740992"),
            MISMATCH,
        ),
        ("a flag", dry(true).with("Mcp-Param-Dry", "true"), FINE),
        ("another flag", dry(true).with("Mcp-Param-Dry", "false"), MISMATCH),
        ("a flag in another spelling", dry(true).with("Mcp-Param-Dry", "True"), MISMATCH),
    ];
    table(&site, rows).await;
}

/// Each row passes one check more than the one before.
#[tokio::test]
async fn first_failed_check_decides_the_error() {
    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    let (site, _) = site().await;
    let body = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string().into_bytes()
    };
    let ask = |headers: Ask, method: &str, params: Value| Ask { body: Some(body(method, params)), ..headers };
    let with = |key: &str, value: Value| {
        let mut meta = meta();
        meta[format!("io.modelcontextprotocol/{key}")] = value;
        meta
    };
    let nothing_right = || Ask::post("").with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", "wrong");
    let wrong_version = || described("toolz/list", None).but("MCP-Protocol-Version", "2025-11-25");
    let unknown = with("protocolVersion", json!("v999"));
    let rows = [
        ("no _meta, wrong method header", ask(nothing_right(), "tools/list", json!({})), (400, -32602)),
        ("_meta is a list", ask(nothing_right(), "tools/list", json!({"_meta": []})), (400, -32602)),
        ("the version is a number", ask(nothing_right(), "tools/list", json!({"_meta": {VERSION: 5}})), (400, -32602)),
        ("no capabilities", ask(wrong_version(), "x", json!({"_meta": {VERSION: "v999"}})), (400, -32602)),
        (
            "capabilities are a list",
            ask(wrong_version(), "x", json!({"_meta": with("clientCapabilities", json!([]))})),
            (400, -32602),
        ),
        (
            "clientInfo without a version",
            ask(wrong_version(), "x", json!({"_meta": with("clientInfo", json!({"name": "x"}))})),
            (400, -32602),
        ),
        (
            "an unknown level",
            ask(wrong_version(), "x", json!({"_meta": with("logLevel", json!("loud"))})),
            (400, -32602),
        ),
        (
            "header against body, then an unknown version",
            ask(nothing_right(), "x", json!({"_meta": unknown})),
            MISMATCH,
        ),
        (
            "an unknown version in both, then a wrong method header",
            ask(nothing_right().but("MCP-Protocol-Version", "v999"), "x", json!({"_meta": unknown})),
            (400, -32022),
        ),
        (
            "a wrong method header, then an unknown method",
            ask(nothing_right(), "toolz/list", json!({"_meta": meta()})),
            MISMATCH,
        ),
        (
            "an unknown method",
            ask(described("toolz/list", None), "toolz/list", json!({"_meta": meta()})),
            (404, -32601),
        ),
        (
            "a wrong name header, then wrong argument headers",
            call("place", &json!({"region": "eu"})).but("Mcp-Name", "plaice"),
            MISMATCH,
        ),
        ("a wrong argument header, then wrong arguments", call("place", &json!({"region": "eu", "dry": 5})), MISMATCH),
        ("an unknown tool", call("plaice", &json!({"region": "eu"})), (200, -32602)),
    ];
    table(&site, rows).await;
}

/// A request rejected before dispatch has an HTTP status; a later failure is a 200 with an error.
#[tokio::test]
async fn status_depends_on_where_the_request_failed() {
    let (site, _) = site().await;
    let rows = [
        ("an unknown tool", call("sub", &json!({})), (200, -32602)),
        ("an unknown prompt", modern("prompts/get", json!({"name": "x"})), (200, -32602)),
        ("an unknown resource", modern("resources/read", json!({"uri": "x://y"})), (200, -32602)),
        ("a bad cursor", modern("tools/list", json!({"cursor": "?"})), (200, -32602)),
        ("wrong arguments", call("add", &json!({"a": "x"})), FINE),
        ("a tool that fails", call("fail", &json!({})), FINE),
        ("a code of its own", call("fail_own", &json!({})), (200, 4004)),
        ("a code of the protocol's", call("fail_params", &json!({})), (200, -32602)),
        ("a method that is gone", modern("ping", json!({})), (404, -32601)),
        ("another", modern("logging/setLevel", json!({"level": "info"})), (404, -32601)),
        ("another", modern("resources/subscribe", json!({"uri": "weather://now"})), (404, -32601)),
        ("a handshake", modern("initialize", json!({"protocolVersion": "2026-07-28"})), (404, -32601)),
        ("a task", modern("tasks/get", json!({"taskId": "x"})), (404, -32601)),
        ("a notification with an id", modern("notifications/cancelled", json!({})), (400, -32600)),
    ];
    table(&site, rows).await;
    let response = site
        .ask(
            &modern("tools/list", json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "v999"}}))
                .but("MCP-Protocol-Version", "v999"),
        )
        .await;
    assert_eq!(response.json()["error"]["data"], json!({"supported": ["2026-07-28"], "requested": "v999"}));
}

#[tokio::test]
async fn ids_are_echoed_verbatim() {
    let (site, _) = site().await;
    for id in ["1", "-7", "\"a\\u0062\"", "\"\"", "123456789012345678901234567890"] {
        for (method, status) in [("tools/list", 200), ("toolz/list", 404), ("wrong", 400)] {
            let ask = match method {
                "wrong" => described("tools/list", None),
                method => described(method, None),
            };
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{}}}}}"#, meta());
            let response = site.ask(&Ask { body: Some(body.into()), ..ask }).await;
            assert_eq!(response.status, status);
            assert!(response.text().contains(&format!(r#""id":{id},"#)), "{response:?}");
        }
    }
}

/// Two readers of a duplicate member might disagree on its value.
#[tokio::test]
async fn duplicate_client_info_members_are_rejected() {
    let (site, _) = site().await;
    let plain = modern("tools/list", json!({}));
    let body = String::from_utf8(plain.body.clone().unwrap()).unwrap();
    for (info, outcome) in [
        (r#"{"name":"a","version":"1"}"#, (200, 0)),
        (r#"{"name":"a","name":"b","version":"1"}"#, (400, -32602)),
        (r#"{"name":"a","\ud800":"b","version":"1"}"#, (400, -32602)),
    ] {
        let said = format!(r#""_meta":{{"io.modelcontextprotocol/clientInfo":{info},"#);
        let ask = Ask { body: Some(body.replace(r#""_meta":{"#, &said).into()), ..plain.clone() };
        assert_eq!(site.ask(&ask).await.outcome(), outcome, "{info}");
    }
}

#[tokio::test]
async fn first_content_type_header_wins() {
    let (site, _) = site().await;
    for (first, second, status) in [("application/json", "text/plain", 200), ("text/plain", "application/json", 415)] {
        let ask = modern("tools/list", json!({})).but("Content-Type", first).with("Content-Type", second);
        assert_eq!(site.ask(&ask).await.status, status, "{first}");
    }
}
