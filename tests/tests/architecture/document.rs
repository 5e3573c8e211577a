//! `ARCHITECTURE.md` against the sources: each `file.rs::function` it names exists.

use std::fs;
use std::path::{Path, PathBuf};

/// The document is a map, not a book.
const LINES: usize = 160;

/// Where a path of the document may begin.
const ROOTS: &[&str] =
    &["", "mcp-runtime/src/", "mcp-runtime/src/transport/http/", "mcp-runtime/src/transport/http/session/"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Each `file.rs::function` of a text.
fn named_functions(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(".rs::") {
        let is_path = |c: char| c.is_alphanumeric() || "_/-.".contains(c);
        let start = rest[..end].rfind(|c| !is_path(c)).map_or(0, |at| at + 1);
        let after = &rest[end + 5..];
        let length = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
        found.push((&rest[start..end + 3], &after[..length]));
        rest = &after[length..];
    }
    found
}

fn is_defined(file: &str, function: &str) -> bool {
    let sources = ROOTS.iter().filter_map(|root| fs::read_to_string(repository().join(root).join(file)).ok());
    let definitions = [format!("fn {function}("), format!("fn {function}<")];
    sources.into_iter().any(|source| definitions.iter().any(|definition| source.contains(definition)))
}

#[test]
fn functions_the_document_names_exist() {
    let document = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let named = named_functions(&document);
    assert!(named.len() > 20, "only {} functions are named", named.len());
    let gone: Vec<_> = named.iter().filter(|(file, function)| !is_defined(file, function)).collect();
    assert!(gone.is_empty(), "ARCHITECTURE.md names what is gone or elsewhere: {gone:?}");
}

#[test]
fn document_stays_short() {
    let document = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    assert!(document.lines().count() <= LINES, "more than {LINES} lines: move texts into the `//!` of their file");
}

#[test]
fn missing_function_is_found_out() {
    assert_eq!(named_functions("`a/b.rs::c` → d.rs::e_f, g"), [("a/b.rs", "c"), ("d.rs", "e_f")]);
    assert!(is_defined("jsonrpc/mod.rs", "parse") && !is_defined("jsonrpc/mod.rs", "no_such_function"));
}
