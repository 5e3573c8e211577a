//! The macros of `mcp-runtime`. Use them through that crate, which documents them.
//!
//! Each macro parses its input (`attr`, `param`, `elicit`, `handler`), checks it (`check`), and generates code
//! (`describe`, `function`, `impl_block`, `derive`). On an error it emits the user's item unchanged, with a
//! stand-in for the generated item, so that one mistake causes one compile error.
//!
//! Some rules exist in both crates: names, URI templates, suggestions. A macro crate can export only macros, and a
//! third crate for a hundred lines would be one more dependency of every user. Tests hold each side to the rules.
#![forbid(unsafe_code)]
// `mcp-runtime` documents the macros where it re-exports them; docs here would be appended to those.
#![allow(missing_docs)]

mod attr;
mod check;
mod derive;
mod describe;
mod doc;
mod elicit;
mod errors;
#[cfg(test)]
mod expansion_tests;
mod function;
mod handler;
mod impl_block;
mod name;
mod param;
mod uri;

use proc_macro::TokenStream;

use handler::Kind;

#[proc_macro_attribute]
pub fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    function::function(Kind::Tool, &attr.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn prompt(attr: TokenStream, item: TokenStream) -> TokenStream {
    function::function(Kind::Prompt, &attr.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn resource(attr: TokenStream, item: TokenStream) -> TokenStream {
    function::function(Kind::Resource, &attr.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn handlers(attr: TokenStream, item: TokenStream) -> TokenStream {
    impl_block::handlers(attr.into(), &item.into()).into()
}

// Called by `tools!`, `prompts!` and `resources!` of the runtime. The names are for the person whose function lacks the
// attribute: rustc's error says which macro it originates in. See `function/list.rs`.
#[doc(hidden)]
#[proc_macro]
pub fn put_the_attribute_tool_on_the_function(input: TokenStream) -> TokenStream {
    function::list::list(Kind::Tool, input.into()).into()
}

#[doc(hidden)]
#[proc_macro]
pub fn put_the_attribute_prompt_on_the_function(input: TokenStream) -> TokenStream {
    function::list::list(Kind::Prompt, input.into()).into()
}

#[doc(hidden)]
#[proc_macro]
pub fn put_the_attribute_resource_on_the_function(input: TokenStream) -> TokenStream {
    function::list::list(Kind::Resource, input.into()).into()
}

#[proc_macro_derive(Resource, attributes(resource))]
pub fn derive_resource(item: TokenStream) -> TokenStream {
    derive::resource(item.into()).into()
}
