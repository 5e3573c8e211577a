//! Collects the errors of one macro call, to report them together.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// Collects errors, so that users see all of them at once. Must be consumed by
/// [`into_compile_error`](Self::into_compile_error): dropping it would lose them.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    first: Option<syn::Error>,
    read: bool,
}

impl Errors {
    /// Adds an error at a span.
    pub(crate) fn push_at(&mut self, span: Span, message: impl Display) {
        self.push(syn::Error::new(span, message));
    }

    /// Adds an error that spans all of `tokens`.
    pub(crate) fn push_spanned(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.first {
            Some(first) => first.combine(error),
            none => *none = Some(error),
        }
    }

    /// Returns the value of `result`, or adds its error and returns `None`.
    pub(crate) fn handle<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// The `compile_error!`s, if there are any errors.
    pub(crate) fn into_compile_error(mut self) -> Option<TokenStream> {
        self.read = true;
        self.first.take().map(syn::Error::into_compile_error)
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        // While unwinding, a second panic would abort and hide the first.
        if !self.read && !std::thread::panicking() {
            assert!(self.first.is_none(), "errors were collected and not reported");
        }
    }
}
