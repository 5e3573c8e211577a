//! Files of users: what is theirs stays as it is.

use super::Place;

const CURSOR: &str = "home/.cursor/mcp.json";

/// Installs in a file of that text, and uninstalls again.
fn round_trip(client: &str, path: &str, text: &str) -> (String, String) {
    let place = Place::linux();
    place.write(path, text);
    place.install(client);
    let installed = place.read(path);
    place.uninstall(client);
    (installed, place.read(path))
}

#[test]
fn comments_order_and_indentation_stay() {
    let text = r#"// my servers
{
    /* first */
    "theme": "dark", // at the end of a line
    "mcpServers": {
        // the database
        "zulu": { "command": "zulu", "args": ["-x",   "-y"] },
        "alpha": {
            "url": "https://example.com/mcp" // remote
        }
    },
    "last": [1, 2,
        3]
}
"#;
    let (installed, removed) = round_trip("cursor", CURSOR, text);
    let expected = text.replace(
        "// remote\n        }\n",
        "// remote\n        },\n        \"weather\": {\n            \"command\": \"/opt/weather/bin/weather\",\n            \
         \"args\": []\n        }\n",
    );
    assert_eq!(installed, expected);
    assert_eq!(removed, text);
}

#[test]
fn tabs_stay() {
    let text = "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"a\"\n\t\t}\n\t}\n}\n";
    let (installed, removed) = round_trip("cursor", CURSOR, text);
    let added = ",\n\t\t\"weather\": {\n\t\t\t\"command\": \"/opt/weather/bin/weather\",\n\t\t\t\"args\": []\n\t\t}\n";
    assert_eq!(installed, text.replacen("\n\t\t}\n", &format!("\n\t\t}}{added}"), 1));
    assert_eq!(removed, text);
}

#[test]
fn trailing_commas_stay_and_are_only_written_where_they_are() {
    let text = "{\n  \"context_servers\": {\n    \"a\": {\n      \"command\": \"a\",\n    },\n  },\n}\n";
    let (installed, removed) = round_trip("zed", "home/.config/zed/settings.json", text);
    assert!(installed.contains("\"args\": [],\n    },\n  },\n}\n"), "{installed}");
    assert_eq!(removed, text);

    let strict = "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}";
    let (installed, removed) = round_trip("cursor", CURSOR, strict);
    serde_json::from_str::<serde_json::Value>(&installed).unwrap();
    assert_eq!(removed, strict);
}

#[test]
fn carriage_returns_and_byte_order_mark_stay() {
    let json = "\u{feff}{\r\n  // note\r\n  \"mcpServers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n";
    let toml = "\u{feff}# note\r\nmodel = \"o5\"\r\n\r\n[mcp_servers.a]\r\ncommand = \"a\" # mine\r\n";
    let yaml = "\u{feff}# note\r\nextensions:\r\n  a:\r\n    enabled: true\r\n\r\n# end\r\nmode: auto\r\n";
    for (client, path, text) in [
        ("cursor", CURSOR, json),
        ("codex", "home/.codex/config.toml", toml),
        ("goose", "home/.config/goose/config.yaml", yaml),
    ] {
        let (installed, removed) = round_trip(client, path, text);
        assert!(installed.starts_with('\u{feff}'), "{client}");
        assert!(installed.contains("weather"), "{client}");
        assert!(!installed.replace("\r\n", "").contains('\n'), "{client}: {installed:?}");
        assert_eq!(removed, text, "{client}");
    }
}

#[test]
fn mixed_ends_of_lines_stay_in_toml() {
    let text = "a = 1\r\nb = 2\n[mcp_servers.x]\r\ncommand = \"x\"\r\n";
    let (installed, removed) = round_trip("codex", "home/.codex/config.toml", text);
    assert!(installed.starts_with(text), "{installed:?}");
    assert_eq!(removed, text);
}

#[test]
fn last_line_without_an_end_gets_one() {
    for (client, path, text) in [
        ("codex", "home/.codex/config.toml", "a = 1\r\nb = 2"),
        ("goose", "home/.config/goose/config.yaml", "a: 1\r\nb: 2"),
    ] {
        let (installed, _) = round_trip(client, path, text);
        assert!(installed.starts_with(&format!("{text}\r\n")), "{installed:?}");
    }
}

#[test]
fn object_in_one_line_is_still_json() {
    let text = r#"{"numStartups":3,"mcpServers":{"a":{"command":"a"}},"projects":{}}"#;
    let (installed, removed) = round_trip("claude-code", "home/.claude.json", text);
    let value: serde_json::Value = serde_json::from_str(&installed).unwrap();
    assert_eq!(value["mcpServers"]["a"]["command"], "a");
    assert_eq!(value["mcpServers"]["weather"]["type"], "stdio");
    let (before, after): (serde_json::Value, serde_json::Value) =
        (serde_json::from_str(text).unwrap(), serde_json::from_str(&removed).unwrap());
    assert_eq!(before, after);
}

