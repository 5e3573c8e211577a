//! How files are replaced: backups, links, modes, directories.

use std::fs;

use mcp_runtime::cli::install::{self, InstallCommand};
use mcp_runtime::cli::terminal::Terminal;

use super::Place;

const CURSOR: &str = "home/.cursor/mcp.json";

#[test]
fn missing_file_is_created_with_its_directories() {
    let place = Place::linux();
    let said = place.install("vscode");
    assert!(said.contains("Installed weather in VS Code"), "{said}");
    assert!(said.contains("note: VS Code was not found on this machine"), "{said}");
    assert!(said.contains("~/.config/Code/User/mcp.json"), "{said}");
    assert!(!said.contains("backup"), "{said}");
    assert_eq!(place.names("home/.config/Code/User"), ["mcp.json"]);
    let text = place.read("home/.config/Code/User/mcp.json");
    let expected = "{\n  \"servers\": {\n    \"weather\": {\n      \"type\": \"stdio\",\n      \"command\": \
                    \"/opt/weather/bin/weather\",\n      \"args\": []\n    }\n  }\n}\n";
    assert_eq!(text, expected);
}

#[test]
fn there_is_one_backup_and_it_is_named() {
    let place = Place::linux();
    place.write(CURSOR, "{}\n");
    let said = place.install("cursor");
    assert!(said.contains("backup ~/.cursor/mcp.json.mcp.bak"), "{said}");
    assert_eq!(place.read("home/.cursor/mcp.json.mcp.bak"), "{}\n");
    let before = place.read(CURSOR);
    place.install("cursor --name second");
    assert_eq!(place.read("home/.cursor/mcp.json.mcp.bak"), before);
    assert_eq!(place.names("home/.cursor"), ["mcp.json", "mcp.json.mcp.bak"]);
}

#[test]
fn empty_file_needs_no_backup() {
    let place = Place::linux();
    place.write(CURSOR, "");
    place.install("cursor");
    assert_eq!(place.names("home/.cursor"), ["mcp.json"]);
}

#[test]
fn output_that_is_closed_early_does_not_stop_the_installation() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }
    let place = Place::linux();
    let program = install::Program::new("weather", "/opt/weather");
    let arguments = vec!["cursor".into()];
    install::run(InstallCommand::Install, arguments, &program, &place.machine, &mut Closed, Terminal::plain()).unwrap();
    assert!(place.read(CURSOR).contains("weather"));
}

#[test]
fn dry_run_and_print_touch_nothing() {
    let place = Place::linux();
    place.write(CURSOR, "{}\n");
    for line in ["cursor --dry-run", "cursor --print", "goose --dry-run", "codex --print", "--list", "--help"] {
        place.install(line);
    }
    assert_eq!(place.names("home"), [".cursor"]);
    assert_eq!(place.names("home/.cursor"), ["mcp.json"]);
    assert_eq!(place.read(CURSOR), "{}\n");
}

