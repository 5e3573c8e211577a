//! Lists show what the caller may call, and are not shared between callers.

use mcp_runtime::auth::Auth;
use mcp_tests::http::{Site, call, modern};
use serde_json::{Value, json};

use super::{auth, server, site, token, verify, with};

async fn list(site: &Site, method: &str, token: Option<&str>) -> Value {
    let ask = modern(method, json!({}));
    let ask = token.map_or(ask.clone(), |token| with(ask, token));
    let response = site.ask(&ask).await;
    assert_eq!(response.status, 200, "{response:?}");
    response.json()["result"].take()
}

fn names(list: &Value) -> Vec<&str> {
    let items = ["tools", "prompts", "resources", "resourceTemplates"].iter().find_map(|key| list[key].as_array());
    items.unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn lists_show_what_the_caller_may_call() {
    let site = site().await;
    let (reader, writer) = (token("alice", "notes:read"), token("bob", "notes:read+notes:write+notes:all"));
    let open = ["whoami", "principal", "read_of", "hum", "long", "ask"];
    // In turns: nobody gets a page that was rendered for another.
    for _ in 0..2 {
        assert_eq!(names(&list(&site, "tools/list", Some(&reader)).await), open);
        let all = list(&site, "tools/list", Some(&writer)).await;
        assert!(names(&all).contains(&"write_note") && !names(&all).contains(&"purge"), "{all}");
        assert_eq!(names(&list(&site, "prompts/list", Some(&reader)).await), [""; 0]);
        assert_eq!(names(&list(&site, "prompts/list", Some(&writer)).await), ["compose"]);
        assert_eq!(names(&list(&site, "resources/list", Some(&reader)).await), ["mine"]);
        assert_eq!(names(&list(&site, "resources/list", Some(&writer)).await), ["all", "mine"]);
        assert_eq!(names(&list(&site, "resources/templates/list", Some(&reader)).await), [""; 0]);
        assert_eq!(names(&list(&site, "resources/templates/list", Some(&writer)).await), ["note"]);
    }
}

/// A tool that is not shown is not unknown: the client can ask its user for more.
#[tokio::test]
async fn hidden_tool_is_denied_and_unknown_tool_is_unknown() {
    let site = site().await;
    let reader = token("alice", "notes:read");
    assert_eq!(site.ask(&with(call("purge", &json!({})), &reader)).await.status, 403);
    let unknown = site.ask(&with(call("purg", &json!({})), &reader)).await;
    assert_eq!(unknown.json()["error"]["code"], -32602);
    assert!(!unknown.text().contains("purge"), "no hint at what they may not call: {unknown:?}");
}

#[tokio::test]
async fn show_all_shows_all() {
    let site = Site::serving(server().into_service().authorize(auth().show_all())).await;
    let reader = token("alice", "notes:read");
    assert!(names(&list(&site, "tools/list", Some(&reader)).await).contains(&"purge"));
    assert_eq!(site.ask(&with(call("purge", &json!({})), &reader)).await.status, 403);
}

#[tokio::test]
async fn protected_lists_and_contents_are_never_public() {
    let public = || {
        use mcp_runtime::protocol::CacheHint;
        server().cache_hint(CacheHint::public(std::time::Duration::from_secs(60)))
    };
    let reader = token("alice", "notes:read");
    for auth in [auth(), auth().show_all(), Auth::any_of([Auth::verify_with(verify)]).resource("https://h/mcp")] {
        let site = Site::serving(public().into_service().authorize(auth)).await;
        for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover"] {
            assert_eq!(list(&site, method, Some(&reader)).await["cacheScope"], "private", "{method}");
        }
        let read = site.ask(&with(modern("resources/read", json!({"uri": "notes://mine"})), &reader)).await;
        assert_eq!(read.json()["result"]["cacheScope"], "private");
    }
    // Where everybody is served, what is the same for everybody may be shared.
    let site = Site::serving(public().into_service().authorize(auth().optional())).await;
    let read = site.ask(&modern("resources/read", json!({"uri": "notes://mine"}))).await;
    assert_eq!(read.json()["result"]["cacheScope"], "public", "{read:?}");
    assert_eq!(list(&site, "tools/list", None).await["cacheScope"], "private", "some have scopes");
    assert_eq!(list(&site, "server/discover", None).await["cacheScope"], "public");
}
