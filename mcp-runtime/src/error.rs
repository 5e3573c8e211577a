//! The error types of handlers ([`Error`]) and of serving ([`ServerError`]), and application error codes.
//!
//! There are two, because one type cannot play both roles. A handler's `?` takes every error, through a blanket
//! `From`; that excludes implementing `std::error::Error`, as in `anyhow`. What `serve_*` and `TestClient` return
//! must implement it, so that `?` works in a `main` that returns `anyhow::Result` or `Box<dyn Error>`.

pub(crate) mod code;
pub(crate) mod sections;

use std::error::Error as StdError;
use std::fmt;

use serde_json::Value;

use crate::jsonrpc::error::RpcError;

use code::IntoErrorCode;

/// The result of a handler. Serving and the [`TestClient`](crate::testing::TestClient) return a
/// [`ServerError`] instead, which `?` converts into an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The page [`errors`](crate::errors), for messages that lead to one of its sections.
pub(crate) const PAGE: &str = "https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html";

type Source = Box<dyn StdError + Send + Sync>;

/// The error of a handler.
///
/// `?` converts any common error type into it: every [`std::error::Error`], `anyhow::Error`,
/// `Box<dyn Error + Send + Sync>`, `String` and `&str`. The text consists of the error's message and those
/// of its sources. From a tool it reaches the model, as a result with `isError: true`; from a prompt or a
/// resource it reaches the client, as error `-32603`.
///
/// [`invalid_params`](Self::invalid_params), [`internal`](Self::internal),
/// [`resource_not_found`](Self::resource_not_found) and [`application`](Self::application) create protocol
/// errors. They reach the client instead of the model, from any handler.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// #[tool]
/// fn first_line(path: String) -> Result<String> {
///     let text = std::fs::read_to_string(path)?;
///     text.lines().next().map(str::to_owned).ok_or(Error::msg("the file is empty"))
/// }
/// ```
///
/// # Error types of your own
///
/// A type that implements [`std::error::Error`] needs no more: `?` converts it. An `impl From<Mine> for Error` would
/// conflict with that conversion (E0119). Where some of your errors have a code, convert them with a method:
///
/// ```
/// use mcp_runtime::ErrorCode;
/// use mcp_runtime::prelude::*;
///
/// #[derive(Debug, thiserror::Error)]
/// enum Mine {
///     #[error("no questions left today")]
///     Quota,
///     #[error(transparent)]
///     Disk(#[from] std::io::Error),
/// }
///
/// impl Mine {
///     fn coded(self) -> Error {
///         match self {
///             Mine::Quota => Error::application(ErrorCode::new(1001), self.to_string()),
///             other => other.into(),
///         }
///     }
/// }
///
/// fn ask() -> std::result::Result<String, Mine> {
///     Err(Mine::Quota)
/// }
///
/// assert_eq!(ask().map_err(Mine::coded).unwrap_err().code(), Some(1001));
/// ```
///
/// `Error` is not a `std::error::Error` (else it could not be converted from all of them), so it cannot be a `#[from]`
/// or a `#[source]` of your own type: there, use [`ServerError`], or [`into_boxed`](Self::into_boxed).
pub struct Error(Box<Repr>);

pub(crate) enum Repr {
    /// An error for the model.
    Handler(Source),
    /// An error for the client.
    Protocol(RpcError),
    /// An unknown resource; the code depends on the revision.
    ResourceNotFound(String),
}

impl Error {
    /// An error with this message. From a tool it reaches the model, as `isError: true`.
    pub fn msg(text: impl Into<String>) -> Self {
        Error(Box::new(Repr::Handler(text.into().into())))
    }

    /// The request has invalid parameters (`-32602`).
    pub fn invalid_params(text: impl Into<String>) -> Self {
        Self::protocol(RpcError::invalid_params(text.into()))
    }

    /// The server failed, through no fault of the caller (`-32603`).
    pub fn internal(text: impl Into<String>) -> Self {
        Self::protocol(RpcError::new(RpcError::INTERNAL, text.into()))
    }

