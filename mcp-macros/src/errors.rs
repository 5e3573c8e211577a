//! All errors of one macro call, reported together.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// Collects errors, so that a user sees all of them at once. Must be consumed by
/// [`into_compile_error`](Self::into_compile_error): dropping it unread would lose them.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    first: Option<syn::Error>,
    read: bool,
}

impl Errors {
    /// An error at a place.
    pub(crate) fn push_at(&mut self, span: Span, message: impl Display) {
        self.push(syn::Error::new(span, message));
    }

    /// An error about all of `tokens`.
    pub(crate) fn push_spanned(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.first {
            Some(first) => first.combine(error),
            none => *none = Some(error),
        }
    }

    /// The value of `result`, or nothing and its error.
    pub(crate) fn handle<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// The `compile_error!`s, if there is anything to report.
    pub(crate) fn into_compile_error(mut self) -> Option<TokenStream> {
        self.read = true;
        self.first.take().map(syn::Error::into_compile_error)
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        // While unwinding, the panic tells more than this would.
        if !self.read && !std::thread::panicking() {
            assert!(self.first.is_none(), "errors were collected and not reported");
        }
    }
}
