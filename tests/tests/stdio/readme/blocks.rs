//! No Rust block of the book is left out: each is a doctest that runs, or runs somewhere else.

use super::book;

/// Blocks that a doctest does not even compile: the page, how they begin, how many there are, and what runs them.
const IGNORED: &[(&str, &str, Option<usize>, &str)] = &[
    ("first-tool.md", "#[tokio::test]\n", Some(1), "transcripts_are_what_happens, of cargo-mcp"),
    ("migrating.md", "", None, "blocks_for_rmcp_are_compiled, all of them, and the tests of tests/migrating"),
    ("testing.md", "use std::process", Some(1), "test_of_a_process_is_tested, and that test"),
];

#[test]
fn every_rust_block_runs_somewhere() {
    for page in book() {
        let name = page.path.rsplit('/').next().unwrap();
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
}
