//! Custom methods and notifications, beside those of the protocol, and the rules for their names.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::args::explain;
use crate::call::context::Context;
use crate::call::progress::heartbeat::{self, Accompany};
use crate::error::Result;
use crate::outcome::{ArgumentError, Failure, Outcome, Reply};

type CustomFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
pub(crate) type CustomFn<T> = Box<dyn Fn(Context, &str) -> Result<CustomFuture<T>, ArgumentError> + Send + Sync>;

/// A custom method (`T` is its outcome) or a custom notification (`T` is a `Result`).
pub(crate) struct CustomMethod<T> {
    pub(crate) name: Box<str>,
    pub(crate) call: CustomFn<T>,
    /// Sends heartbeats for a method.
    pub(crate) accompany: Option<Accompany>,
}

impl CustomMethod<Outcome> {
    pub(crate) fn method<P, R, F, Fut>(name: &str, function: F) -> Self
    where
        P: DeserializeOwned,
        R: Serialize,
        F: Fn(Context, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R>> + Send + 'static,
    {
        let call: CustomFn<Outcome> = Box::new(move |ctx, params| {
            let future = function(ctx, decode(params)?);
            Ok(Box::pin(async move { future.await.and_then(result).map_err(Failure::from) }))
        });
        CustomMethod { name: name.into(), call, accompany: Some(heartbeat::accompany) }
    }
}

impl CustomMethod<Result<()>> {
    pub(crate) fn notification<P, F, Fut>(name: &str, function: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(Context, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
    {
        let call: CustomFn<Result<()>> = Box::new(move |ctx, params| Ok(Box::pin(function(ctx, decode(params)?))));
        CustomMethod { name: name.into(), call, accompany: None }
    }
}

fn decode<P: DeserializeOwned>(params: &str) -> Result<P, ArgumentError> {
    serde_json::from_str(params)
        .or_else(|error| match params {
            // A function without parameters takes a `()`.
            "{}" => serde_json::from_str("null").map_err(|_| error),
            _ => Err(error),
        })
        .map_err(|error| explain(params, &error))
}

/// Results must be objects; any other value is wrapped in one.
fn result(value: impl Serialize) -> Result<Reply> {
    let fields = match serde_json::to_value(value)? {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => Map::from_iter([("value".to_owned(), other)]),
    };
    Ok(Reply::Custom(Box::new(fields)))
}

/// Prefixes the protocol reserves, or may use in a later revision.
const RESERVED: [&str; 14] = [
    "client",
    "completion",
    "elicitation",
    "logging",
    "mcp",
    "notifications",
    "prompts",
    "resources",
    "roots",
    "sampling",
    "server",
    "skills",
    "subscriptions",
    "tools",
];

/// Custom names are prefixed with a domain: `vendor.example/name`.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let remedy = "prefix the name with a domain you own, like `vendor.example/name`";
    let prefix = name.split_once('/').map_or("", |(prefix, _)| prefix);
    if prefix == "$" || prefix == "tasks" || name.starts_with("rpc.") || RESERVED.contains(&prefix) {
        return Err(format!("`{name}` is reserved by the protocol; {remedy}"));
    }
    match prefix.split('.').nth(1) {
        Some("modelcontextprotocol" | "mcp") => {
            Err(format!("`{name}`: the prefix `{prefix}` is reserved by the protocol; {remedy}"))
        }
        Some(_) if is_identifier(name) => Ok(()),
        _ => Err(format!("`{name}`: {remedy}")),
    }
}

/// Whether `id` is an extension identifier: a `_meta` key with a prefix.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic#meta>
pub(crate) fn is_identifier(id: &str) -> bool {
    let Some((prefix, name)) = id.split_once('/') else { return false };
    let ends = |word: &str, first: fn(&char) -> bool| {
        word.chars().next().is_some_and(|c| first(&c)) && word.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let label = |label: &str| {
        ends(label, char::is_ascii_alphabetic) && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let name_fits =
        ends(name, char::is_ascii_alphanumeric) && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    prefix.split('.').all(label) && name_fits
}

impl<T> fmt::Debug for CustomMethod<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomMethod").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::is_identifier;

    #[test]
    fn identifier_needs_a_domain_and_a_name() {
        for good in ["com.example/tiles", "io.modelcontextprotocol/ui", "a-b.c1/x_y.z-1", "example/x"] {
            assert!(is_identifier(good), "{good}");
        }
        for bad in ["", "tiles", "/x", "x/", "com..example/x", "1com/x", "com-/x", "com/x/", "com/-x", "com/x y"] {
            assert!(!is_identifier(bad), "{bad}");
        }
    }
}
