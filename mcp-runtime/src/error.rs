//! Errors: what a handler fails with, and what a JSON-RPC error response says.

use std::error::Error as StdError;
use std::fmt;

use serde_json::Value;

use crate::jsonrpc::error::RpcError;

/// The result of a handler. Serving and the [`TestClient`](crate::testing::TestClient) fail with a
/// [`ServerError`] instead, which `?` turns into an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn StdError + Send + Sync>;

/// Why a handler failed.
///
/// Anything people use as an error becomes one through `?`: every [`std::error::Error`],
/// `anyhow::Error`, `Box<dyn Error + Send + Sync>`, `String`, `&str`. From a tool it reaches the
/// model as a result with `isError: true`, with the error's own text and that of its sources; from a
/// prompt or a resource it reaches the client as error `-32603` with that text. The other
/// constructors make protocol errors, which the client sees instead of the model, whatever handler
/// they come from; [`application`](Self::application) makes one with a code of your own.
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
pub struct Error(Box<Repr>);

pub(crate) enum Repr {
    /// What the model is told.
    Handler(Source),
    /// What the client is told.
    Protocol(RpcError),
    /// A resource that is not there; each revision has its own code for it.
    ResourceNotFound(String),
}

impl Error {
    /// A failure the model should read, as `isError: true`.
    pub fn msg(text: impl Into<String>) -> Self {
        Error(Box::new(Repr::Handler(text.into().into())))
    }

    /// The request's parameters are wrong (`-32602`).
    pub fn invalid_params(text: impl Into<String>) -> Self {
        Self::protocol(RpcError::invalid_params(text.into()))
    }

    /// The server failed for a reason that is not the caller's (`-32603`).
    pub fn internal(text: impl Into<String>) -> Self {
        Self::protocol(RpcError::new(RpcError::INTERNAL, text.into()))
    }

    /// A failure the client should act on by its code, which is your own.
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
    pub fn application(code: ErrorCode, text: impl Into<String>) -> Self {
        Self::protocol(RpcError::new(code.get(), text.into()))
    }

    /// Sets the `data` of a protocol error: what a client needs to know beyond code and text. An error
    /// for the model has no place for it, nor has one about a missing resource; they stay as they are.
    pub fn with_data(mut self, data: impl Into<Value>) -> Self {
        if let Repr::Protocol(error) = &mut *self.0 {
            error.data = Some(data.into());
        }
        self
    }

    /// There is no resource at `uri` (`-32002` up to 2025-11-25, `-32602` from 2026-07-28).
    pub fn resource_not_found(uri: impl Into<String>) -> Self {
        Error(Box::new(Repr::ResourceNotFound(uri.into())))
    }

    /// The same as a boxed `std::error::Error`. `Error` is none itself, or it could not be made from
    /// every other by `?`.
    pub fn into_boxed(self) -> Box<dyn StdError + Send + Sync> {
        match *self.0 {
            Repr::Handler(source) => source,
            repr => Box::new(ServerError(Error(Box::new(repr)))),
        }
    }

    /// The error `?` was used on, if it is an `E`.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        match &*self.0 {
            Repr::Handler(source) => source.downcast_ref(),
            Repr::Protocol(_) | Repr::ResourceNotFound(_) => None,
        }
    }

    /// What the error was caused by, as [`std::error::Error::source`] tells it.
    pub fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.0 {
            Repr::Handler(source) => source.source(),
            Repr::Protocol(_) | Repr::ResourceNotFound(_) => None,
        }
    }

    /// The protocol error this is: made as one, or answered by a server and passed on by `?`.
    fn rpc(&self) -> Option<&RpcError> {
        match &*self.0 {
            Repr::Protocol(error) => Some(error),
            Repr::Handler(source) => source.downcast_ref::<ServerError>()?.0.rpc(),
            Repr::ResourceNotFound(_) => None,
        }
    }

    /// What it is made of.
    pub(crate) fn into_repr(self) -> Repr {
        *self.0
    }

    pub(crate) fn protocol(error: RpcError) -> Self {
        Error(Box::new(Repr::Protocol(error)))
    }

    /// The JSON-RPC code, where this is a protocol error.
    pub fn code(&self) -> Option<i32> {
        self.rpc().map(|error| error.code)
    }

    /// The `data` member of a protocol error.
    pub fn data(&self) -> Option<&Value> {
        self.rpc().and_then(|error| error.data.as_ref())
    }
}