#[test]
fn empty_and_null_tables_are_filled() {
    for text in ["", "  \n", "{}", "{\"mcpServers\": {}}", "{\"mcpServers\": null}", "// only a comment\n", "null"] {
        let place = Place::linux();
        place.write(CURSOR, text);
        place.install("cursor");
        let installed = place.read(CURSOR);
        assert!(installed.contains("/opt/weather/bin/weather"), "{text:?} → {installed:?}");
        assert!(!text.contains("//") || installed.starts_with(text), "{installed:?}");
        assert!(place.install("cursor").contains("Unchanged"), "{text:?}");
    }
}

#[test]
fn update_changes_the_program_and_keeps_the_users_members() {
    let place = Place::linux();
    let text = r#"{
  "mcpServers": {
    "weather": {
      // old place
      "command": "/old/weather",
      "args": [],
      "env": {
        "KEY": "secret", // from the vault
        "UNITS": "imperial"
      },
      "trust": true
    }
  }
}
"#;
    place.write("home/.gemini/settings.json", text);
    let said = place.install("gemini --env UNITS=metric -- -v");
    assert!(said.contains("Updated weather in Gemini CLI"), "{said}");
    let expected = text
        .replace("/old/weather", "/opt/weather/bin/weather")
        .replace("\"args\": []", "\"args\": [\"-v\"]")
        .replace("imperial", "metric");
    assert_eq!(place.read("home/.gemini/settings.json"), expected);
}

#[test]
fn update_from_stdio_to_http_replaces_the_entry() {
    let place = Place::linux();
    place.install("gemini --env KEY=1");
    place.install("gemini --http https://example.com/mcp");
    let value: serde_json::Value = serde_json::from_str(&place.read("home/.gemini/settings.json")).unwrap();
    assert_eq!(value["mcpServers"]["weather"], serde_json::json!({"type": "http", "url": "https://example.com/mcp"}));
}

