//! Writes a test for each file in `transcripts/`, named after its folder and itself:
//! `2025-06-18/tools-call.txt` is `transcripts::v2025_06_18::tools_call`; and the documentation of an item for each page of
//! the book, so that its Rust blocks are doctests: those of `first-tool.md` are `pages::first_tool`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    std::fs::write(out.join("transcripts.rs"), transcripts()).expect("writable");
    std::fs::write(out.join("book.rs"), book()).expect("writable");
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
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("docs").join("book");
    println!("cargo::rerun-if-changed={}", book.display());
    let mut items = String::new();
    for page in entries(&book).iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
        let (path, name) = (page.to_str().expect("UTF-8"), identifier(page).to_lowercase());
        let _ = writeln!(items, "#[doc = include_str!({path:?})]\npub mod {name} {{}}");
    }
    items
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
