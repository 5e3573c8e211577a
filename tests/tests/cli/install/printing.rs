//! `--print`, `--dry-run`, and what is said afterwards.

use mcp_runtime::cli::install::OperatingSystem;

use super::Place;

#[test]
fn dry_run_shows_the_difference() {
    let place = Place::linux();
    place.write("home/.cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n");
    let expected = "  Would edit ~/.cursor/mcp.json
@@ -1,5 +1,9 @@
 {
   \"mcpServers\": {
-    \"a\": {}
+    \"a\": {},
+    \"weather\": {
+      \"command\": \"/opt/weather/bin/weather\",
+      \"args\": []
+    }
   }
 }
";
    assert_eq!(place.install("cursor --dry-run"), expected);
}

#[test]
fn dry_run_of_a_new_file_and_of_uninstall() {
    let place = Place::linux();
    let said = place.install("codex --dry-run");
    let expected = "Would create ~/.codex/config.toml\n@@ -0,0 +1,3 @@\n+[mcp_servers.weather]\n+command = \
                    \"/opt/weather/bin/weather\"\n+args = []\n";
    assert_eq!(said.replace("       note: Codex was not found on this machine\n", ""), expected);
    place.install("codex");
    let said = place.uninstall("codex --dry-run");
    assert!(said.contains("-[mcp_servers.weather]\n"), "{said}");
    assert!(place.read("home/.codex/config.toml").contains("weather"));
}

#[test]
fn print_shows_entry_and_link() {
    let place = Place::linux();
    let said = place.install("cursor --print --env KEY=ä -- -v");
    assert!(said.contains("Entry, in ~/.cursor/mcp.json\n{\n  \"mcpServers\": {\n"), "{said}");
    let link = said.lines().find(|line| line.starts_with("cursor://")).unwrap();
    let config = link.strip_prefix("cursor://anysphere.cursor-deeplink/mcp/install?name=weather&config=").unwrap();
    assert!(!config.contains(['+', '/', '=']), "{config}");
    let json = base64_decoded(&percent_decoded(config));
    assert_eq!(json, r#"{"command":"/opt/weather/bin/weather","args":["-v"],"env":{"KEY":"ä"}}"#);
}

#[test]
fn print_shows_links_of_other_clients() {
    let place = Place::linux();
    let said = place.install("vscode --print --env KEY=ä");
    let link = said.lines().find(|line| line.starts_with("vscode:")).unwrap();
    assert_eq!(
        percent_decoded(link.strip_prefix("vscode:mcp/install?").unwrap()),
        r#"{"name":"weather","type":"stdio","command":"/opt/weather/bin/weather","args":[],"env":{"KEY":"ä"}}"#
    );
    let said = place.install("lm-studio --print --http https://example.com/mcp?a=b&c");
    let link = said.lines().find(|line| line.starts_with("lmstudio:")).unwrap();
    let config = link.strip_prefix("lmstudio://add_mcp?name=weather&config=").unwrap();
    assert_eq!(base64_decoded(&percent_decoded(config)), r#"{"url":"https://example.com/mcp?a=b&c"}"#);

    let said = place.install("goose --print --http https://example.com/mcp?a=b&c");
    let link = "goose://extension?url=https%3A%2F%2Fexample.com%2Fmcp%3Fa%3Db%26c&type=streamable_http&id=weather&\
                name=weather&description=weather";
    assert!(said.contains(link), "{said}");
    // goose opens links to a few programs only
    let said = place.install("goose --print");
    assert!(said.contains("No link\n") && !said.contains("goose://"), "{said}");
}

#[test]
fn print_shows_the_command_even_where_it_is_missing() {
    let place = Place::linux();
    let said = place.install("claude-code --print --env KEY=it's");
    let command =
        r"claude mcp add --env 'KEY=it'\''s' --transport stdio --scope user weather -- /opt/weather/bin/weather";
    assert!(said.contains(&format!("Command\n{command}\n")), "{said}");
    let said = Place::new(OperatingSystem::Windows).install("vscode --print");
    assert!(said.contains(r#"code --add-mcp "{\"name\":\"weather\""#), "{said}");
}

#[test]
fn next_step_is_told() {
    let place = Place::linux();
    place.write("home/.codeium/windsurf/x", "");
    for (client, next) in [
        ("claude-desktop", "quit Claude Desktop and start it again"),
        ("windsurf", "press Refresh"),
        ("goose", "new session"),
    ] {
        let said = place.install(client);
        assert!(said.lines().last().unwrap().contains(next), "{said}");
    }
}

#[test]
fn builds_that_cargo_clean_removes_are_noted() {
    use mcp_runtime::cli::install::{InstallCommand, Program};
    let place = Place::linux();
    for (path, noted) in [("/src/weather/target/debug/weather", true), ("/opt/weather/bin/weather", false)] {
        let program = Program::new("weather", path);
        let said = place.run_program(&program, InstallCommand::Install, "cursor").unwrap();
        assert_eq!(said.contains("cargo install --path ."), noted, "{said}");
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&tail[..2]).unwrap(), 16).unwrap());
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn base64_decoded(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert_eq!(text.len() % 4, 0, "padded");
    let mut bytes = Vec::new();
    for four in text.as_bytes().chunks(4) {
        let digits: Vec<usize> = four
            .iter()
            .filter(|letter| **letter != b'=')
            .map(|letter| LETTERS.iter().position(|known| known == letter).unwrap())
            .collect();
        let word = digits.iter().enumerate().fold(0, |word, (at, digit)| word | digit << (18 - 6 * at));
        bytes.extend((0..digits.len() - 1).map(|at| u8::try_from(word >> (16 - 8 * at) & 0xff).unwrap()));
    }
    String::from_utf8(bytes).unwrap()
}
