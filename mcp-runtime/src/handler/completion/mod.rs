//! Completion: suggests values while a user types an argument of a prompt or template.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>

pub(super) mod function;
pub(super) mod request;

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::call::invocation::Origin;
use crate::outcome::{Reply, Step};
use crate::protocol::CompletionContext;

pub(crate) use function::Completes;
pub(crate) use request::{CompletionRequest, Reference};

/// A function that answers a request for completions.
pub(crate) type CompletionFn = Box<dyn Fn(CompletionRequest<'_>, Origin<'_>) -> Step + Send + Sync>;

type CompletionFuture = Pin<Box<dyn Future<Output = Vec<String>> + Send>>;

/// The source of completions for one argument.
enum Completer {
    /// All values of the argument's type.
    Choices(Vec<String>),
    /// The function in `#[arg(complete = …)]`.
    Function(Box<dyn Fn(String, CompletionContext) -> CompletionFuture + Send + Sync>),
}

/// The completers of a handler, by argument.
#[derive(Default)]
pub(crate) struct Completers(Vec<(&'static str, Completer)>);

impl Completers {
    /// Completes an argument from the values of its type.
    pub(crate) fn choices(&mut self, argument: &'static str, values: Vec<String>) {
        self.set(argument, Completer::Choices(values));
    }

    /// Completes an argument with a function, which takes precedence over the values of its type.
    pub(crate) fn function<T, F, M>(&mut self, argument: &'static str, state: Arc<T>, function: F)
    where
        T: Send + Sync + 'static,
        F: for<'a> Completes<'a, T, M> + Clone + Send + Sync + 'static,
        M: 'static,
    {
        let complete = move |typed: String, others: CompletionContext| -> CompletionFuture {
            let (state, function) = (Arc::clone(&state), function.clone());
            Box::pin(async move { function.complete(&state, &typed, &others).await })
        };
        self.set(argument, Completer::Function(Box::new(complete)));
    }

    fn set(&mut self, argument: &'static str, completer: Completer) {
        self.0.retain(|(name, _)| *name != argument);
        self.0.push((argument, completer));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Starts completing the argument of `request`. Without a completer the result is empty.
    pub(crate) fn start(&self, request: CompletionRequest<'_>) -> Step {
        self.complete(&request.argument, request.typed, request.others)
    }

    /// Starts completing an argument.
    pub(crate) fn complete(&self, argument: &str, typed: Cow<'_, str>, others: CompletionContext) -> Step {
        let completer = self.0.iter().find(|(name, _)| *name == argument).map(|(_, completer)| completer);
        match completer {
            None => Step::Ready(Ok(Reply::Completion(Vec::new()))),
            Some(Completer::Choices(values)) => {
                let matching = values.iter().filter(|value| begins_with(value, &typed)).cloned();
                Step::Ready(Ok(Reply::Completion(matching.collect())))
            }
            Some(Completer::Function(complete)) => {
                let values = complete(typed.into_owned(), others);
                Step::Future(Box::pin(async move { Ok(Reply::Completion(values.await)) }))
            }
        }
    }
}

/// Whether `value` begins with `typed`. Ignores case: users rarely type capitals when they search.
fn begins_with(value: &str, typed: &str) -> bool {
    let mut letters = value.chars().flat_map(char::to_lowercase);
    typed.chars().flat_map(char::to_lowercase).all(|letter| letters.next() == Some(letter))
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(argument, _)| argument)).finish()
    }
}
