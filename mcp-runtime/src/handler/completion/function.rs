//! Completion functions: the signatures they may have.
//!
//! The macros cannot see a function's signature, so the compiler selects it: each signature has its impl
//! of [`Completes`], with a marker type `M` that keeps the impls from overlapping.

use std::pin::Pin;

use crate::protocol::CompletionContext;

/// The suggested values. Boxed, because older compilers do not see that a future is `Send` if it is a different type for
/// every lifetime.
pub(crate) type Suggested<'a> = Pin<Box<dyn Future<Output = Vec<String>> + Send + 'a>>;

/// A function that completes an argument. It takes the text typed so far and, optionally, the state (as
/// a method) and the other arguments.
///
/// `'a` is a parameter of the trait because the future of an `async fn` borrows its arguments, so it is
/// a different type for every lifetime.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not complete an argument",
    label = "expected `fn(&str) -> Vec<String>` or `fn(&str, &CompletionContext) -> Vec<String>`, `async` or not",
    note = "a method takes `&self` before these, and is named `Self::method`, by a handler in the same impl block",
    note = "what an `async` one holds across `.await` must be `Send`: no `Rc`, no guard of a `std::sync::Mutex`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#completion-functions"
)]
pub trait Completes<'a, T, M> {
    /// Returns the suggested values.
    fn complete(self, state: &'a T, typed: &'a str, others: &'a CompletionContext) -> Suggested<'a>;
}

/// Marks functions by what they take besides the typed text: the state, the other arguments.
#[derive(Debug)]
pub struct Takes<const STATE: bool, const OTHERS: bool>;

#[diagnostic::do_not_recommend]
impl<'a, T, F, R, M> Completes<'a, T, (Takes<false, false>, M)> for F
where
    F: FnOnce(&'a str) -> R,
    R: Values<M> + 'a,
    M: 'a,
{
    fn complete(self, _: &'a T, typed: &'a str, _: &'a CompletionContext) -> Suggested<'a> {
        Box::pin(self(typed).settle())
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T, F, R, M> Completes<'a, T, (Takes<false, true>, M)> for F
where
    F: FnOnce(&'a str, &'a CompletionContext) -> R,
    R: Values<M> + 'a,
    M: 'a,
{
    fn complete(self, _: &'a T, typed: &'a str, others: &'a CompletionContext) -> Suggested<'a> {
        Box::pin(self(typed, others).settle())
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: 'a, F, R, M> Completes<'a, T, (Takes<true, false>, M)> for F
where
    F: FnOnce(&'a T, &'a str) -> R,
    R: Values<M> + 'a,
    M: 'a,
{
    fn complete(self, state: &'a T, typed: &'a str, _: &'a CompletionContext) -> Suggested<'a> {
        Box::pin(self(state, typed).settle())
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: 'a, F, R, M> Completes<'a, T, (Takes<true, true>, M)> for F
where
    F: FnOnce(&'a T, &'a str, &'a CompletionContext) -> R,
    R: Values<M> + 'a,
    M: 'a,
{
    fn complete(self, state: &'a T, typed: &'a str, others: &'a CompletionContext) -> Suggested<'a> {
        Box::pin(self(state, typed, others).settle())
    }
}

/// The return type of a completion function; `M` is a marker, as above.
pub trait Values<M> {
    /// Resolves to the suggested values.
    fn settle(self) -> impl Future<Output = Vec<String>> + Send;
}

/// Marks functions that return the values.
#[derive(Debug)]
pub struct Now;

/// Marks functions that return a future of the values.
#[derive(Debug)]
pub struct Later;

impl<S: Into<String>> Values<Now> for Vec<S> {
    fn settle(self) -> impl Future<Output = Vec<String>> + Send {
        std::future::ready(self.into_iter().map(Into::into).collect())
    }
}

impl<S: Into<String>, F: Future<Output = Vec<S>> + Send> Values<Later> for F {
    async fn settle(self) -> Vec<String> {
        self.await.into_iter().map(Into::into).collect()
    }
}
