//! The defaults of arguments: which types can have one, and the errors if a type cannot.

/// A type whose default value can be part of a schema.
#[diagnostic::on_unimplemented(
    message = "the default of a `{Self}` argument cannot be shown in the schema",
    label = "has a default, but does not implement `Serialize`",
    note = "add `#[derive(serde::Serialize)]` to `{Self}`, or take an `Option<{Self}>` and decide in the function",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#arguments"
)]
pub trait DefaultValue: serde::Serialize {}

#[diagnostic::do_not_recommend]
impl<T: serde::Serialize> DefaultValue for T {}

/// A type whose default can be written as a string literal.
#[diagnostic::on_unimplemented(
    message = "a text cannot be the default of a `{Self}` argument",
    label = "expected `{Self}`, found a text",
    note = "write the value itself, or an expression of type `{Self}`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#arguments"
)]
pub trait TextDefault {
    /// The value.
    fn from_text(text: &'static str) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: From<&'static str>> TextDefault for T {
    fn from_text(text: &'static str) -> Self {
        text.into()
    }
}

/// The value of `#[arg(default = "text")]`.
pub fn default_text<T: TextDefault>(text: &'static str) -> T {
    T::from_text(text)
}
