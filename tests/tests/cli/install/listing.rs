//! `install --list`.

use super::Place;

#[test]
fn list_shows_what_is_on_the_machine() {
    let place = Place::linux();
    place.write("home/.cursor/extensions/x", "");
    place.write("home/.gemini/settings.json", "{ nonsense");
    place.install("zed");
    place.install("codex --name other");
    place
        .write("home/.codeium/windsurf/mcp_config.json", r#"{"mcpServers": {"weather": {"command": "/usr/bin/old"}}}"#);
    place.install("vscode --scope project");
    let list = place.install("--list");
    let lines: Vec<&str> = list.lines().collect();
    let expected = [
        "claude-desktop  not found   ~/.config/Claude/claude_desktop_config.json",
        "claude-code     not found   ~/.claude.json",
        "cursor          found       ~/.cursor/mcp.json",
        "vscode          not found   ~/.config/Code/User/mcp.json",
        &format!("vscode          installed   {} (project)", place.path("project").join(".vscode/mcp.json").display()),
        "codex           installed   ~/.codex/config.toml (as other)",
        "gemini          unreadable  ~/.gemini/settings.json",
        "zed             installed   ~/.config/zed/settings.json",
        "windsurf        installed   ~/.codeium/windsurf/mcp_config.json (runs /usr/bin/old)",
        "goose           not found   ~/.config/goose/config.yaml",
        "lm-studio       not found   ~/.lmstudio/mcp.json",
        "opencode        not found   ~/.config/opencode/opencode.json",
        "copilot-cli     not found   ~/.copilot/mcp-config.json",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn list_looks_for_the_name() {
    let place = Place::linux();
    place.write("home/.cursor/mcp.json", r#"{"mcpServers": {"remote": {"url": "https://example.com/mcp"}}}"#);
    assert!(place.install("--list").contains("cursor          found "));
    let list = place.install("--list --name remote");
    assert!(list.contains("cursor          installed   ~/.cursor/mcp.json (https://example.com/mcp)"), "{list}");
}

#[cfg(unix)]
#[test]
fn list_finds_clients_by_their_programs() {
    let place = Place::linux();
    place.write_script("bin/opencode", "#!/bin/sh\n");
    let bin = place.path("bin");
    let list = place.env("PATH", bin).install("--list");
    assert!(list.contains("opencode        found "), "{list}");
}
