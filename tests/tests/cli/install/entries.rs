//! What is written for each client: a server on stdio, and one over HTTP.

use std::path::{Path, PathBuf};

use mcp_runtime::cli::install;
use serde_json::{Value, json};

use super::Place;

const SERVER: &str = "/opt/weather/bin/weather";

fn json(place: &Place, path: &str) -> Value {
    serde_json::from_str(&place.read(path)).unwrap()
}

#[test]
fn stdio_entries_in_json() {
    let expected = [
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
            json!({"mcpServers": {"weather":
            {"command": SERVER, "args": ["--units", "metric"], "env": {"KEY": "a=b"}}}}),
        ),
        (
            "claude-code",
            ".claude.json",
            json!({"mcpServers": {"weather":
            {"type": "stdio", "command": SERVER, "args": ["--units", "metric"], "env": {"KEY": "a=b"}}}}),
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            json!({"mcpServers": {"weather":
            {"command": SERVER, "args": ["--units", "metric"], "env": {"KEY": "a=b"}}}}),
        ),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            json!({"servers": {"weather":
            {"type": "stdio", "command": SERVER, "args": ["--units", "metric"], "env": {"KEY": "a=b"}}}}),
        ),
        (
            "gemini",
            ".gemini/settings.json",
            json!({"mcpServers": {"weather":
            {"command": SERVER, "args": ["--units", "metric"], "env": {"KEY": "a=b"}}}}),
        ),
        (
            "zed",
            ".config/zed/settings.json",
            json!({"context_servers": {"weather":
            {"command": SERVER, "args": ["--units", "metric"], "env": {"KEY": "a=b"}}}}),
        ),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            json!({"mcpServers": {"weather":
            {"command": SERVER, "args": ["--units", "metric"], "env": {"KEY": "a=b"}}}}),
        ),
        (
            "lm-studio",
            ".lmstudio/mcp.json",
            json!({"mcpServers": {"weather":
            {"command": SERVER, "args": ["--units", "metric"], "env": {"KEY": "a=b"}}}}),
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            json!({"mcp": {"weather":
            {"type": "local", "command": [SERVER, "--units", "metric"], "environment": {"KEY": "a=b"},
             "enabled": true}}}),
        ),
        (
            "copilot-cli",
            ".copilot/mcp-config.json",
            json!({"mcpServers": {"weather":
            {"type": "stdio", "command": SERVER, "args": ["--units", "metric"], "env": {"KEY": "a=b"},
             "tools": ["*"]}}}),
        ),
    ];
    let place = Place::linux();
    for (id, path, entry) in expected {
        place.install(&format!("{id} --env KEY=a=b -- --units metric"));
        assert_eq!(json(&place, &format!("home/{path}")), entry, "{id}");
    }
}

#[test]
fn http_entries_in_json() {
    let url = "https://example.com/mcp";
    let headers = json!({"X-Key": "abc"});
    let expected = [
        ("claude-code", ".claude.json", "mcpServers", json!({"type": "http", "url": url, "headers": headers})),
        ("cursor", ".cursor/mcp.json", "mcpServers", json!({"url": url, "headers": headers})),
        ("vscode", ".config/Code/User/mcp.json", "servers", json!({"type": "http", "url": url, "headers": headers})),
        ("gemini", ".gemini/settings.json", "mcpServers", json!({"type": "http", "url": url, "headers": headers})),
        ("zed", ".config/zed/settings.json", "context_servers", json!({"url": url, "headers": headers})),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers", json!({"serverUrl": url, "headers": headers})),
        ("lm-studio", ".lmstudio/mcp.json", "mcpServers", json!({"url": url, "headers": headers})),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "mcp",
            json!({"type": "remote", "url": url, "headers": headers, "enabled": true}),
        ),
        (
            "copilot-cli",
            ".copilot/mcp-config.json",
            "mcpServers",
            json!({"type": "http", "url": url, "headers": headers, "tools": ["*"]}),
        ),
    ];
    let place = Place::linux();
    for (id, path, table, entry) in expected {
        place.install(&format!("{id} --http {url} --header X-Key:abc"));
        assert_eq!(json(&place, &format!("home/{path}"))[table]["weather"], entry, "{id}");
    }
}

#[test]
fn claude_desktop_has_no_remote_servers_in_its_file() {
    let place = Place::linux();
    let error = place.refused("claude-desktop --http https://example.com/mcp");
    assert_eq!(error.code(), 2);
    assert!(error.to_string().contains("Settings → Connectors"), "{error}");
    assert!(!place.path("home/.config").exists());
}

