//! Each rule on a crate of a few lines: it fails where it should, and passes the code beside it.

use crate::graph::edges;
use crate::rules::{Folder, cycles, imports, names, revisions, shape};
use crate::source::{Source, sources};

/// A crate in memory. Its `lib.rs` passes on `low::Thing`.
fn crate_of(files: &[(&str, &str)]) -> Vec<Source> {
    let lib = ("lib.rs", "//! A crate.\npub use low::Thing;");
    let files = files.iter().chain([&lib]).map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    sources("src", files.collect())
}

const ORDER: &[&[&str]] = &[&["high"], HEART, &["low"]];
const HEART: &[&str] = &["left", "right"];
const FOLDERS: &[Folder] = &[Folder { name: "high", why: "a test", imports: "low" }];

/// The violations of the import rule, in a crate whose other files use the table's one edge.
fn imports_of(path: &str, text: &str) -> Vec<String> {
    let files = [("low/mod.rs", "pub use item::Item;"), ("low/item.rs", ""), ("high/mod.rs", "use crate::low::Item;")];
    let others = [("left.rs", ""), ("right.rs", "")];
    let others = files.into_iter().chain(others).filter(|(other, _)| *other != path);
    imports(&edges(&crate_of(&others.chain([(path, text)]).collect::<Vec<_>>())), ORDER, HEART, FOLDERS)
}

#[track_caller]
fn only(violations: &[String], parts: &[&str]) {
    assert_eq!(violations.len(), 1, "{violations:#?}");
    for part in parts {
        assert!(violations[0].contains(part), "`{part}` is not in: {}", violations[0]);
    }
}

#[test]
fn import_against_the_order_fails() {
    let upwards = ["low → high", "against ORDER", "src/low/item.rs:2"];
    only(&imports_of("low/item.rs", "\nuse crate::high::Item;"), &upwards);
    only(&imports_of("low/item.rs", "\nuse crate::{\n    high,\n};"), &["src/low/item.rs:3"]);
    only(&imports_of("low/item.rs", "\nuse super::super::high::Item;"), &upwards);
    only(&imports_of("low/item.rs", "\nfn f() -> crate::high::Item {}"), &upwards);
    only(&imports_of("low/item.rs", "\nmacro_rules! m { () => { $crate::high::Item } }"), &upwards);
    only(&imports_of("low/item.rs", "\nmod inner { use super::super::super::high::Item; }"), &upwards);
    // A table cannot allow it.
    let table = [Folder { name: "low", why: "", imports: "high" }];
    let files = crate_of(&[("low.rs", "use crate::high::Item;"), ("high.rs", "")]);
    only(&imports(&edges(&files), ORDER, HEART, &table), &["against ORDER"]);
}

#[test]
fn import_of_an_unlisted_folder_fails() {
    only(&imports_of("left.rs", "use crate::low::Item;"), &["left → low", "not in FOLDERS"]);
    only(&imports_of("left.rs", "use crate::Thing;"), &["left → low", "`crate::Thing`"]);
    only(&imports_of("left.rs", "pub use crate::right::Item;"), &["left → right", "not in FOLDERS"]);
    only(&imports_of("new.rs", "use crate::low::Item;"), &["`new` is not in ORDER"]);
}

#[test]
fn unused_entry_of_the_table_fails() {
    only(&imports_of("high/mod.rs", ""), &["high → low", "remove it from the table"]);
}

#[test]
fn imports_in_tests_and_comments_pass() {
    for text in [
        "// use crate::high::Item;\n/// crate::high\nfn f() -> &str { \"crate::high\" }",
        "#[cfg(test)]\nmod tests { use crate::high::Item; }",
        "use super::Item; use self::inner::Item; use crate::low; use std::high; fn f() -> impl Sized + use<> {}",
    ] {
        assert_eq!(imports_of("low/item.rs", text), [""; 0], "{text}");
    }
}

#[test]
fn cycle_of_files_outside_the_heart_fails() {
    let files = crate_of(&[
        ("low/mod.rs", "mod a; mod b;"),
        ("low/a.rs", "use super::b::B;"),
        ("low/b.rs", "use super::a::A;"),
    ]);
    let found = edges(&files);
    only(&cycles(&found, HEART, 2, &[]), &["A new cycle", "src/low/a.rs:1: → low/b.rs (`crate::low::b::B`)"]);
    assert_eq!(cycles(&found, HEART, 2, &[&["low/a.rs", "low/b.rs"]]), [""; 0]);
    let violations = cycles(&found, HEART, 2, &[&["low/a.rs", "low/b.rs", "low/c.rs"]]);
    assert!(violations[0].contains("A new cycle") && violations[1].contains("no longer"), "{violations:#?}");
}

#[test]
fn cycles_are_followed_through_re_exports() {
    let facade = ("low/mod.rs", "mod a; mod b; pub(crate) use {a::A, b::B};");
    let files = crate_of(&[facade, ("low/a.rs", "use super::B;"), ("low/b.rs", "")]);
    assert_eq!(cycles(&edges(&files), HEART, 2, &[]), [""; 0]);
    let files = crate_of(&[facade, ("low/a.rs", "use super::B;"), ("low/b.rs", "use crate::low;\nfn f() { low::A }")]);
    only(&cycles(&edges(&files), HEART, 2, &[]), &["src/low/b.rs:2: → low/a.rs"]);
}

