//! The commands of clients: a script on `PATH` writes down what it is called with.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use mcp_runtime::cli::install::InstallCommand;

use super::Place;

/// A place with a client's command, which records its arguments, one per line.
fn with_command(name: &str, then: &str) -> Place {
    let place = Place::linux();
    let log = place.path("log");
    let script =
        format!("#!/bin/sh\nfor word in \"$@\"; do printf '%s\\n' \"$word\" >> '{}'; done\n{then}\n", log.display());
    place.write_script(&format!("bin/{name}"), &script);
    let path = place.path("bin");
    place.env("PATH", path)
}

fn words(place: &Place) -> Vec<String> {
    place.read("log").lines().map(str::to_owned).collect()
}

#[test]
fn claude_adds_and_removes() {
    let place = with_command("claude", "");
    let said = place.install("claude-code --env KEY=1 --env B=2 -- -v");
    let line = "Running claude mcp add --env B=2 --env KEY=1 --transport stdio --scope user weather -- \
                /opt/weather/bin/weather -v";
    assert!(said.contains(line), "{said}");
    assert!(said.contains("Installed weather in Claude Code"), "{said}");
    assert_eq!(
        words(&place).join(" "),
        "mcp add --env B=2 --env KEY=1 --transport stdio --scope user weather -- /opt/weather/bin/weather -v"
    );
    assert!(!place.path("home/.claude.json").exists());
}

#[test]
fn claude_adds_remote_servers_and_projects() {
    let place = with_command("claude", "");
    place.install("claude-code --http https://example.com/mcp --header X-Key:abc --scope project");
    let expected = [
        "mcp",
        "add",
        "--header",
        "X-Key: abc",
        "--transport",
        "http",
        "--scope",
        "project",
        "weather",
        "https://example.com/mcp",
    ];
    assert_eq!(words(&place), expected);
}

#[test]
fn codex_adds() {
    let place = with_command("codex", "");
    place.install("codex --env KEY=1 -- -v");
    assert_eq!(words(&place), ["mcp", "add", "weather", "--env", "KEY=1", "--", "/opt/weather/bin/weather", "-v"]);
}

#[test]
fn codex_cannot_add_headers_or_projects_itself() {
    let place = with_command("codex", "");
    place.install("codex --http https://example.com/mcp --header X-Key:abc");
    place.install("codex --scope project");
    assert!(!place.path("log").exists());
    assert!(place.read("home/.codex/config.toml").contains("X-Key"));
    assert!(place.read("project/.codex/config.toml").contains("weather"));
    place.install("codex --name second --http https://example.com/mcp");
    assert_eq!(words(&place), ["mcp", "add", "second", "--url", "https://example.com/mcp"]);
}

#[test]
fn copilot_adds_for_the_user() {
    let place = with_command("copilot", "");
    place.install("copilot-cli --env KEY=1 -- -v");
    let expected = "mcp add --env KEY=1 --transport stdio weather -- /opt/weather/bin/weather -v";
    assert_eq!(words(&place).join(" "), expected);
    place.install("copilot-cli --scope project");
    assert_eq!(words(&place).join(" "), expected);
    assert!(place.read("project/.mcp.json").contains("weather"));
}

#[test]
fn gemini_adds() {
    let place = with_command("gemini", "");
    place.install("gemini --env KEY=1 -- -v");
    let expected = [
        "mcp",
        "add",
        "--env",
        "KEY=1",
        "--transport",
        "stdio",
        "--scope",
        "user",
        "weather",
        "/opt/weather/bin/weather",
        "--",
        "-v",
    ];
    assert_eq!(words(&place), expected);
}

