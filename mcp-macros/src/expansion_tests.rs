//! Snapshot tests of generated code: each `expansions/*.rs` holds an input and, below a line, its expansion.
//! `UPDATE=1 cargo test -p mcp-macros` rewrites them.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use syn::{Attribute, Item, Meta};

use crate::{derive, function, handler, impl_block};

/// Separates the input from its expansion.
const LINE: &str = "\n// ---- becomes ----\n\n";

#[test]
fn expansions_match_the_snapshots() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let mut differ = Vec::new();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        let (input, recorded) = text.split_once(LINE).unwrap_or((&text, ""));
        let printed = printed(input);
        if printed == recorded {
            continue;
        }
        if update {
            fs::write(&file, format!("{}\n{LINE}{printed}", input.trim_end())).unwrap();
        } else {
            differ.push(format!("{}\n{printed}", file.display()));
        }
    }
    assert!(
        differ.is_empty(),
        "the macros print something else now; if that is meant, run again with UPDATE=1\n\n{}",
        differ.join("\n")
    );
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("expansions");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "where are the snapshots?");
    files
}

/// Every item of `input`, expanded and formatted.
fn printed(input: &str) -> String {
    let file = syn::parse_file(input).unwrap();
    let expanded: TokenStream = file.items.into_iter().map(expanded).collect();
    prettyplease::unparse(&syn::parse2(expanded).unwrap())
}

/// The tokens that replace the item or, for a derive, that are added beside it.
fn expanded(mut item: Item) -> TokenStream {
    if let Item::Struct(item) = &item {
        return derive::resource(quote::quote!(#item));
    }
    let attrs = match &mut item {
        Item::Fn(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        _ => panic!("a function, an impl block or a struct"),
    };
    let is_ours = |attr: &Attribute| attr.path().is_ident("handlers") || handler::Kind::of(attr).is_some();
    let at = attrs.iter().position(is_ours).expect("an attribute of ours");
    let attr = attrs.remove(at);
    let arguments = match &attr.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    let rest = quote::quote!(#item);
    match handler::Kind::of(&attr) {
        Some(kind) => function::function(kind, &arguments, &rest),
        None => impl_block::handlers(arguments, &rest),
    }
}
