//! The servers that all clients have.

use mcp_runtime::cli::install::{Configuration, Launch, OperatingSystem, Scope, configured};

use super::Place;

fn summary(found: &Configuration) -> Vec<String> {
    let launch = |launch: &Launch| match launch {
        Launch::Command { command, args, env, directory } => {
            let env: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("[{}] {command} {} @{}", env.join(","), args.join(" "), directory.as_deref().unwrap_or("-"))
        }
        Launch::Http { url, headers } => format!("{url} {headers:?}"),
    };
    found
        .servers
        .iter()
        .map(|server| format!("{} {} {}", server.full_name(), server.scope, launch(&server.launch)))
        .collect()
}

#[test]
fn entries_of_every_shape_are_read() {
    let place = Place::linux();
    place.write(
        "home/.cursor/mcp.json",
        "// c\n{\"mcpServers\": {\"a\": {\"command\": \"a\", \"env\": {\"N\": 1}}, \"odd\": 3,}}",
    );
    place.write("home/.codeium/windsurf/mcp_config.json", r#"{"mcpServers": {"b": {"serverUrl": "https://b"}}}"#);
    place.write(
        "home/.gemini/settings.json",
        r#"{"mcpServers": {"c": {"httpUrl": "https://c", "headers": {"K": "v"}}}}"#,
    );
    place.write("home/.codex/config.toml", "[mcp_servers.d]\ncommand = \"d\"\nargs = [\"x\"]\ncwd = \"/d\"\n");
    place.write(
        "home/.config/goose/config.yaml",
        "extensions:\n  developer:\n    type: builtin\n  e:\n    cmd: e\n    args: [x, 2]\n    envs: {A: b}\n",
    );
    place.write(
        "home/.config/opencode/opencode.json",
        r#"{"mcp": {"f": {"command": ["f", "x"], "environment": {"A": "b"}}}}"#,
    );
    place.write(
        "home/.config/zed/settings.json",
        r#"{"context_servers": {"g": {"command": {"path": "g", "args": ["x"]}}}}"#,
    );
    let found = configured(&place.machine);
    let expected = [
        "cursor:a user [N=1] a  @-",
        "codex:d user [] d x @/d",
        r#"gemini:c user https://c [("K", "v")]"#,
        "zed:g user [] g x @-",
        "windsurf:b user https://b []",
        "goose:e user [A=b] e x 2 @-",
        "opencode:f user [A=b] f x @-",
    ];
    assert_eq!(summary(&found), expected);
    assert!(found.unreadable.is_empty());
}

#[test]
fn scopes_and_unreadable_files() {
    let place = Place::linux();
    let project = place.path("project").to_str().unwrap().replace('\\', "/");
    let local = serde_json::json!({
        "mcpServers": {"w": {"command": "user"}},
        "projects": {project: {"mcpServers": {"w": {"command": "local"}}}, "/other": {"mcpServers": {"x": {"command": "x"}}}},
    });
    place.write("home/.claude.json", &local.to_string());
    place.write("project/.mcp.json", r#"{"mcpServers": {"w": {"command": "project"}}}"#);
    place.write("home/.cursor/mcp.json", "{");
    let found = configured(&place.machine);
    let scopes: Vec<(&str, Scope)> = found.servers.iter().map(|server| (server.client.id, server.scope)).collect();
    let expected = [
        ("claude-code", Scope::User),
        ("claude-code", Scope::Local),
        ("claude-code", Scope::Project),
        ("copilot-cli", Scope::Project),
    ];
    assert_eq!(scopes, expected);
    let [unreadable] = found.unreadable.as_slice() else { panic!("{:?}", found.unreadable) };
    assert!(unreadable.to_string().contains("mcp.json:1:"), "{unreadable}");
}

#[test]
fn servers_are_found_by_name() {
    let place = Place::new(OperatingSystem::MacOs);
    place.install("cursor");
    place.install("zed");
    place.install("gemini --name other -- -v");
    place.install("zed --name other");
    let found = configured(&place.machine);
    // the same server in two clients is one server
    assert_eq!(found.find("weather").unwrap().full_name(), "cursor:weather");
    assert_eq!(found.find("zed:weather").unwrap().full_name(), "zed:weather");
    assert_eq!(found.find("gemini:other").unwrap().client.id, "gemini");
    let error = found.find("other").unwrap_err();
    assert_eq!(error.code(), 2);
    assert!(error.to_string().contains("choose gemini:other or zed:other"), "{error}");
    assert!(found.find("wether").unwrap_err().to_string().contains("did you mean `weather`?"));
    assert!(found.find("cursor:other").unwrap_err().to_string().contains("no client"));
    assert!(found.find("nobody:weather").unwrap_err().to_string().contains("no client `nobody`"));
}

#[test]
fn nearest_file_of_a_client_counts() {
    let place = Place::linux();
    place.install("cursor");
    place.install("cursor --scope project -- --local");
    let found = configured(&place.machine);
    for name in ["weather", "cursor:weather"] {
        assert_eq!(found.find(name).unwrap().scope, Scope::Project);
    }
}
