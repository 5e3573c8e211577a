//! The blocks for rmcp in `docs/book/migrating.md` are in `tests/migrating`, where they compile.

use super::{page, root};

/// Without indentation: a block of the page may be a method.
fn flat(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn blocks_for_rmcp_are_compiled() {
    let sources = std::fs::read_dir(root().join("tests/migrating/src")).unwrap();
    let sources: Vec<String> =
        sources.map(|file| flat(&std::fs::read_to_string(file.unwrap().path()).unwrap())).collect();
    let page = page("docs/book/migrating.md");
    let blocks = page.blocks("rust,ignore");
    assert!(blocks.len() > 4);
    for block in blocks {
        let found = sources.iter().any(|source| source.contains(&flat(block)));
        assert!(found, "not in tests/migrating/src:\n{block}");
    }
}
