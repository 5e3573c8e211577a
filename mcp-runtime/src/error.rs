//! Errors: what a handler fails with, and what a JSON-RPC error response says.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app_code::AppCode;
use crate::ask::{AskError, Lack};

/// The result of a handler, of serving and of the [`TestClient`](crate::TestClient).
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
///     text.lines().next().map(str::to_owned).ok_or(Error::tool("the file is empty"))
/// }
/// ```
pub struct Error(Box<Repr>);

enum Repr {
    /// What the model is told.
    Handler(Source),
    /// What the client is told.
    Protocol(RpcError),
    /// A resource that is not there; each revision has its own code for it.
    ResourceNotFound(String),
}

impl Error {
    /// A failure the model should read, as `isError: true`.
    pub fn tool(text: impl Into<String>) -> Self {
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
    /// use mcp_runtime::{AppCode, prelude::*};
    ///
    /// const QUOTA_EXCEEDED: AppCode = AppCode::new(1001);
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
    pub fn application(code: AppCode, text: impl Into<String>) -> Self {
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

    /// The same as a `std::error::Error`, for functions that return `anyhow::Result` or
    /// `Box<dyn Error>`. `Error` is none itself, or it could not be made from every other by `?`.
    ///
    /// ```no_run
    /// use mcp_runtime::prelude::*;
    ///
    /// #[tokio::main]
    /// async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    ///     Server::new("hello", "0.1.0").serve_stdio().await.map_err(Error::into_std)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn into_std(self) -> impl StdError + Send + Sync + 'static {
        Std(self)
    }

    pub(crate) fn protocol(error: RpcError) -> Self {
        Error(Box::new(Repr::Protocol(error)))
    }

    /// The JSON-RPC code, where this is a protocol error.
    pub fn code(&self) -> Option<i32> {
        match &*self.0 {
            Repr::Protocol(error) => Some(error.code),
            Repr::Handler(_) | Repr::ResourceNotFound(_) => None,
        }
    }

    /// The `data` member of a protocol error.
    pub fn data(&self) -> Option<&Value> {
        match &*self.0 {
            Repr::Protocol(error) => error.data.as_ref(),
            Repr::Handler(_) | Repr::ResourceNotFound(_) => None,
        }
    }

    /// What went wrong, as the dispatcher tells it apart.
    pub(crate) fn into_failure(self) -> Failure {
        match *self.0 {
            Repr::Handler(source) => match source.downcast_ref::<AskError>() {
                Some(ask) => ask.to_failure(),
                None => Failure::Handler(chain(&*source)),
            },
            Repr::Protocol(error) => Failure::Protocol(error),
            Repr::ResourceNotFound(uri) => Failure::ResourceNotFound(uri),
        }
    }
}

// Not `std::error::Error` itself, so that this one conversion can take every error there is.
impl<E: Into<Source>> From<E> for Error {
    fn from(error: E) -> Self {
        Error(Box::new(Repr::Handler(error.into())))
    }
}

/// An [`Error`] that is a `std::error::Error`.
struct Std(Error);

impl fmt::Display for Std {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0.0 {
            // Its sources tell the rest.
            Repr::Handler(source) => fmt::Display::fmt(source, f),
            Repr::Protocol(_) | Repr::ResourceNotFound(_) => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl fmt::Debug for Std {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl StdError for Std {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.0.0 {
            Repr::Handler(source) => source.source(),
            Repr::Protocol(_) | Repr::ResourceNotFound(_) => None,
        }
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
fn chain(error: &(dyn StdError + 'static)) -> String {
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

/// The text of a JSON error without "at line 1 column 7": positions in a frame nobody sees as text.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) if error.line() > 0 => shorten(&text[..end]).into_owned(),
        _ => shorten(&text).into_owned(),
    }
}

/// A text that quotes the caller, without the middle of what is too long to be read anyway.
pub(crate) fn shorten(text: &str) -> Cow<'_, str> {
    const LONG: usize = 300;
    if text.len() <= LONG {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(LONG / 2);
    let tail = text.ceil_char_boundary(text.len() - LONG / 2);
    Cow::Owned(format!("{}…{}", &text[..head], &text[tail..]))
}

/// Why a call has no ordinary result; each revision says it in its own way (`era::encode`).
#[derive(Debug)]
pub(crate) enum Failure {
    /// The handler returned an error; its text.
    Handler(String),
    /// The caller's arguments do not fit the handler's types.
    Arguments(ArgumentError),
    /// Nothing is registered at, or matches, this URI.
    ResourceNotFound(String),
    /// The handler panicked; the details went to the log.
    Panicked,
    /// The handler took longer than it may.
    TimedOut(std::time::Duration),
    /// The client does not declare what the call needs of it.
    Lacks(Lack),
    /// A JSON-RPC error as it is.
    Protocol(RpcError),
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        Failure::Protocol(error)
    }
}

/// An argument that is missing or of the wrong type.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArgumentError {
    /// The argument's name on the wire.
    pub(crate) field: Cow<'static, str>,
    /// The type its schema names.
    pub(crate) expected_type: Cow<'static, str>,
    /// The type that was sent, or `missing`.
    pub(crate) actual_type: Cow<'static, str>,
    #[serde(skip)]
    pub(crate) text: String,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The `error` member of a response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RpcError {
    pub(crate) code: i32,
    pub(crate) message: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) const PARSE: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const INTERNAL: i32 = -32603;
    /// Resource not found, up to 2025-11-25.
    pub(crate) const RESOURCE_NOT_FOUND: i32 = -32002;
    /// Somebody has to visit a page first, in 2025-11-25.
    pub(crate) const URL_REQUIRED: i32 = -32042;
    /// The client does not declare a capability the call needs, from 2026-07-28.
    pub(crate) const MISSING_CAPABILITY: i32 = -32021;
    /// A header and the body say different things, from 2026-07-28.
    #[cfg(feature = "http")]
    pub(crate) const HEADER_MISMATCH: i32 = -32020;
    /// Unsupported protocol version, from 2026-07-28.
    pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;

    pub(crate) fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        RpcError { code, message: message.into(), data: None }
    }

    pub(crate) fn parse(detail: &str) -> Self {
        Self::new(Self::PARSE, format!("Parse error: {detail}"))
    }

    pub(crate) fn invalid_request(detail: &str) -> Self {
        Self::new(Self::INVALID_REQUEST, format!("Invalid request: {detail}"))
    }

    pub(crate) fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// A parameter of the wrong type, or missing; `data` says which and how.
    pub(crate) fn wrong_field(field: &str, expected: &str, actual: &str) -> Self {
        let message = match actual {
            "missing" => format!("Invalid params: `{field}` is missing; it is of type {expected}"),
            _ if actual == expected => format!("Invalid params: `{field}` is not a valid {expected}"),
            _ => format!("Invalid params: `{field}` must be of type {expected}, not {actual}"),
        };
        Self::invalid_params(message)
            .with_data(serde_json::json!({"field": field, "expectedType": expected, "actualType": actual}))
    }

    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
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
}
