//! An argument of a type called `Context`: the user's own, or a mistake for `&Context`.

use super::{Argument, Key};
use crate::handler::builder::{ArgInfo, HandlerBuilder, HandlerKind};

/// A type called `Context` that callers send.
#[diagnostic::on_unimplemented(
    message = "the context is taken by reference",
    label = "write `&Context`",
    note = "for a `Context` of your own that callers send, add `#[derive(serde::Deserialize, schemars::JsonSchema)]` to it",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#arguments"
)]
pub trait OwnContext: Argument {}

#[diagnostic::do_not_recommend]
impl<T: Argument> OwnContext for T {}

/// Declares an argument whose type is called `Context`.
pub fn own_context<T: OwnContext, K: HandlerKind>(builder: &mut HandlerBuilder<K>, arg: ArgInfo) -> Key<T> {
    builder.arg(arg)
}
