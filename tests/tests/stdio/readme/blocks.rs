//! No Rust block of the book and the README is left out: each is a doctest that checks something, or runs somewhere else.

use mcp_runtime::testing::TestClient;
use serde_json::json;

use super::{Page, book, readme};

/// Blocks that a doctest does not even compile: the page, how they begin, how many there are, and what runs them.
const IGNORED: &[(&str, &str, Option<usize>, &str)] = &[
    ("first-tool.md", "#[tokio::test]\n", Some(1), "transcripts_are_what_happens, of cargo-mcp"),
    ("migrating.md", "", None, "blocks_for_rmcp_are_compiled, all of them, and the tests of tests/migrating"),
    ("testing.md", "use std::process", Some(1), "test_of_a_process_is_tested, and that test"),
];

/// Blocks that are a handler alone: the page, what they have, and what runs it.
const HANDLERS: &[(&str, &str, &str)] = &[
    ("README.md", "fn grep(", "grep_of_the_readme_finds_lines"),
    ("first-tool.md", "fn slug(", "transcripts_are_what_happens, of cargo-mcp"),
];

/// Blocks whose `main` checks something without an assertion of its own.
const OTHER_CHECKS: &[(&str, &str)] = &[
    ("replicas.md", "    contract::tasks("), // panics with the rule that is broken
    ("tasks.md", "    while !UNDONE.load(SeqCst) {"), // ends when the handler has been dropped
];

fn name(page: &Page) -> &str {
    page.path.rsplit('/').next().unwrap()
}

/// Whether a doctest of the block runs an assertion: below its `main`, or, without one, at the start of a line.
fn checks_something(block: &str) -> bool {
    let lines = || block.lines().map(|line| line.strip_prefix("# ").unwrap_or(line));
    match lines().position(|line| line.contains("fn main()")) {
        Some(main) => lines().skip(main).any(|line| line.contains("assert")),
        None => lines().any(|line| line.starts_with("assert")),
    }
}

#[test]
fn every_rust_block_runs_somewhere() {
    for page in book() {
        let name = name(&page);
        for line in page.text.lines().filter(|line| line.trim_start().starts_with("```rust")) {
            match line {
                // doctests; and those that `--test book` runs, which insists on a check of each
                "```rust" | "```rust,test_harness" | "```rust,no_run" => {}
                "```rust,ignore" if IGNORED.iter().any(|(page, ..)| *page == name) => {}
                _ => panic!("{name}: {line}: let it run as a doctest, or as `no_run` in tests/tests/book"),
            }
        }
        for (_, begin, count, run) in IGNORED.iter().filter(|(page, ..)| *page == name) {
            let blocks = page.blocks("rust,ignore");
            let is_run = count.is_none_or(|count| count == blocks.len());
            assert!(
                is_run && blocks.iter().all(|block| block.starts_with(begin)),
                "{name}: `ignore` is for what {run} runs; let others run as doctests"
            );
        }
    }
    // `--test book` has the pages of the book alone
    let in_readme = readme().text.lines().filter(|line| line.starts_with("```rust,")).count();
    assert_eq!(in_readme, 1, "README.md: one block is that of the hello example; let others run as doctests");
}

#[test]
fn every_doctest_checks_something() {
    let mut doctests = 0;
    for page in book().into_iter().chain([readme()]) {
        let name = name(&page);
        for block in page.blocks("rust") {
            doctests += 1;
            let is_run = HANDLERS.iter().any(|(page, part, _)| *page == name && block.contains(part))
                || OTHER_CHECKS.iter().any(|(page, part)| *page == name && block.contains(part));
            assert!(
                is_run || checks_something(block),
                "{name}: this block runs nothing, or asserts nothing. Give it a `main` that asserts what the page says, or let it \
                 be `no_run`, with a check in tests/tests/book:\n{block}"
            );
        }
        for block in page.blocks("rust,test_harness") {
            doctests += 1;
            assert!(
                block.contains("#[test]") || block.contains("#[tokio::test]"),
                "{name}: there is no test in\n{block}"
            );
        }
    }
    assert!(doctests > 40, "{doctests}");
}

#[test]
fn block_that_runs_nothing_is_found() {
    for idle in [
        "let server = Server::new(\"notes\", \"1.0.0\");",
        "fn service() -> HttpService {\n    assert!(true);\n}",
        "fn check() {\n    assert!(false);\n}\n# fn main() {\n#     drop(check);\n# }",
        "#[tokio::main]\nasync fn main() -> Result<()> {\n    Ok(())\n}",
    ] {
        assert!(!checks_something(idle), "{idle}");
    }
    assert!(checks_something("# fn main() {\nassert_eq!(1, 1);\n# }"));
    assert!(checks_something("let limits = Limits::small();\nassert!(limits.sessions > 0);"));
}

/// The handler of the README that searches a file.
mod search {
    include!("grep.rs");

    pub(super) fn server() -> Server {
        Server::new("search", "1.0.0").tools(tools![grep])
    }
}

#[tokio::test]
async fn grep_of_the_readme_finds_lines() {
    let readme = readme();
    let shown = readme.blocks("rust").into_iter().find(|block| block.contains("fn grep(")).unwrap();
    assert_eq!(shown.trim(), include_str!("grep.rs").trim());
    let client = TestClient::connect(search::server()).await.unwrap();
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let found = client.call("grep", json!({"path": manifest, "word": "[package]", "limit": 1})).await.unwrap();
    assert_eq!(found.text(), r#"[{"line":1,"text":"[package]"}]"#);
    let beyond = client.call("grep", json!({"path": manifest, "word": "e", "limit": 1001})).await.unwrap();
    assert!(beyond.is_error() && beyond.text().contains("1000"), "{beyond:?}");
}
