//! Commands of the README and the book: each is run by a test, which is named here. Those of `install.md` are run here.

use std::collections::BTreeSet;

use super::{Page, book, readme, root};

/// The tests that run a block of commands: a file below the root of the repository, and a function in it.
type Tests = &'static [(&'static str, &'static str)];

/// Every `sh` or `console` block: its page, how it begins, and what runs it.
const SHOWN: &[(&str, &str, Tests)] = &[
    ("README.md", "$ cargo run -q -p hello", &[(README, "first_commands_print_what_is_shown")]),
    ("README.md", "cargo test --workspace", &[(".ci/run", "test_command=")]),
    ("README.md", "$ cargo mcp new demo", &[(TRANSCRIPTS, "transcripts_are_what_happens")]),
    ("cargo-mcp.md", "$ cargo mcp new demo", &[(TRANSCRIPTS, "transcripts_are_what_happens")]),
    ("cargo-mcp.md", "starter call", &[("cargo-mcp/tests/new/main.rs", "starter_passes_its_tests_alone")]),
    (
        "deploying.md",
        "$ curl -fsS",
        &[
            ("tests/tests/book/commands.rs", "check_deployment"),
            ("cargo-mcp/tests/remote/connecting.rs", "deployed_server_is_examined_as_the_book_says"),
        ],
    ),
    ("dev.md", "$ cargo mcp dev", &[("cargo-mcp/tests/dev/page.rs", "commands_of_the_page_are_run")]),
    ("first-tool.md", "$ cargo ", &[(TRANSCRIPTS, "transcripts_are_what_happens")]),
    ("http.md", "curl -s", &[(README, "curl_commands_print_the_shown_responses")]),
    ("http.md", "post() {", &[(README, "curl_commands_print_the_shown_responses")]),
    ("install.md", "$ weather install", &[(SHELL, "install_prints_what_is_shown")]),
    ("prompts.md", "cargo run -- prompts", &[("tests/tests/book/commands.rs", "prompts")]),
];

const README: &str = "tests/tests/stdio/readme/mod.rs";
const SHELL: &str = "tests/tests/stdio/readme/shell.rs";
const TRANSCRIPTS: &str = "cargo-mcp/tests/new/transcripts.rs";

/// The fenced blocks of commands, those inside of another block included, whatever the fence says besides.
fn commands(page: &Page) -> Vec<&str> {
    let is_shell =
        |info: &str| ["sh", "bash", "shell", "console"].contains(&info.split([',', ' ']).next().unwrap_or(""));
    let blocks = page.text.split("\n```").skip(1).filter_map(|block| block.split_once('\n'));
    blocks.filter(|(info, _)| is_shell(info)).map(|(_, block)| block).collect()
}

#[test]
fn every_command_is_run_by_a_test() {
    let mut found = BTreeSet::new();
    for page in book().into_iter().chain([readme()]) {
        let name = page.path.rsplit('/').next().unwrap();
        for block in commands(&page) {
            let runs = SHOWN.iter().find(|(page, begin, _)| *page == name && block.starts_with(begin));
            let Some((page, begin, tests)) = runs else {
                panic!("{name}: let a test run this, and name it here:\n{block}")
            };
            found.insert((page, begin));
            for (file, function) in *tests {
                let source =
                    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
                let has_test = source.contains(&format!("fn {function}(")) || source.contains(&format!("\n{function}"));
                assert!(has_test && source.contains(name), "{file} has no {function} that reads {name}");
            }
        }
    }
    assert_eq!(found.len(), SHOWN.len(), "of the blocks named here, the pages have only {found:#?}");
}

/// The commands of `install.md`, with another server than `weather`, in a home of their own.
#[cfg(unix)]
#[test]
fn install_prints_what_is_shown() {
    use std::process::{Command, Stdio};

    let page = super::page("docs/book/install.md");
    let home = std::env::temp_dir().join(format!("mcp-install-{}", std::process::id()));
    let file = home.join(".cursor/mcp.json");
    std::fs::create_dir_all(home.join(".cursor")).unwrap();
    std::fs::write(&file, r#"{"mcpServers": {}}"#).unwrap();
    let own_name = |text: &str| text.replace("weather", "commands");
    let steps =
        page.blocks("console")[0].split("$ weather ").skip(1).map(|step| step.split_once('\n').unwrap_or((step, "")));
    let mut written = Vec::new();
    for (line, shown) in steps {
        let arguments = line.split('#').next().unwrap().split_whitespace();
        let mut command = Command::new(env!("CARGO_BIN_EXE_commands"));
        command
            .args(arguments)
            .env("HOME", &home)
            .env_remove("XDG_CONFIG_HOME")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        let done = command.current_dir(&home).output().unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success(), "{line}: {said}{}", String::from_utf8_lossy(&done.stderr));
        // of a program in a target directory, which another build replaces
        let said = said.lines().filter(|line| !line.contains("note: `cargo clean`")).collect::<Vec<_>>().join("\n");
        if !shown.is_empty() {
            assert_eq!(said, own_name(shown).trim_end(), "{line}");
        }
        written.push((said, std::fs::read_to_string(&file).unwrap()));
    }
    let [(_, installed), (_, removed), (list, _)] = &written[..] else { panic!("{written:?}") };
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let mut entry = json(&own_name(page.blocks("json")[0]));
    entry["mcpServers"]["commands"]["command"] = env!("CARGO_BIN_EXE_commands").into();
    assert_eq!(json(installed), entry);
    assert_eq!(json(removed), serde_json::json!({"mcpServers": {}}));
    assert!(list.contains("cursor          found       ~/.cursor/mcp.json"), "{list}");
    std::fs::remove_dir_all(&home).unwrap();
}