// Not `std::error::Error` itself, so that this one conversion can take every error there is.
impl<E: Into<Source>> From<E> for Error {
    fn from(error: E) -> Self {
        Error(Box::new(Repr::Handler(error.into())))
    }
}

/// Why a server could not be served, or what it answered a [`TestClient`](crate::testing::TestClient).
///
/// Unlike [`Error`], which a handler returns, it is a [`std::error::Error`]: `?` turns it into an
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

    /// The JSON-RPC code, where the server answered with an error.
    pub fn code(&self) -> Option<i32> {
        self.0.code()
    }

    /// The `data` member of that error.
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
            // Its sources tell the rest.
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

/// What can stand in the `Err` of a handler: whatever `?` turns into an [`Error`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a handler",
    label = "not an error",
    note = "implement `std::error::Error` for it (`#[derive(Debug, thiserror::Error)]` does); it must be `Send`, `Sync` and `'static`",
    note = "a `Box<dyn Error>` needs `+ Send + Sync`"
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

/// The error's text followed by that of its sources, each once: many errors print their source
/// themselves.
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

/// A code of your own, for [`Error::application`](crate::Error::application): every number but -32768
/// to -32000, which JSON-RPC and MCP keep for themselves.
///
/// A constant is checked when it is compiled:
///
/// ```
/// use mcp_runtime::ErrorCode;
///
/// const QUOTA_EXCEEDED: ErrorCode = ErrorCode::new(1001);
/// ```
///
/// ```compile_fail,E0080
/// use mcp_runtime::ErrorCode;
///
/// const TAKEN: ErrorCode = ErrorCode::new(-32000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(i32);

impl ErrorCode {
    /// The code, which panics if it is not an application's to use: in a `const`, an error of the
    /// compiler.
    #[track_caller]
    pub const fn new(code: i32) -> Self {
        match Self::try_new(code) {
            Some(code) => code,
            None => panic!("error codes from -32768 to -32000 belong to JSON-RPC and MCP: take one above, such as 1"),
        }
    }

    /// The code, if it is an application's to use.
    pub const fn try_new(code: i32) -> Option<Self> {
        // JSON-RPC 2.0 §5.1; <https://modelcontextprotocol.io/specification/2026-07-28/basic>
        if code < -32768 || code > -32000 { Some(ErrorCode(code)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> i32 {
        self.0
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
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
    fn sources_are_told_once() {
        let error = Error::from(Outer(std::io::Error::other("disk full"), "cannot save"));
        assert_eq!(error.to_string(), "cannot save: disk full");
        let error = Error::from(Outer(std::io::Error::other("disk full"), "cannot save: disk full"));
        assert_eq!(error.to_string(), "cannot save: disk full");
    }

    #[test]
    fn the_protocols_codes_are_refused() {
        for taken in [-32768, -32700, -32603, -32600, -32099, -32022, -32002, -32000] {
            assert_eq!(ErrorCode::try_new(taken), None, "{taken}");
        }
        for free in [i32::MIN, -32769, -31999, -1, 0, 1, 404, i32::MAX] {
            assert_eq!(ErrorCode::try_new(free).map(ErrorCode::get), Some(free));
        }
    }

    #[test]
    #[should_panic(expected = "take one above")]
    fn at_run_time_they_are_a_panic() {
        let _ = ErrorCode::new(-32601);
    }
}
