//! Mistakes on the command line: exit code 2, and what to do instead.

use std::ffi::OsString;

use mcp_runtime::cli::install::{self, InstallCommand, Program};
use mcp_runtime::cli::terminal::Terminal;

use super::Place;

#[test]
fn mistakes_are_explained() {
    let place = Place::linux();
    for (line, said) in [
        ("", "which client?"),
        ("cursr", "did you mean `cursor`?"),
        ("vs-code", "did you mean `vscode`?"),
        ("emacs", "Clients: claude-desktop, claude-code"),
        ("cursor zed", "one client at a time"),
        ("cursor --nope", "--nope"),
        ("cursor --env KEY", "expected NAME=VALUE"),
        ("cursor --env =x", "expected NAME=VALUE"),
        ("cursor --scope team", "`user` or `project`"),
        ("cursor --name a/b", "letters, digits"),
        ("cursor --name", "--name"),
        ("cursor --http example.com", "expected a URL"),
        ("cursor --http https://", "expected a URL"),
        ("cursor --http https://x --env A=1", "do not go with it"),
        ("cursor --http https://x -- -v", "do not go with it"),
        ("cursor --http https://x --dev", "does not go with `--http`"),
        ("cursor --header A:b", "goes with `--http URL`"),
        ("cursor --http https://x --header A", "'NAME: VALUE'"),
    ] {
        let error = place.refused(line);
        assert_eq!(error.code(), 2, "{line}");
        assert!(error.to_string().contains(said), "{line}: {error}");
    }
    for line in ["", "cursor --print", "cursor --env A=1", "cursor --list", "cursor -- -v"] {
        let error = place.run(InstallCommand::Uninstall, line).expect_err(line);
        assert_eq!(error.code(), 2, "{line}: {error}");
    }
    assert!(place.names("home").is_empty());
}

#[test]
fn help_lists_every_client_and_option() {
    let place = Place::linux();
    let help = place.install("--help");
    for client in mcp_runtime::cli::install::Client::all() {
        assert!(help.contains(client.id), "{help}");
    }
    for option in
        ["--list", "--dry-run", "--print", "--name", "--env", "--scope", "--http", "--header", "--dev", "--edit"]
    {
        assert!(help.contains(option), "{option}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    let help = place.uninstall("-h");
    assert!(help.contains("Usage: uninstall CLIENT") && !help.contains("--http"), "{help}");
}

#[test]
fn page_of_the_docs_has_every_client_and_option() {
    let page = include_str!("../../../../docs/book/install.md");
    for client in install::Client::all() {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", client.id)));
        assert!(row.is_some(), "no row for {}", client.id);
    }
    let help = Place::linux().install("--help");
    let options = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
    for option in options.map(|option| option.trim_end_matches([']', ';'])) {
        assert!(page.contains(&format!("`{option}")), "{option}");
    }
}

#[test]
fn values_may_have_spaces_and_follow_an_equals_sign() {
    let place = Place::linux();
    let program = Program::new("weather", "/opt/my server");
    let arguments = ["zed", "--env=GREETING=good day", "--name=w", "--", "two words", "--list"].map(OsString::from);
    install::run(
        InstallCommand::Install,
        arguments.into(),
        &program,
        &place.machine,
        &mut Vec::new(),
        Terminal::plain(),
    )
    .unwrap();
    let value: serde_json::Value = serde_json::from_str(&place.read("home/.config/zed/settings.json")).unwrap();
    let entry = serde_json::json!({
        "command": "/opt/my server", "args": ["two words", "--list"], "env": {"GREETING": "good day"},
    });
    assert_eq!(value["context_servers"]["w"], entry);
}

#[test]
fn program_of_this_process_has_an_absolute_path() {
    let program = Program::this("weather").unwrap();
    assert!(program.path.is_absolute() && program.path.is_file(), "{}", program.path.display());
    assert!(!program.path.to_str().unwrap().starts_with(r"\\?\"));
}
