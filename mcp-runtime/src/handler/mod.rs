//! Handlers: what the macros make of an annotated function, with its descriptor, arguments and result.

pub(crate) mod args;
pub(crate) mod builder;
pub(crate) mod completion;
pub(crate) mod custom;
pub(crate) mod dynamic;
pub(crate) mod finish;
pub(crate) mod handlers;
pub(crate) mod header_args;
pub(crate) mod layer;
pub(crate) mod listed;
pub(crate) mod output;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod tool;
pub(crate) mod uri_template;
