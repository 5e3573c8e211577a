//! Writes a test for each file in `transcripts/`, named after its folder and itself:
//! `2025-06-18/tools-call.txt` is `transcripts::v2025_06_18::tools_call`; and the documentation of an item for each page of
//! the book, so that its Rust blocks are doctests: those of `first-tool.md` are `pages::first_tool`; and a module for each of
//! these blocks that a doctest only compiles, for `tests/book`, which runs them: the first of `http.md` is `http_1`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    std::fs::write(out.join("transcripts.rs"), transcripts()).expect("writable");
    std::fs::write(out.join("book.rs"), book()).expect("writable");
    std::fs::write(out.join("programs.rs"), programs()).expect("writable");
}

fn transcripts() -> String {
    println!("cargo::rerun-if-changed=transcripts");
    let mut tests = String::new();
    for folder in entries(Path::new("transcripts")) {
        let _ = writeln!(tests, "mod {} {{", identifier(&folder));
        for file in entries(&folder).iter().filter(|file| file.extension().is_some_and(|extension| extension == "txt"))
        {
            let _ = writeln!(
                tests,
                "    #[tokio::test]\n    async fn {}() {{\n        super::check({:?}).await;\n    }}",
                identifier(file),
                file.to_str().expect("UTF-8")
            );
        }
        tests.push_str("}\n");
    }
    assert!(!tests.is_empty(), "there are no transcripts");
    tests
}

fn book() -> String {
    let mut items = String::new();
    for (page, name) in pages() {
        let path = page.to_str().expect("UTF-8");
        let _ = writeln!(items, "#[doc = include_str!({path:?})]\npub mod {name} {{}}");
    }
    items
}

/// The pages of the book, with the names of their modules.
fn pages() -> Vec<(PathBuf, String)> {
    let tests = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let book = tests.with_file_name("docs").join("book");
    println!("cargo::rerun-if-changed={}", book.display());
    let pages = entries(&book).into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "md"));
    let named = |page: PathBuf| {
        let name = identifier(&page).to_lowercase();
        (page, name)
    };
    pages.map(named).collect()
}

/// What the blocks of the book name and a test cannot have: another one stands for it there.
const ELSEWHERE: &[&str] = &[
    "127.0.0.1:8080",
    "0.0.0.0:8080",
    "0.0.0.0:8443",
    "/run/mcp/socket",
    "/run/secrets/backup",
    "redis://127.0.0.1/",
    "https://auth.example.com",
    "https://mcp.example.com/mcp",
];

/// A module for each block that is `no_run`, and the list of their names.
fn programs() -> String {
    let (mut modules, mut names) = (String::new(), Vec::new());
    for (page, page_name) in pages() {
        let text = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        let blocks = text.split("\n```rust,no_run\n").skip(1).filter_map(|rest| rest.split("\n```").next());
        for (number, block) in (1..).zip(blocks) {
            let name = format!("{page_name}_{number}");
            let _ = writeln!(
                modules,
                "#[allow(unused, private_interfaces, missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]\npub mod {name} {{\n{}}}",
                module(block)
            );
            names.push(name);
        }
    }
    modules + &format!("/// The names of these modules.\npub(crate) const BLOCKS: &[&str] = &{names:?};\n")
}

/// A block with its hidden lines, functions that can be called, and what the environment says instead of `ELSEWHERE`.
fn module(block: &str) -> String {
    let mut module = String::new();
    for line in block.lines() {
        let line = line.strip_prefix("# ").unwrap_or(line);
        let is_function = ["fn ", "async fn "].iter().any(|start| line.starts_with(start));
        let _ = writeln!(module, "{}{line}", if is_function { "pub " } else { "" });
    }
    for shown in ELSEWHERE {
        module = module.replace(&format!("{shown:?}"), &format!("crate::programs::here({shown:?})"));
    }
    module
}

/// The files of a folder, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths
}

/// A file's name without extension, as Rust would have it.
fn identifier(path: &Path) -> String {
    let name = path.file_stem().and_then(|name| name.to_str()).expect("UTF-8").replace('-', "_");
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("v{name}") } else { name }
}
