//! Compares the table in `mcp-runtime/docs/abuse.md` with the tests: every name in it exists, and no test is missing.

use std::collections::BTreeSet;
use std::path::Path;

const TABLE: &str = include_str!("../../../../mcp-runtime/docs/abuse.md");

/// The cells of every row below the head.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let lines = TABLE.lines().filter(|line| line.starts_with("| "));
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).filter(|cells: &Vec<&str>| {
        let head = cells.contains(&"test");
        assert_eq!(cells.len(), 3, "a row has three cells: {cells:?}");
        !head
    })
}

/// The tests a row names: `file::name`, the file below `tests/tests/`.
fn named(cell: &str) -> Vec<(&str, &str)> {
    let names = cell.split('`').skip(1).step_by(2);
    names.map(|name| name.split_once("::").unwrap_or_else(|| panic!("`{name}` is no `file::name`"))).collect()
}

/// The names of the tests in a file below `tests/tests/`.
fn tests_in(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut tests, mut is_test) = (Vec::new(), false);
    for line in source.lines().map(str::trim) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let function = line.trim_start_matches("async ").strip_prefix("fn ");
        if let Some(name) = function.and_then(|rest| rest.split('(').next())
            && std::mem::take(&mut is_test)
        {
            tests.push(name.to_owned());
        }
    }
    tests
}

#[test]
fn every_test_in_the_table_exists() {
    let mut count = 0;
    for cells in rows() {
        let tests = named(cells[2]);
        assert!(!tests.is_empty() || cells[1].starts_with("not yet"), "no test: {cells:?}");
        for (file, name) in tests {
            assert!(tests_in(file).iter().any(|test| test == name), "there is no test `{name}` in tests/tests/{file}");
            count += 1;
        }
    }
    assert!(count >= 30, "where is the table?");
}

#[test]
fn every_abuse_test_is_in_the_table() {
    let named: BTreeSet<(&str, &str)> = rows().flat_map(|cells| named(cells[2])).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stdio/abuse");
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = format!("stdio/abuse/{}", entry.unwrap().file_name().to_str().unwrap());
        for test in tests_in(&file).iter().filter(|_| file != "stdio/abuse/table.rs") {
            assert!(named.contains(&(&*file, &**test)), "the table does not name `{file}::{test}`");
        }
    }
}
