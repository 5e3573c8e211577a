//! The functions that complete: what they may take and what they may return.
//!
//! Which of the forms a function has is nothing the macros can see. So the compiler finds it out: each
//! form is an impl of [`Completes`] for functions of that signature, and `M`, of which an impl has its
//! own, keeps them from overlapping.

use crate::protocol::CompletionContext;

/// A function that completes an argument: by what is typed of it, by the other arguments if it wants
/// to know them, and by the state if it is a method.
///
/// `'a` is a parameter of the trait, because the future of an `async fn` borrows what it was given:
/// it is another type for every lifetime.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not complete an argument",
    label = "expected `fn(&str) -> Vec<String>` or `fn(&str, &Arguments) -> Vec<String>`, `async` or not",
    note = "a method takes `&self` before these, and is named `Self::method`, by a handler in the same impl block",
    note = "what an `async` one holds across `.await` must be `Send`: no `Rc`, no guard of a `std::sync::Mutex`"
)]
pub trait Completes<'a, T, M> {
    /// The values, now or later.
    fn complete(
        self,
        state: &'a T,
        typed: &'a str,
        others: &'a CompletionContext,
    ) -> impl Future<Output = Vec<String>> + Send;
}

/// Marks functions by what they take besides what is typed: the state, the other arguments.
#[derive(Debug)]
pub struct Takes<const STATE: bool, const OTHERS: bool>;

#[diagnostic::do_not_recommend]
impl<'a, T, F, R, M> Completes<'a, T, (Takes<false, false>, M)> for F
where
    F: FnOnce(&'a str) -> R,
    R: Values<M>,
{
    fn complete(self, _: &'a T, typed: &'a str, _: &'a CompletionContext) -> impl Future<Output = Vec<String>> + Send {
        self(typed).settle()
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T, F, R, M> Completes<'a, T, (Takes<false, true>, M)> for F
where
    F: FnOnce(&'a str, &'a CompletionContext) -> R,
    R: Values<M>,
{
    fn complete(
        self,
        _: &'a T,
        typed: &'a str,
        others: &'a CompletionContext,
    ) -> impl Future<Output = Vec<String>> + Send {
        self(typed, others).settle()
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: 'a, F, R, M> Completes<'a, T, (Takes<true, false>, M)> for F
where
    F: FnOnce(&'a T, &'a str) -> R,
    R: Values<M>,
{
    fn complete(
        self,
        state: &'a T,
        typed: &'a str,
        _: &'a CompletionContext,
    ) -> impl Future<Output = Vec<String>> + Send {
        self(state, typed).settle()
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: 'a, F, R, M> Completes<'a, T, (Takes<true, true>, M)> for F
where
    F: FnOnce(&'a T, &'a str, &'a CompletionContext) -> R,
    R: Values<M>,
{
    fn complete(
        self,
        state: &'a T,
        typed: &'a str,
        others: &'a CompletionContext,
    ) -> impl Future<Output = Vec<String>> + Send {
        self(state, typed, others).settle()
    }
}

/// What a completing function returns; `M` as above.
pub trait Values<M> {
    /// The values, now or later.
    fn settle(self) -> impl Future<Output = Vec<String>> + Send;
}

/// Marks values that are there at once.
#[derive(Debug)]
pub struct Now;

/// Marks values that have to be waited for.
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
