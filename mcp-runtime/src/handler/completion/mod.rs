//! Completion: values a client offers while a person types an argument.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>

pub(super) mod function;
pub(super) mod request;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::outcome::{Reply, Step};
use crate::protocol::CompletionContext;

pub(crate) use function::Completes;
pub(crate) use request::{CompletionRequest, Reference};

type CompletionFuture = Pin<Box<dyn Future<Output = Vec<String>> + Send>>;

/// What completes one argument.
enum Completer {
    /// The values its type has, all of them.
    Choices(Vec<String>),
    /// What its author named.
    Function(Box<dyn Fn(String, CompletionContext) -> CompletionFuture + Send + Sync>),
}

/// What completes a handler's arguments, by argument.
#[derive(Default)]
pub(crate) struct Completers(Vec<(&'static str, Completer)>);

impl Completers {
    /// An argument of a type that has only these values.
    pub(crate) fn choices(&mut self, argument: &'static str, values: Vec<String>) {
        self.set(argument, Completer::Choices(values));
    }

    /// An argument with a function that completes it, which is asked before its type.
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

    /// What completes the argument of `request`; one that nobody completes has no values.
    pub(crate) fn start(&self, request: CompletionRequest<'_>) -> Step {
        let CompletionRequest { argument, typed, others, .. } = request;
        let completer = self.0.iter().find(|(name, _)| *name == argument).map(|(_, completer)| completer);
        match completer {
            None => Step::Ready(Ok(Reply::Completion(Vec::new()))),
            Some(Completer::Choices(values)) => {
                let fitting = values.iter().filter(|value| begins_with(value, &typed)).cloned();
                Step::Ready(Ok(Reply::Completion(fitting.collect())))
            }
            Some(Completer::Function(complete)) => {
                let values = complete(typed.into_owned(), others);
                Step::Future(Box::pin(async move { Ok(Reply::Completion(values.await)) }))
            }
        }
    }
}

/// Whether `value` begins with what was typed. People do not type capitals when they look for something.
fn begins_with(value: &str, typed: &str) -> bool {
    let mut letters = value.chars().flat_map(char::to_lowercase);
    typed.chars().flat_map(char::to_lowercase).all(|letter| letters.next() == Some(letter))
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(argument, _)| argument)).finish()
    }
}
