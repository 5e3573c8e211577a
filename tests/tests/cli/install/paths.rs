//! Where each client's file is, on each operating system.

use std::collections::BTreeMap;

use mcp_runtime::cli::install::{Client, OperatingSystem, Scope};

use super::Place;

fn user_files(place: &Place) -> BTreeMap<&'static str, String> {
    let home = place.path("home");
    Client::all()
        .iter()
        .map(|client| {
            let file = client.file(Scope::User, &place.machine).unwrap();
            let file = file.strip_prefix(&home).unwrap_or(&file).to_str().unwrap().replace('\\', "/");
            (client.id, file)
        })
        .collect()
}

#[test]
fn files_on_linux() {
    let files = user_files(&Place::linux());
    let expected = [
        ("claude-code", ".claude.json"),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("codex", ".codex/config.toml"),
        ("copilot-cli", ".copilot/mcp-config.json"),
        ("cursor", ".cursor/mcp.json"),
        ("gemini", ".gemini/settings.json"),
        ("goose", ".config/goose/config.yaml"),
        ("lm-studio", ".lmstudio/mcp.json"),
        ("opencode", ".config/opencode/opencode.json"),
        ("vscode", ".config/Code/User/mcp.json"),
        ("windsurf", ".codeium/windsurf/mcp_config.json"),
        ("zed", ".config/zed/settings.json"),
    ];
    assert_eq!(files, expected.map(|(id, file)| (id, file.to_owned())).into());
}

#[test]
fn files_on_macos() {
    let files = user_files(&Place::new(OperatingSystem::MacOs));
    assert_eq!(files["claude-desktop"], "Library/Application Support/Claude/claude_desktop_config.json");
    assert_eq!(files["vscode"], "Library/Application Support/Code/User/mcp.json");
    assert_eq!(files["zed"], ".config/zed/settings.json");
    assert_eq!(files["goose"], ".config/goose/config.yaml");
    assert_eq!(files["opencode"], ".config/opencode/opencode.json");
    assert_eq!(files["cursor"], ".cursor/mcp.json");
}

#[test]
fn files_on_windows() {
    let place = Place::new(OperatingSystem::Windows);
    let files = user_files(&place);
    assert_eq!(files["claude-desktop"], "AppData/Roaming/Claude/claude_desktop_config.json");
    assert_eq!(files["vscode"], "AppData/Roaming/Code/User/mcp.json");
    assert_eq!(files["zed"], "AppData/Roaming/Zed/settings.json");
    assert_eq!(files["goose"], "AppData/Roaming/Block/goose/config/config.yaml");
    assert_eq!(files["opencode"], ".config/opencode/opencode.json");
    assert_eq!(files["cursor"], ".cursor/mcp.json");
    assert_eq!(files["claude-code"], ".claude.json");
}

#[test]
fn windows_directories_are_taken_from_the_environment() {
    let place = Place::new(OperatingSystem::Windows);
    let roaming = place.path("roaming");
    // Windows does not care about case
    let place = place.env("AppData", &roaming);
    let file = Client::named("vscode").unwrap().file(Scope::User, &place.machine).unwrap();
    assert_eq!(file, roaming.join("Code").join("User").join("mcp.json"));
}

#[test]
fn claude_desktop_as_an_msix_package_has_its_own_roaming_directory() {
    let place = Place::new(OperatingSystem::Windows);
    place.write("home/AppData/Roaming/Claude/claude_desktop_config.json", "{}");
    place.write("home/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/x", "");
    place.write("home/AppData/Local/Packages/OtherClaude_1/x", "");
    let package = "home/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude";
    place.install("claude-desktop");
    let text = place.read(&format!("{package}/claude_desktop_config.json"));
    assert!(text.contains("/opt/weather/bin/weather"), "{text}");
    assert_eq!(place.read("home/AppData/Roaming/Claude/claude_desktop_config.json"), "{}");
}

