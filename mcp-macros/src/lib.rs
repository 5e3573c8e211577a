//! The macros of `mcp-runtime`, which documents them. Use them through that crate.
//!
//! Each is read (`attr`, `param`, `elicit`, `handler`), judged (`check`) and printed (`describe`, `function`,
//! `impl_block`, `derive`). On an error the user's item is printed unchanged with a stand-in for what the macro
//! would have made, so that one mistake stays one error.
#![forbid(unsafe_code)]
// `mcp-runtime` documents them; what is said here would be said a second time on its pages.
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
    function::function(Kind::Tool, attr.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn prompt(attr: TokenStream, item: TokenStream) -> TokenStream {
    function::function(Kind::Prompt, attr.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn resource(attr: TokenStream, item: TokenStream) -> TokenStream {
    function::function(Kind::Resource, attr.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn handlers(attr: TokenStream, item: TokenStream) -> TokenStream {
    impl_block::handlers(attr.into(), &item.into()).into()
}

#[proc_macro_derive(Resource, attributes(resource))]
pub fn derive_resource(item: TokenStream) -> TokenStream {
    derive::resource(item.into()).into()
}