#[test]
fn codex_entries_in_toml() {
    let place = Place::linux();
    place.install("codex --env KEY=1 -- --units metric");
    let stdio = format!(
        "[mcp_servers.weather]\ncommand = \"{SERVER}\"\nargs = [\"--units\", \"metric\"]\nenv = {{ KEY = \"1\" }}\n"
    );
    assert_eq!(place.read("home/.codex/config.toml"), stdio);
    place.install("codex --name remote --http http://127.0.0.1:8000/mcp --header X-Key:abc");
    let remote = "[mcp_servers.remote]\nurl = \"http://127.0.0.1:8000/mcp\"\nhttp_headers = { X-Key = \"abc\" }\n";
    assert_eq!(place.read("home/.codex/config.toml"), format!("{stdio}\n{remote}"));
}

#[test]
fn goose_entries_in_yaml() {
    let place = Place::linux();
    place.install("goose --name Weather --env KEY=1 -- --units metric");
    let stdio = format!(
        "extensions:\n  weather:\n    name: Weather\n    type: stdio\n    cmd: {SERVER}\n    args:\n    - \
         \"--units\"\n    - metric\n    envs:\n      KEY: \"1\"\n    description: \"\"\n    enabled: true\n    \
         timeout: 300\n"
    );
    assert_eq!(place.read("home/.config/goose/config.yaml"), stdio);
    place.install("goose --name remote --http http://127.0.0.1:8000/mcp");
    let remote = "  remote:\n    name: remote\n    type: streamable_http\n    uri: \"http://127.0.0.1:8000/mcp\"\n    \
                  description: \"\"\n    enabled: true\n    timeout: 300\n";
    assert_eq!(place.read("home/.config/goose/config.yaml"), format!("{stdio}{remote}"));
    // goose looks for names in lower case
    place.uninstall("goose --name Weather");
    assert_eq!(place.read("home/.config/goose/config.yaml"), format!("extensions:\n{remote}"));
}

#[test]
fn project_file_that_clients_share_has_nothing_of_one_client() {
    let place = Place::linux();
    place.install("copilot-cli --scope project");
    let before = place.read("project/.mcp.json");
    assert!(!before.contains("tools"), "{before}");
    assert!(place.install("claude-code --scope project").contains("Unchanged"));
    assert_eq!(place.read("project/.mcp.json"), before);
}

#[test]
fn name_of_the_server_is_made_valid() {
    let place = Place::linux();
    let program = install::Program::new("My Weather!", SERVER);
    place.run_program(&program, mcp_runtime::cli::install::InstallCommand::Install, "cursor").unwrap();
    assert_eq!(json(&place, "home/.cursor/mcp.json")["mcpServers"]["My-Weather"]["command"], SERVER);
}

#[test]
fn development_starts_cargo_mcp() {
    let place = Place::linux();
    assert!(place.refused("cursor --dev").to_string().contains("cargo run -- install CLIENT --dev"));

    let place = place.env("CARGO", "/toolchain/bin/cargo").env("CARGO_MANIFEST_DIR", "/src/weather");
    place.install("cursor --dev -- --units metric");
    let entry = &json(&place, "home/.cursor/mcp.json")["mcpServers"]["weather"];
    let manifest = Path::new("/src/weather").join("Cargo.toml");
    let manifest = manifest.to_str().unwrap();
    let words = ["mcp", "dev", "--manifest-path", manifest, "--bin", "weather", "--", "--units", "metric"];
    assert_eq!(*entry, json!({"command": "/toolchain/bin/cargo", "args": words}));

    // rustup's cargo finds rustc without PATH
    let name = format!("cargo{}", std::env::consts::EXE_SUFFIX);
    let cargo = ["home", ".cargo", "bin", &name].iter().collect::<PathBuf>();
    let cargo = cargo.to_str().unwrap();
    place.write(cargo, "");
    place.install("cursor --dev");
    let entry = &json(&place, "home/.cursor/mcp.json")["mcpServers"]["weather"];
    assert_eq!(entry["command"].as_str(), place.path(cargo).to_str());
    assert_eq!(entry["args"], json!(words[..6]));

    // a client does not pass these on
    let [cargo, rustup] =
        if cfg!(windows) { ["C:\\opt\\cargo", "C:\\opt\\rustup"] } else { ["/opt/cargo", "/opt/rustup"] };
    let place = place.env("CARGO_HOME", cargo).env("RUSTUP_HOME", rustup);
    place.install("zed --dev");
    let entry = &json(&place, "home/.config/zed/settings.json")["context_servers"]["weather"];
    assert_eq!(entry["env"], json!({"CARGO_HOME": cargo, "RUSTUP_HOME": rustup}));
}

#[test]
fn arguments_before_the_command_are_part_of_the_entry() {
    let words = |line: &str| -> Vec<std::ffi::OsString> { line.split(' ').map(Into::into).collect() };
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let machine = install::Machine::new(install::OperatingSystem::Linux, "/home/me", directory);
    let all = words("--db Cargo.toml --mode fast install cursor --dry-run");
    let program = install::Program::new("notes", "/opt/notes");
    let program = program.with_own_arguments(&all, &words("install cursor --dry-run"), &machine);
    let file = directory.join("Cargo.toml").display().to_string();
    assert_eq!(program.arguments, ["--db", &file, "--mode", "fast"]);
}