#[test]
fn cycle_across_folders_outside_the_heart_fails() {
    let files = crate_of(&[("low.rs", "use crate::left::Item;"), ("left.rs", "use crate::low::Item;")]);
    let violations = cycles(&edges(&files), HEART, 9, &[&["left.rs", "low.rs"]]);
    assert!(violations[0].contains("not all of them in HEART"), "{violations:#?}");
    assert!(violations[1].contains("left, low import each other"), "{violations:#?}");
    // No file is in a cycle, but the folders are.
    let files = [("low/a.rs", "use crate::high::Item;"), ("low/mod.rs", ""), ("high/a.rs", "use crate::low::Item;")];
    let files = crate_of(&[&files[..], &[("high/mod.rs", "")]].concat());
    only(&cycles(&edges(&files), HEART, 9, &[]), &["high, low import each other", "src/low/a.rs:1: → high/mod.rs"]);
}

#[test]
fn heart_that_grows_fails() {
    let files = crate_of(&[("left.rs", "use crate::right::Item;"), ("right.rs", "use crate::left::Item;")]);
    assert_eq!(cycles(&edges(&files), HEART, 2, &[]), [""; 0]);
    only(&cycles(&edges(&files), HEART, 1, &[]), &["has 2 files, 1 are allowed", "src/left.rs:1: → right.rs"]);
    let second = [("left/b.rs", "use crate::right::b::Item;"), ("right/b.rs", "use crate::left::b::Item;")];
    let first = [("left/a.rs", "use crate::right::a::Item;"), ("right/a.rs", "use crate::left::a::Item;")];
    only(&cycles(&edges(&crate_of(&[first, second].concat())), HEART, 2, &[]), &["A second cycle"]);
}

#[test]
fn shape_is_held() {
    let files = crate_of(&[("a/mod.rs", "//! A.\n#[cfg(test)]\nmod tests;"), ("a/tests.rs", "//! Tests.")]);
    assert_eq!(shape(&files, 1, 3, &[]), [""; 0]);
    only(&shape(&files, 0, 3, &[])[..1], &["src/lib.rs:1", "holds 1 files, 0 are allowed"]);
    only(&shape(&files, 1, 2, &[]), &["src/a/mod.rs:3", "more than 2 lines"]);
    assert_eq!(shape(&files, 1, 2, &[("src/a/mod.rs", "a reason")]), [""; 0]);
    only(&shape(&files, 1, 3, &[("src/a/mod.rs", "a reason")]), &["src/a/mod.rs:3", "Remove it from LONG"]);
    only(&shape(&crate_of(&[("a.rs", "use b;\n//! A.")]), 2, 3, &[]), &["src/a.rs:1", "does not begin with `//!`"]);
}

#[test]
fn question_for_a_revision_fails() {
    for (code, words) in [
        ("if r == Revision::V2025_06_18 {}", "Revision::V2025_06_18"),
        ("match r { Self::V2025_06_18 => {} }", "Self::V2025_06_18"),
        ("r.revision().is_modern()", ".is_modern"),
        ("r.map(Revision::is_modern)", "Revision::is_modern"),
        ("json!({\"supported\": Revision::MODERN})", "Revision::MODERN"),
        ("crate::protocol::Revision::LEGACY.iter()", "Revision::LEGACY"),
        ("r < crate::protocol::Revision::LATEST", "Revision::LATEST"),
        ("&r >= &Revision::LATEST", "Revision::LATEST"),
        ("Revision::LATEST != r", "Revision::LATEST"),
        ("match r { Revision::LATEST => {} }", "Revision::LATEST"),
        ("use crate::protocol::Revision::{self, LATEST};", "Revision::{"),
        ("use crate::protocol::Revision as R;", "Revision as"),
    ] {
        let files = crate_of(&[("high.rs", &format!("\n{code}"))]);
        only(&revisions(&files, &["era/"], &[]), &["src/high.rs:2", words]);
        assert_eq!(revisions(&files, &["high.rs"], &[]), [""; 0]);
        assert_eq!(revisions(&files, &[], &[("high.rs", words, "a reason")]), [""; 0]);
    }
    only(&revisions(&crate_of(&[]), &[], &[("high.rs", ".is_modern", "a reason")]), &["KNOWN", "remove it"]);
}

#[test]
fn revision_as_a_value_passes() {
    for code in [
        "fn f(r: Option<Revision>) -> Vec<Revision> { Revision::ALL.to_vec() }",
        "Identity::new(Revision::LATEST)",
        "/// Revision::V2025_06_18\nfn f() { \"r.is_modern()\" }",
        "#[cfg(test)]\nfn f() { Revision::V2025_06_18 }",
    ] {
        assert_eq!(revisions(&crate_of(&[("high.rs", code)]), &[], &[]), [""; 0], "{code}");
    }
}

#[test]
fn name_declared_twice_in_a_directory_fails() {
    for kind in ["struct Name;", "pub(crate) enum Name {}", "trait Name {}", "type Name<T> = T;"] {
        let twice = [("a/x.rs", "struct Name;"), ("a/y.rs", &*format!("\n{kind}"))];
        only(&names(&crate_of(&twice)), &["src/a/y.rs:2", "`Name`", "src/a/x.rs:1"]);
    }
    let apart = [("a/x.rs", "struct Name;"), ("a/b/y.rs", "struct Name;"), ("b/x.rs", "struct Name;")];
    let hidden = [("a/z.rs", "impl A { type Name = u8; }\n#[cfg(test)]\nmod tests { struct Name; }")];
    let per_platform = [("c.rs", "#[cfg(unix)]\nstruct Name;\n#[cfg(windows)]\nstruct Name;")];
    assert_eq!(names(&crate_of(&[&apart[..], &hidden, &per_platform].concat())), [""; 0]);
}