    /// An error with a code of your own, for clients that act on it: an [`ErrorCode`](crate::ErrorCode), or any type that
    /// converts into one.
    ///
    /// ```
    /// use mcp_runtime::ErrorCode;
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// const QUOTA_EXCEEDED: ErrorCode = ErrorCode::new(1001);
    ///
    /// /// Ask the oracle.
    /// #[tool]
    /// fn ask(question: String) -> Result<String> {
    ///     Err(Error::application(QUOTA_EXCEEDED, "no questions left today").with_data(json!({"left": 0})))
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let client = TestClient::connect(Server::new("oracle", "1.0.0").tools(tools![ask])).await?;
    /// let error = client.call("ask", json!({"question": "why?"})).await.unwrap_err();
    /// assert_eq!((error.code(), error.data()), (Some(1001), Some(&json!({"left": 0}))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn application(code: impl IntoErrorCode, text: impl Into<String>) -> Self {
        Self::protocol(RpcError::new(code.into_code().get(), text.into()))
    }

    /// Sets the `data` of a protocol error: details for the client beyond code and message. Errors for the
    /// model and [`resource_not_found`](Self::resource_not_found) have no `data`; they stay unchanged.
    pub fn with_data(mut self, data: impl Into<Value>) -> Self {
        if let Repr::Protocol(error) = &mut *self.0 {
            error.data = Some(Box::new(data.into()));
        }
        self
    }

    /// No resource exists at `uri` (`-32002` up to 2025-11-25, `-32602` from 2026-07-28).
    pub fn resource_not_found(uri: impl Into<String>) -> Self {
        Error(Box::new(Repr::ResourceNotFound(uri.into())))
    }

    /// Converts into a boxed [`std::error::Error`]. `Error` itself does not implement that trait, so that
    /// `?` can convert every other error into it.
    pub fn into_boxed(self) -> Box<dyn StdError + Send + Sync> {
        match *self.0 {
            Repr::Handler(source) => source,
            repr => Box::new(ServerError(Error(Box::new(repr)))),
        }
    }

    /// The original error, as converted by `?`, if its type is `E`.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        match &*self.0 {
            Repr::Handler(source) => source.downcast_ref(),
            Repr::Protocol(_) | Repr::ResourceNotFound(_) => None,
        }
    }

    /// The cause of the original error, as [`std::error::Error::source`].
    pub fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.0 {
            Repr::Handler(source) => source.source(),
            Repr::Protocol(_) | Repr::ResourceNotFound(_) => None,
        }
    }

    /// The protocol error: created as one, or received from a server and passed on by `?`.
    fn rpc(&self) -> Option<&RpcError> {
        match &*self.0 {
            Repr::Protocol(error) => Some(error),
            Repr::Handler(source) => source.downcast_ref::<ServerError>()?.0.rpc(),
            Repr::ResourceNotFound(_) => None,
        }
    }

    /// The representation, for the conversion into a `Failure`.
    pub(crate) fn into_repr(self) -> Repr {
        *self.0
    }

    pub(crate) fn protocol(error: RpcError) -> Self {
        Error(Box::new(Repr::Protocol(error)))
    }

    /// The JSON-RPC code, if this is a protocol error.
    pub fn code(&self) -> Option<i32> {
        self.rpc().map(|error| error.code)
    }

    /// The `data` of a protocol error, if it has any.
    pub fn data(&self) -> Option<&Value> {
        self.rpc().and_then(|error| error.data.as_deref())
    }
}

// `Error` does not implement `std::error::Error`: this blanket conversion would overlap with `From<T> for T`.
impl<E: Into<Source>> From<E> for Error {
    fn from(error: E) -> Self {
        Error(Box::new(Repr::Handler(error.into())))
    }
}

/// The error of serving, and of requests by a [`TestClient`](crate::testing::TestClient).
///
/// Unlike [`Error`], which handlers return, it is a [`std::error::Error`]: `?` converts it into an
/// `anyhow::Error`, a `Box<dyn Error>`, an enum of your own with `#[from]`, and into [`Error`].
///
/// ```no_run
/// use mcp_runtime::prelude::*;
///
/// #[tokio::main]
/// async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
///     Server::new("hello", "0.1.0").serve_stdio().await?;
///     Ok(())
/// }
/// ```
pub struct ServerError(Error);

impl ServerError {
    pub(crate) fn msg(text: impl Into<String>) -> Self {
        ServerError(Error::msg(text))
    }

    pub(crate) fn internal(text: impl Into<String>) -> Self {
        ServerError(Error::internal(text))
    }

    pub(crate) fn protocol(error: RpcError) -> Self {
        ServerError(Error::protocol(error))
    }

    pub(crate) fn resource_not_found(uri: impl Into<String>) -> Self {
        ServerError(Error::resource_not_found(uri))
    }

    /// The JSON-RPC code, if the server answered with an error.
    pub fn code(&self) -> Option<i32> {
        self.0.code()
    }

    /// The `data` of that error, if it has any.
    pub fn data(&self) -> Option<&Value> {
        self.0.data()
    }
}

impl From<Error> for ServerError {
    fn from(error: Error) -> Self {
        ServerError(error)
    }
}

impl From<std::io::Error> for ServerError {
    fn from(error: std::io::Error) -> Self {
        ServerError(error.into())
    }
}

impl From<serde_json::Error> for ServerError {
    fn from(error: serde_json::Error) -> Self {
        ServerError(error.into())
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0.0 {
            // Without its sources: callers print those through `source()`.
            Repr::Handler(source) => fmt::Display::fmt(source, f),
            Repr::Protocol(_) | Repr::ResourceNotFound(_) => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl StdError for ServerError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}

/// The error types a handler may return: every type that `?` converts into an [`Error`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a handler",
    label = "not an error",
    note = "implement `std::error::Error` for it (`#[derive(Debug, thiserror::Error)]` does); it must be `Send`, `Sync` and `'static`",
    note = "a `Box<dyn Error>` needs `+ Send + Sync`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#return-types"
)]
pub trait HandlerError: Into<Error> {}

#[diagnostic::do_not_recommend]
impl<E: Into<Error>> HandlerError for E {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Repr::Handler(source) => f.write_str(&chain(&**source)),
            Repr::Protocol(error) => f.write_str(&error.message),
            Repr::ResourceNotFound(uri) => write!(f, "resource not found: {uri}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Repr::Protocol(error) => write!(f, "{} ({})", error.message, error.code),
            Repr::Handler(_) | Repr::ResourceNotFound(_) => fmt::Display::fmt(self, f),
        }
    }
}

/// The error's message followed by those of its sources. A source that the message already ends with is
/// not repeated: many errors print their source themselves.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(std::io::Error, &'static str);
    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.1)
        }
    }
    impl StdError for Outer {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn error_text_has_each_source_once() {
        let error = Error::from(Outer(std::io::Error::other("disk full"), "cannot save"));
        assert_eq!(error.to_string(), "cannot save: disk full");
        let error = Error::from(Outer(std::io::Error::other("disk full"), "cannot save: disk full"));
        assert_eq!(error.to_string(), "cannot save: disk full");
    }
}
