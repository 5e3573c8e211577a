//! Writes a test for each file in `transcripts/`, named after its folder and itself:
//! `2025-06-18/tools-call.txt` is `transcripts::v2025_06_18::tools_call`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
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
    let target = Path::new(&std::env::var_os("OUT_DIR").expect("set by cargo")).join("transcripts.rs");
    std::fs::write(target, tests).expect("writable");
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