#[test]
fn code_adds_json() {
    let place = with_command("code", "");
    let said = place.install("vscode");
    let json = r#"{"name":"weather","type":"stdio","command":"/opt/weather/bin/weather","args":[]}"#;
    assert!(said.contains(&format!("Running code --add-mcp '{json}'")), "{said}");
    assert_eq!(words(&place), ["--add-mcp", json]);
    // it has no command to remove one
    place.write("home/.config/Code/User/mcp.json", r#"{"servers": {"weather": {"command": "x"}}}"#);
    place.uninstall("vscode");
    assert_eq!(words(&place).len(), 2);
    assert!(!place.read("home/.config/Code/User/mcp.json").contains("weather"));
}

#[test]
fn commands_remove() {
    for (command, client, path, text, expected) in [
        (
            "claude",
            "claude-code",
            ".claude.json",
            r#"{"mcpServers":{"weather":{"command":"x"}}}"#,
            "mcp remove --scope user weather",
        ),
        (
            "gemini",
            "gemini",
            ".gemini/settings.json",
            r#"{"mcpServers":{"weather":{"command":"x"}}}"#,
            "mcp remove --scope user weather",
        ),
        ("codex", "codex", ".codex/config.toml", "[mcp_servers.weather]\ncommand = \"x\"\n", "mcp remove weather"),
        (
            "copilot",
            "copilot-cli",
            ".copilot/mcp-config.json",
            r#"{"mcpServers":{"weather":{"command":"x"}}}"#,
            "mcp remove weather",
        ),
    ] {
        let place = with_command(command, &format!("rm ../home/{path}"));
        place.write(&format!("home/{path}"), text);
        let dry = place.uninstall(&format!("{client} --dry-run"));
        assert!(dry.contains(&format!("Would run {command} {expected}")), "{dry}");
        assert!(!place.path("log").exists());
        let said = place.uninstall(client);
        assert!(said.contains("Uninstalled weather from"), "{said}");
        assert_eq!(words(&place).join(" "), expected);
    }
}

#[test]
fn failure_shows_what_the_command_said_and_the_way_around() {
    let place = with_command("claude", "echo 'not logged in' >&2; echo 'run claude login' >&2; exit 3");
    let error = place.refused("claude-code");
    assert_eq!(error.code(), 1);
    let error = error.to_string();
    assert!(error.contains("not logged in\n    run claude login"), "{error}");
    assert!(error.contains("exit status: 3"), "{error}");
    assert!(error.contains("`--edit` edits ~/.claude.json instead"), "{error}");
    place.install("claude-code --edit");
    assert!(place.read("home/.claude.json").contains("weather"));
}

#[test]
fn existing_entry_is_updated_in_the_file() {
    // the commands replace a whole entry, or refuse to
    let place = with_command("claude", "");
    place.write("home/.claude.json", r#"{"mcpServers": {"weather": {"command": "/old", "timeout": 5}}}"#);
    let said = place.install("claude-code");
    assert!(said.contains("Updated weather in Claude Code"), "{said}");
    assert!(!place.path("log").exists());
    let text = place.read("home/.claude.json");
    assert!(text.contains("\"timeout\": 5") && text.contains("/opt/weather/bin/weather"), "{text}");
    assert!(place.install("claude-code").contains("Unchanged"));
}

#[test]
fn dry_run_shows_the_command_and_does_not_run_it() {
    let place = with_command("claude", "");
    let said = place.install("claude-code --dry-run");
    assert!(said.contains("Would run claude mcp add"), "{said}");
    assert!(!said.contains("next"), "{said}");
    assert!(!place.path("log").exists());
}

#[test]
fn file_that_does_not_parse_stops_the_command() {
    let place = with_command("claude", "");
    place.write("home/.claude.json", "{");
    assert!(place.refused("claude-code").to_string().contains("does not parse"));
    assert!(place.run(InstallCommand::Uninstall, "claude-code").is_err());
    assert!(!place.path("log").exists());
}

#[test]
fn commands_on_windows_have_an_extension() {
    use mcp_runtime::cli::install::{Machine, OperatingSystem};
    let place = with_command("code.CMD", "");
    let machine = Machine::new(OperatingSystem::Windows, place.path("home"), place.path("project"));
    // variables have no case there
    let machine = machine.with_env("Path", place.path("bin"));
    assert_eq!(machine.find("code"), Some(place.path("bin/code.CMD")));
    assert_eq!(machine.clone().with_env("PATHEXT", ".EXE").find("code"), None);
    assert_eq!(place.machine.find("code"), None);
}

#[test]
fn file_without_the_executable_bit_is_no_command() {
    let place = with_command("claude", "");
    fs::set_permissions(place.path("bin/claude"), PermissionsExt::from_mode(0o644)).unwrap();
    place.install("claude-code");
    assert!(place.read("home/.claude.json").contains("weather"));
}

#[test]
fn entry_that_the_command_writes_wrongly_is_corrected() {
    let entry = r#"{"mcpServers": {"weather": {"command": "/opt/weather/bin/weather", "args": [], "env": {"KEY": "a"}, "trust": true}}}"#;
    let place =
        with_command("gemini", &format!("mkdir -p ../home/.gemini; echo '{entry}' > ../home/.gemini/settings.json"));
    let said = place.install("gemini --env KEY=a=b");
    assert!(said.contains("Installed weather in Gemini CLI"), "{said}");
    assert_eq!(place.read("home/.gemini/settings.json").trim(), entry.replace("\"a\"", "\"a=b\""));
}

#[test]
fn command_that_writes_the_entry_is_believed() {
    // in its own style: another order, and members of its own
    let entry = "[mcp_servers.weather]\nargs = []\ncommand = \"/opt/weather/bin/weather\"\nenabled = true\n\n\
                 [mcp_servers.weather.env]\nA = \"1\"\nB = \"2\"\n";
    let place = with_command(
        "codex",
        &format!("mkdir -p ../home/.codex; cat > ../home/.codex/config.toml <<'END'\n{entry}END"),
    );
    let said = place.install("codex --env B=2 --env A=1");
    assert!(!said.contains("note") && !said.contains("backup"), "{said}");
    assert_eq!(place.read("home/.codex/config.toml"), entry);
    assert!(place.install("codex --env A=1").contains("Unchanged"));
}

#[test]
fn command_that_writes_nothing_is_noted() {
    let said = with_command("code", "").install("vscode");
    assert!(said.contains("there is no entry in ~/.config/Code/User/mcp.json"), "{said}");
    assert!(said.contains("`--edit`"), "{said}");
}

#[test]
fn entry_that_the_command_leaves_is_removed() {
    let place = with_command("gemini", "echo 'Server \"weather\" not found in project settings.'");
    place.write("project/.gemini/settings.json", r#"{"mcpServers": {"weather": {"command": "x"}}}"#);
    let said = place.uninstall("gemini --scope project");
    assert!(said.contains("Running gemini mcp remove --scope project weather"), "{said}");
    assert!(said.contains("Uninstalled weather from Gemini CLI"), "{said}");
    assert_eq!(place.read("project/.gemini/settings.json"), r#"{"mcpServers": {}}"#);
}