#[test]
fn update_replaces_another_spelling_of_the_endpoint() {
    let place = Place::linux();
    let path = "home/.codeium/windsurf/mcp_config.json";
    place.write(path, r#"{"mcpServers": {"weather": {"type": "sse", "url": "https://old", "disabled": true}}}"#);
    place.install("windsurf --http https://example.com/mcp");
    let value: serde_json::Value = serde_json::from_str(&place.read(path)).unwrap();
    let entry = serde_json::json!({"disabled": true, "serverUrl": "https://example.com/mcp"});
    assert_eq!(value["mcpServers"]["weather"], entry);
}

#[test]
fn update_keeps_what_the_user_chose_over_defaults() {
    let place = Place::linux();
    let text = "extensions:\n  weather:\n    name: My weather\n    type: stdio\n    cmd: /old\n    args: []\n    \
                enabled: false\n    timeout: 10\n";
    place.write("home/.config/goose/config.yaml", text);
    place.install("goose");
    let installed = place.read("home/.config/goose/config.yaml");
    for kept in ["name: \"My weather\"", "enabled: false", "timeout: 10", "cmd: /opt/weather/bin/weather"] {
        assert!(installed.contains(kept), "{installed}");
    }
}

#[test]
fn other_words_for_stdio_are_no_difference() {
    for kind in ["", r#""type": "local", "#] {
        let place = Place::linux();
        let entry = format!(r#"{{{kind}"command": "/opt/weather/bin/weather", "args": [], "tools": ["a"]}}"#);
        place.write("home/.copilot/mcp-config.json", &format!(r#"{{"mcpServers": {{"weather": {entry}}}}}"#));
        assert!(place.install("copilot-cli").contains("Unchanged"), "{entry}");
    }
}

#[test]
fn identical_entry_is_not_written_again() {
    for client in ["cursor", "codex", "goose", "opencode"] {
        let place = Place::linux();
        place.install(&format!("{client} --env A=1 -- x"));
        let path = mcp_runtime::cli::install::Client::named(client)
            .unwrap()
            .file(mcp_runtime::cli::install::Scope::User, &place.machine)
            .unwrap();
        let before = (std::fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap());
        let said = place.install(&format!("{client} --env A=1 -- x"));
        assert!(said.contains("Unchanged"), "{said}");
        assert_eq!((std::fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap()), before);
        assert!(!path.with_added_extension("mcp.bak").exists());
    }
}

#[test]
fn toml_keeps_comments_order_and_other_tables() {
    let text = r#"# my settings
model = "o5"   # the good one

[mcp_servers]
# servers

[mcp_servers.zulu]
command = "zulu"
args = [
  "one", # first
  "two",
]

[mcp_servers.zulu.env]
KEY = "1"

[profiles.fast]
model = "o5-mini"
"#;
    let (installed, removed) = round_trip("codex", "home/.codex/config.toml", text);
    let added = "[mcp_servers.weather]\ncommand = \"/opt/weather/bin/weather\"\nargs = []\n";
    assert!(installed.contains(added), "{installed}");
    assert_eq!(installed.replace(&format!("\n{added}"), ""), text, "{installed}");
    assert_eq!(removed, text);
}

#[test]
fn toml_update_keeps_comments_and_tables_of_the_entry() {
    let place = Place::linux();
    let text = "[mcp_servers.weather]\ncommand = \"/old\" # built by hand\nargs = []\nstartup_timeout_sec = 20\n\n\
                [mcp_servers.weather.env]\nKEY = \"1\" # mine\n";
    place.write("home/.codex/config.toml", text);
    place.install("codex --env UNITS=metric");
    let expected = text.replace("/old", "/opt/weather/bin/weather") + "UNITS = \"metric\"\n";
    assert_eq!(place.read("home/.codex/config.toml"), expected);
}

#[test]
fn toml_with_inline_and_dotted_tables() {
    for text in ["mcp_servers = { a = { command = \"a\" } }\n", "mcp_servers.a.command = \"a\"\n"] {
        let place = Place::linux();
        place.write("home/.codex/config.toml", text);
        place.install("codex");
        let found = mcp_runtime::cli::install::configured(&place.machine);
        let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["a", "weather"], "{}", place.read("home/.codex/config.toml"));
        place.uninstall("codex");
        assert_eq!(place.read("home/.codex/config.toml"), text);
    }
}

#[test]
fn yaml_keeps_comments_order_and_block_scalars() {
    let text = r#"GOOSE_MODEL: claude   # the model
# my extensions
extensions:
    # built in
    developer:
        enabled: true
        instructions: |
          # not a comment
          two lines

    # remote
    docs: {type: streamable_http, uri: "https://example.com/mcp", enabled: yes}

# after the extensions
GOOSE_MODE: 'auto'
"#;
    let (installed, removed) = round_trip("goose", "home/.config/goose/config.yaml", text);
    let added = "    weather:\n      name: weather\n      type: stdio\n      cmd: /opt/weather/bin/weather\n      args: []\n      \
                 description: \"\"\n      enabled: true\n      timeout: 300\n";
    assert_eq!(installed, text.replace("enabled: yes}\n", &format!("enabled: yes}}\n{added}")));
    assert_eq!(removed, text);
}

#[test]
fn yaml_tables_of_every_kind() {
    for (text, left) in [
        ("", "extensions: {}\n"),
        ("# nothing yet\n", "# nothing yet\nextensions: {}\n"),
        ("a: 1\n", "a: 1\nextensions: {}\n"),
        ("a: 1", "a: 1\nextensions: {}\n"),
        ("extensions:\nb: 2\n", "extensions: {}\nb: 2\n"),
        ("extensions: {} # none\nb: 2\n", "extensions: {} # none\nb: 2\n"),
        ("---\nextensions:\n  a:\n    enabled: true\n", "---\nextensions:\n  a:\n    enabled: true\n"),
    ] {
        let (installed, removed) = round_trip("goose", "home/.config/goose/config.yaml", text);
        assert!(installed.contains("cmd: /opt/weather/bin/weather"), "{installed}");
        assert_eq!(removed, left, "{installed}");
    }
}

#[test]
fn what_an_editor_would_damage_is_refused() {
    for (client, path, text) in [
        ("cursor", CURSOR, "{\"mcpServers\": {\"a\": {}}, \"mcpServers\": {}}"),
        ("cursor", CURSOR, "{\"mcpServers\": []}"),
        ("cursor", CURSOR, "[]"),
        ("codex", "home/.codex/config.toml", "mcp_servers = 1\n"),
        ("codex", "home/.codex/config.toml", "[[mcp_servers]]\na = 1\n"),
        ("goose", "home/.config/goose/config.yaml", "extensions: {a: {enabled: true}}\n"),
        ("goose", "home/.config/goose/config.yaml", "extensions: [a]\n"),
        ("goose", "home/.config/goose/config.yaml", "a: &x 1\nb: *x\n"),
        ("goose", "home/.config/goose/config.yaml", "a: 1\n---\nb: 2\n"),
    ] {
        let place = Place::linux();
        place.write(path, text);
        let error = place.refused(client);
        assert_eq!(error.code(), 1, "{error}");
        assert!(error.to_string().contains("Nothing was changed"), "{error}");
        assert_eq!(place.read(path), text);
        let directory = path.rsplit_once('/').unwrap().0;
        assert_eq!(place.names(directory).len(), 1, "{:?}", place.names(directory));
    }
}

#[test]
fn file_that_does_not_parse_is_refused_with_the_place() {
    for (client, path, text, place_of_mistake) in [
        ("cursor", CURSOR, "{\n  \"mcpServers\": {\n    \"a\" 1\n  }\n}\n", "mcp.json:3:"),
        ("cursor", CURSOR, "{\n  \"a\": 1\n  \"b\": 2\n}\n", "mcp.json:2:"),
        ("codex", "home/.codex/config.toml", "a = 1\nb = = 2\n", "config.toml:2:5"),
        ("goose", "home/.config/goose/config.yaml", "a: 1\nb: [1\nc: 2\n", "config.yaml:3:"),
    ] {
        let place = Place::linux();
        place.write(path, text);
        let error = place.refused(client).to_string();
        assert!(error.contains(place_of_mistake), "{error}");
        assert!(error.contains("does not parse") && error.contains("Nothing was changed"), "{error}");
        assert_eq!(place.read(path), text);
    }
}