#[test]
fn uninstall_of_a_missing_entry_names_the_others() {
    let place = Place::linux();
    place.write(CURSOR, r#"{"mcpServers": {"other": {}, "third": {}}}"#);
    let error = place.run(InstallCommand::Uninstall, "cursor").unwrap_err();
    assert_eq!(error.code(), 1);
    let error = error.to_string();
    assert!(error.contains("weather is not installed in Cursor; it has other, third"), "{error}");
    assert!(place.run(InstallCommand::Uninstall, "zed").unwrap_err().to_string().contains("not installed in Zed"));
    assert_eq!(place.names("home"), [".cursor"]);
}

#[test]
fn file_in_another_encoding_is_refused() {
    let place = Place::linux();
    place.write(CURSOR, "");
    fs::write(place.path(CURSOR), [0xff, 0xfe, b'{', 0, b'}', 0]).unwrap();
    assert!(place.refused("cursor").to_string().contains("not in UTF-8"));
}

#[test]
fn file_instead_of_a_directory_is_an_error() {
    let place = Place::linux();
    place.write("home/.cursor", "not a directory");
    let error = place.refused("cursor");
    assert_eq!(error.code(), 1);
    assert!(error.to_string().contains("mcp.json"), "{error}");
    assert_eq!(place.read("home/.cursor"), "not a directory");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(place: &Place, path: &str) -> u32 {
        fs::metadata(place.path(path)).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn links_are_kept_and_their_targets_replaced() {
        let place = Place::linux();
        place.write("dotfiles/cursor.json", "{}\n");
        fs::create_dir_all(place.path("home/.cursor")).unwrap();
        // a link to a link, one of them relative
        symlink(place.path("dotfiles/link.json"), place.path(CURSOR)).unwrap();
        symlink("cursor.json", place.path("dotfiles/link.json")).unwrap();
        let said = place.install("cursor");
        assert!(said.contains("cursor.json.mcp.bak"), "{said}");
        assert!(fs::symlink_metadata(place.path(CURSOR)).unwrap().is_symlink());
        assert!(fs::symlink_metadata(place.path("dotfiles/link.json")).unwrap().is_symlink());
        assert!(place.read("dotfiles/cursor.json").contains("weather"));
        assert_eq!(place.names("dotfiles"), ["cursor.json", "cursor.json.mcp.bak", "link.json"]);
        assert_eq!(place.names("home/.cursor"), ["mcp.json"]);
    }

    #[test]
    fn link_to_a_missing_file_creates_it() {
        let place = Place::linux();
        fs::create_dir_all(place.path("home/.cursor")).unwrap();
        symlink(place.path("dotfiles/cursor.json"), place.path(CURSOR)).unwrap();
        place.install("cursor");
        assert!(fs::symlink_metadata(place.path(CURSOR)).unwrap().is_symlink());
        assert!(place.read("dotfiles/cursor.json").contains("weather"));
    }

    #[test]
    fn linked_directory_is_followed() {
        let place = Place::linux();
        place.write("dotfiles/cursor/mcp.json", "{}");
        symlink(place.path("dotfiles/cursor"), place.path("home/.cursor")).unwrap();
        place.install("cursor");
        assert!(place.read("dotfiles/cursor/mcp.json").contains("weather"));
        assert!(fs::symlink_metadata(place.path("home/.cursor")).unwrap().is_symlink());
    }

    #[test]
    fn modes_are_kept() {
        for kept in [0o600, 0o640, 0o664] {
            let place = Place::linux();
            place.write(CURSOR, "{}");
            fs::set_permissions(place.path(CURSOR), PermissionsExt::from_mode(kept)).unwrap();
            place.install("cursor");
            assert_eq!(mode(&place, CURSOR), kept);
            assert_eq!(mode(&place, "home/.cursor/mcp.json.mcp.bak"), kept);
        }
    }

    #[test]
    fn new_file_of_the_user_is_private_and_that_of_a_project_is_not() {
        let place = Place::linux();
        place.install("cursor --env TOKEN=secret");
        assert_eq!(mode(&place, CURSOR), 0o600);
        place.install("cursor --scope project");
        fs::write(place.path("project/plain"), "").unwrap();
        assert_eq!(mode(&place, "project/.cursor/mcp.json"), mode(&place, "project/plain"));
    }

    #[test]
    fn read_only_directory_is_an_error_that_changes_nothing() {
        let place = Place::linux();
        place.write(CURSOR, "{}");
        let directory = place.path("home/.cursor");
        fs::set_permissions(&directory, PermissionsExt::from_mode(0o555)).unwrap();
        // root may write everywhere
        let privileged = fs::write(directory.join("probe"), "").is_ok();
        let result = place.run(InstallCommand::Install, "cursor");
        fs::set_permissions(&directory, PermissionsExt::from_mode(0o755)).unwrap();
        if privileged {
            result.unwrap();
            return;
        }
        let error = result.unwrap_err().to_string();
        assert!(error.contains("cannot be written") && error.contains("--print"), "{error}");
        assert_eq!(place.read(CURSOR), "{}");
        assert_eq!(place.names("home/.cursor"), ["mcp.json"]);
    }
}
