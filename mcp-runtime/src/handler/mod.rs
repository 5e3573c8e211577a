//! What an annotated function becomes: a handler with its descriptor, its arguments and its result.

pub(crate) mod args;
pub(crate) mod builder;
pub(crate) mod completion;
pub(crate) mod custom;
pub(crate) mod handlers;
pub(crate) mod header_args;
pub(crate) mod output;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod schema;
pub(crate) mod tool;
pub(crate) mod uri_template;