#[test]
fn of_several_msix_packages_the_started_one_is_taken() {
    let place = Place::new(OperatingSystem::Windows);
    place.write("home/AppData/Local/Packages/Claude_aaa/x", "");
    place.write("home/AppData/Local/Packages/Claude_bbb/LocalCache/Roaming/Claude/config.json", "{}");
    let file = Client::named("claude-desktop").unwrap().file(Scope::User, &place.machine).unwrap();
    assert!(file.to_str().unwrap().contains("Claude_bbb"), "{}", file.display());
}

#[test]
fn variables_of_clients_move_their_files() {
    let place = Place::linux();
    let (xdg, other) = (place.path("xdg"), place.path("other"));
    let place = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"]
        .iter()
        .fold(place.env("XDG_CONFIG_HOME", &xdg), |place, name| place.env(name, &other));
    let file = |id| Client::named(id).unwrap().file(Scope::User, &place.machine).unwrap();
    assert_eq!(file("claude-code"), other.join(".claude.json"));
    assert_eq!(file("codex"), other.join("config.toml"));
    assert_eq!(file("copilot-cli"), other.join("mcp-config.json"));
    for (id, path) in [("zed", "zed/settings.json"), ("goose", "goose/config.yaml"), ("vscode", "Code/User/mcp.json")] {
        assert_eq!(file(id), xdg.join(path));
    }
}

#[test]
fn relative_and_empty_variables_are_ignored() {
    let place = Place::linux().env("XDG_CONFIG_HOME", "relative").env("CODEX_HOME", "");
    let file = |id| Client::named(id).unwrap().file(Scope::User, &place.machine).unwrap();
    assert_eq!(file("zed"), place.path("home/.config/zed/settings.json"));
    assert_eq!(file("codex"), place.path("home/.codex/config.toml"));
}

#[test]
fn existing_variants_of_a_file_are_preferred() {
    let place = Place::linux();
    place.write("home/.config/opencode/opencode.jsonc", "{ /* mine */ }");
    place.write("home/.cache/lm-studio/mcp.json", "{}");
    place.write("project/.github/mcp.json", "{}");
    place.install("opencode");
    place.install("lm-studio");
    place.install("copilot-cli --scope project");
    assert!(place.read("home/.config/opencode/opencode.jsonc").contains("/* mine */"));
    assert!(place.read("home/.config/opencode/opencode.jsonc").contains("weather"));
    assert!(place.read("home/.cache/lm-studio/mcp.json").contains("weather"));
    assert!(place.read("project/.github/mcp.json").contains("weather"));
}

#[test]
fn home_directory_is_no_project() {
    use mcp_runtime::cli::install::Machine;
    let mut place = Place::linux();
    place.machine = Machine::new(OperatingSystem::Linux, place.path("home"), place.path("home"));
    place.install("cursor");
    assert_eq!(place.install("--list").matches("cursor").count(), 2, "the name and the file");
    assert_eq!(mcp_runtime::cli::install::configured(&place.machine).servers.len(), 1);
    assert_eq!(place.refused("cursor --scope project").code(), 2);
}

#[test]
fn project_files() {
    let place = Place::linux();
    let expected = [
        ("claude-code", ".mcp.json"),
        ("codex", ".codex/config.toml"),
        ("copilot-cli", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("gemini", ".gemini/settings.json"),
        ("opencode", "opencode.json"),
        ("vscode", ".vscode/mcp.json"),
        ("zed", ".zed/settings.json"),
    ];
    for (id, path) in expected {
        place.install(&format!("{id} --scope project"));
        let text = place.read(&format!("project/{path}"));
        assert!(text.contains("/opt/weather/bin/weather"), "{id}: {text}");
    }
    for id in ["claude-desktop", "windsurf", "goose", "lm-studio"] {
        let error = place.refused(&format!("{id} --scope project"));
        assert_eq!(error.code(), 2);
        assert!(error.to_string().contains("no configuration per project"), "{error}");
    }
}
