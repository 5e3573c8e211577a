//! Completion: values a client offers while a person types an argument.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{RpcError, without_position};
use crate::object::Object;
use crate::reply::Reply;
use crate::spec::Step;

/// How many values a client is given at most.
pub(crate) const MOST: usize = 100;

type Values = Pin<Box<dyn Future<Output = Vec<String>> + Send>>;
type Completer = Box<dyn Fn(String) -> Values + Send + Sync>;

/// The functions that complete a handler's arguments, by argument.
#[derive(Default)]
pub(crate) struct Completers(Vec<(&'static str, Completer)>);

impl Completers {
    pub(crate) fn add<F, Fut>(&mut self, argument: &'static str, complete: F)
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<String>> + Send + 'static,
    {
        self.0.push((argument, Box::new(move |typed| Box::pin(complete(typed)))));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What completes `typed`; an argument nobody completes has no values.
    pub(crate) fn start(&self, argument: &str, typed: String) -> Step {
        match self.0.iter().find(|(name, _)| *name == argument) {
            None => Step::Ready(Ok(Reply::Completion(Vec::new()))),
            Some((_, complete)) => {
                let values = complete(typed);
                Step::Future(Box::pin(async move { Ok(Reply::Completion(values.await)) }))
            }
        }
    }
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(argument, _)| argument)).finish()
    }
}

/// What a request wants completed.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(crate) enum Reference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

/// The argument being typed, and what of it there is.
#[derive(Debug, Deserialize)]
pub(crate) struct Typed {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// One member of the request.
pub(crate) fn member<T: DeserializeOwned>(params: &Object<'_>, field: &str) -> Result<T, RpcError> {
    let raw = params.get(field).ok_or_else(|| RpcError::wrong_field(field, "object", "missing"))?;
    serde_json::from_str(raw.get()).map_err(|error| {
        let why = without_position(&error);
        RpcError::invalid_params(format!("Invalid params: `{field}`: {why}"))
    })
}

/// What a completing function may return. `M` is only there to tell the two forms apart; the
/// compiler finds it out.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not complete an argument",
    label = "expected `fn(&str) -> Vec<String>`, `async` or not"
)]
pub trait Completion<M> {
    /// The values, now or later.
    fn settle(self) -> impl Future<Output = Vec<String>> + Send;
}

/// Marks values that are there at once.
#[derive(Debug)]
pub struct Now;

/// Marks values that have to be waited for.
#[derive(Debug)]
pub struct Later;

impl<S: Into<String>> Completion<Now> for Vec<S> {
    fn settle(self) -> impl Future<Output = Vec<String>> + Send {
        std::future::ready(self.into_iter().map(Into::into).collect())
    }
}

impl<S: Into<String>, F: Future<Output = Vec<S>> + Send> Completion<Later> for F {
    async fn settle(self) -> Vec<String> {
        self.await.into_iter().map(Into::into).collect()
    }
}

/// What a completing function returned, awaited if need be.
pub fn settle<M, C: Completion<M>>(completion: C) -> impl Future<Output = Vec<String>> + Send {
    completion.settle()
}
