//! Prints the public API that a rustdoc JSON file describes: one item per line, each with its full path.
//!
//! The lines are those of `cargo public-api -ss`, with three kinds of noise removed. A type that is exported more than
//! once has its methods and impls listed once, under its last path. A derived impl is one line: the trait is API, but
//! its methods say nothing more. `StructuralPartialEq` is the compiler's own.

use std::collections::HashSet;
use std::error::Error;

use public_api::Builder;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: mcp-public-api RUSTDOC_JSON")?;
    let api = Builder::from_rustdoc_json(path).omit_blanket_impls(true).omit_auto_trait_impls(true);
    let underived: HashSet<String> =
        api.clone().omit_auto_derived_impls(true).build()?.items().map(ToString::to_string).collect();

    let mut listed = HashSet::new();
    let mut lines: Vec<String> = api.build()?.items().map(ToString::to_string).collect();
    lines.reverse();
    lines.retain(|line| {
        let derived_method = !underived.contains(line) && !line.starts_with("impl");
        let internal = line.contains(" core::marker::StructuralPartialEq for ");
        !derived_method && !internal && listed.insert(line.clone())
    });
    lines.reverse();
    for line in lines {
        println!("{line}");
    }
    Ok(())
}
