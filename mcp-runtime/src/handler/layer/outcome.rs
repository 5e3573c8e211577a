//! [`Outcome`]: what came of a call, as its layers see it and may replace it.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use serde_json::Value;

use crate::error::{Error, HandlerError, chain};
use crate::jsonrpc::error::RpcError;
use crate::outcome::{self as internal, ArgumentError, Failure, Reply};
use crate::protocol::{Meta, PromptResult, ReadResult, ToolResult};

/// The outcome of a call: a result, or an error.
///
/// Made from a [`ToolResult`], a [`PromptResult`], a [`ReadResult`] or an [`Error`]: a layer that does not call its
/// [`next`](super::next::Next::run) returns `ToolResult::text("…").into()`. The result must be of the
/// [kind](super::call::Call::kind) of the call; otherwise the call fails.
///
/// ```
/// use mcp_runtime::layers::{Call, CallError, ErrorKind, Next, Outcome};
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
/// use mcp_runtime::ToolResult;
///
/// /// Tells the model what to do about an error of the handler, and marks results.
/// async fn advised(call: Call, next: Next) -> Outcome {
///     let outcome = next.run(call).await;
///     match outcome.error().map(CallError::kind) {
///         Some(ErrorKind::Handler) => ToolResult::error("not in stock; suggest another article").into(),
///         _ => outcome.with_meta("example.com/warehouse", "north"),
///     }
/// }
///
/// /// How many of an article are in stock?
/// #[tool(layer = advised)]
/// fn stock(article: String) -> Result<u32> {
///     if article == "tea" { Ok(3) } else { Err(Error::msg("no row in `stock`")) }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let client = TestClient::connect(Server::new("shop", "1.0.0").tools(tools![stock])).await?;
/// let tea = client.call("stock", json!({"article": "tea"})).await?;
/// assert_eq!((tea.text().as_str(), &tea.meta()["example.com/warehouse"]), ("3", &json!("north")));
/// let coffee = client.call("stock", json!({"article": "coffee"})).await?;
/// assert_eq!(coffee.text(), "not in stock; suggest another article");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Outcome(Result<Reply, CallError>);

/// Why a call failed. A tool's result with `isError` is none: see [`Outcome::is_error`].
pub struct CallError(Failure);

/// What kind of error ended a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The handler returned an error; from a tool it reaches the model.
    Handler,
    /// The arguments do not match the schema of the handler.
    InvalidArguments,
    /// The user was asked, and said no.
    Declined,
    /// The resource does not exist.
    NotFound,
    /// The caller lacks scopes that the handler needs.
    Forbidden,
    /// The client lacks a capability that the handler needs, such as elicitation.
    MissingCapability,
    /// The handler, or a layer, panicked.
    Panicked,
    /// The server cannot serve the call now.
    Unavailable,
    /// An error with a JSON-RPC code.
    Protocol,
}

impl ErrorKind {
    /// The kind in lower case, like `invalid_arguments`: for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Handler => "handler",
            ErrorKind::InvalidArguments => "invalid_arguments",
            ErrorKind::Declined => "declined",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Forbidden => "forbidden",
            ErrorKind::MissingCapability => "missing_capability",
            ErrorKind::Panicked => "panicked",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Protocol => "protocol",
        }
    }
}

impl Outcome {
    pub(super) fn from_internal(outcome: internal::Outcome) -> Self {
        Outcome(outcome.map_err(CallError))
    }

    pub(super) fn into_internal(self) -> internal::Outcome {
        self.0.map_err(|error| error.0)
    }

    pub(super) fn failed(failure: Failure) -> Self {
        Outcome(Err(CallError(failure)))
    }

    /// A completion with these values.
    pub fn completion(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Outcome(Ok(Reply::Completion(values.into_iter().map(Into::into).collect())))
    }

    /// The result of a custom method: the members of an object.
    pub fn custom(members: Meta) -> Self {
        Outcome(Ok(Reply::Custom(Box::new(members))))
    }

    /// Whether the call failed: with an [error](Self::error), or as a tool's result with `isError`.
    pub fn is_error(&self) -> bool {
        match &self.0 {
            Ok(Reply::Tool(result)) => result.is_error,
            Ok(_) => false,
            Err(_) => true,
        }
    }

    /// The error, if the call failed with one.
    pub fn error(&self) -> Option<&CallError> {
        self.0.as_ref().err()
    }

    /// The result of a tool.
    pub fn as_tool(&self) -> Option<&ToolResult> {
        if let Ok(Reply::Tool(result)) = &self.0 { Some(result) } else { None }
    }

    /// The result of a prompt.
    pub fn as_prompt(&self) -> Option<&PromptResult> {
        if let Ok(Reply::Prompt(result)) = &self.0 { Some(result) } else { None }
    }

    /// The result of a resource.
    pub fn as_resource(&self) -> Option<&ReadResult> {
        if let Ok(Reply::Read(result)) = &self.0 { Some(result) } else { None }
    }

    /// The values of a completion.
    pub fn as_completion(&self) -> Option<&[String]> {
        if let Ok(Reply::Completion(values)) = &self.0 { Some(values) } else { None }
    }

    /// The result of a custom method: the members of an object.
    pub fn as_custom(&self) -> Option<&Meta> {
        if let Ok(Reply::Custom(members)) = &self.0 { Some(members) } else { None }
    }

    /// Replaces the error, if there is one.
    pub fn map_error(self, map: impl FnOnce(CallError) -> Error) -> Self {
        match self.0 {
            Err(error) => map(error).into(),
            ok @ Ok(_) => Outcome(ok),
        }
    }

    /// Adds an entry to the `_meta` of a result. A completion has none, and neither has an error.
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let meta = match &mut self.0 {
            Ok(Reply::Tool(result)) => &mut result.meta,
            Ok(Reply::Prompt(result)) => &mut result.meta,
            Ok(Reply::Read(result)) => &mut result.meta,
            Ok(Reply::Custom(members)) => {
                let meta = members.entry("_meta").or_insert(Value::Null);
                // What is no object is not sent.
                if !meta.is_object() {
                    *meta = Value::Object(Meta::new());
                }
                match meta {
                    Value::Object(meta) => meta,
                    _ => return self,
                }
            }
            Ok(_) | Err(_) => return self,
        };
        meta.insert(key.into(), value.into());
        self
    }

    /// The result of a tool, to be changed in place.
    pub(crate) fn as_tool_mut(&mut self) -> Option<&mut ToolResult> {
        if let Ok(Reply::Tool(result)) = &mut self.0 { Some(result) } else { None }
    }

    /// Replaces the text of an error that a handler can make as long as it likes. Its code stays; its `data` does not.
    pub(crate) fn with_error_text(mut self, text: String) -> Self {
        if let Err(CallError(failure)) = &mut self.0 {
            match failure {
                Failure::Protocol(error) => *error = RpcError::new(error.code, text),
                Failure::Handler(source) => *source = text.into(),
                Failure::Declined(why) => *why = text,
                Failure::Arguments(errors) => {
                    errors.truncate(1);
                    for error in errors {
                        (error.field, error.text) = (Cow::Borrowed("arguments"), text.clone());
                    }
                }
                // In words of the server's own.
                #[cfg(feature = "auth")]
                Failure::Forbidden(_) => {}
                Failure::ResourceNotFound(_)
                | Failure::MissingCapability(_)
                | Failure::Panicked
                | Failure::TimedOut(_)
                | Failure::Throttled(_)
                | Failure::ShutDown
                | Failure::Unavailable(_) => {}
            }
        }
        self
    }

    /// The result, to be changed in place.
    pub(super) fn reply_mut(&mut self) -> Result<&mut Reply, &mut Failure> {
        self.0.as_mut().map_err(|error| &mut error.0)
    }

    /// A copy of a result; `None` of an error, and of what cannot be copied.
    pub(crate) fn copied(&self) -> Option<Self> {
        let reply = match self.0.as_ref().ok()? {
            Reply::Tool(result) => Reply::Tool(result.clone()),
            Reply::Prompt(result) => Reply::Prompt(result.clone()),
            Reply::Read(result) => Reply::Read(result.clone()),
            Reply::Completion(values) => Reply::Completion(values.clone()),
            Reply::Custom(members) => Reply::Custom(members.clone()),
            _ => return None,
        };
        Some(Outcome(Ok(reply)))
    }
}

impl CallError {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match &self.0 {
            Failure::Handler(_) => ErrorKind::Handler,
            Failure::Arguments(_) => ErrorKind::InvalidArguments,
            Failure::Declined(_) => ErrorKind::Declined,
            Failure::ResourceNotFound(_) => ErrorKind::NotFound,
            #[cfg(feature = "auth")]
            Failure::Forbidden(_) => ErrorKind::Forbidden,
            Failure::MissingCapability(_) => ErrorKind::MissingCapability,
            Failure::Panicked => ErrorKind::Panicked,
            // Limits and timeouts surround the layers, so that none of them sees its own.
            Failure::Unavailable(_) | Failure::Throttled(_) | Failure::ShutDown | Failure::TimedOut(_) => {
                ErrorKind::Unavailable
            }
            Failure::Protocol(_) => ErrorKind::Protocol,
        }
    }

    /// The JSON-RPC code, if the error has one of its own: the codes of all others depend on the revision.
    pub fn code(&self) -> Option<i32> {
        if let Failure::Protocol(error) = &self.0 { Some(error.code) } else { None }
    }

    /// The `data` of an error with a code, if it has any.
    pub fn data(&self) -> Option<&Value> {
        if let Failure::Protocol(error) = &self.0 { error.data.as_deref() } else { None }
    }

    /// What the handler returned, if it is an error of this type.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        if let Failure::Handler(source) = &self.0 { source.downcast_ref() } else { None }
    }

    /// What went wrong, for logs and for texts of your own. Clients and models get the same in the words of their revision:
    /// what a single argument should have been, or that the tool failed instead of that it panicked.
    pub fn message(&self) -> Cow<'_, str> {
        match &self.0 {
            Failure::Handler(source) => Cow::Owned(chain(&**source)),
            Failure::Declined(text) => Cow::Borrowed(text),
            Failure::Arguments(errors) => Cow::Owned(format!("Invalid arguments:{}", ArgumentError::list(errors))),
            Failure::ResourceNotFound(uri) => Cow::Owned(format!("Resource not found: {uri}")),
            Failure::Panicked => Cow::Borrowed("the handler panicked"),
            Failure::TimedOut(limit) => Cow::Owned(format!("timed out after {limit:?}")),
            Failure::MissingCapability(missing) => Cow::Borrowed(&missing.text),
            #[cfg(feature = "auth")]
            Failure::Forbidden(denied) => denied.to_error().message,
            Failure::Throttled(throttled) => throttled.to_error().message,
            Failure::Unavailable(text) => Cow::Borrowed(text),
            Failure::ShutDown => internal::shut_down().message,
            Failure::Protocol(error) => Cow::Borrowed(&error.message),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind(), self.message())
    }
}

impl From<CallError> for Outcome {
    fn from(error: CallError) -> Self {
        Outcome(Err(error))
    }
}

impl From<ToolResult> for Outcome {
    fn from(result: ToolResult) -> Self {
        Outcome(Ok(Reply::Tool(result)))
    }
}

impl From<PromptResult> for Outcome {
    fn from(result: PromptResult) -> Self {
        Outcome(Ok(Reply::Prompt(result)))
    }
}

impl From<ReadResult> for Outcome {
    fn from(result: ReadResult) -> Self {
        Outcome(Ok(Reply::Read(result)))
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        Outcome::failed(Failure::from(error))
    }
}

/// What a layer may return: an [`Outcome`], or a [`Result`](crate::Result) of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the outcome of a call",
    label = "expected an `Outcome`",
    note = "`.into()` makes one of a `ToolResult`, a `PromptResult`, a `ReadResult` or an `Error`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#layers"
)]
pub trait IntoOutcome {
    /// Converts the value; an error becomes a failed call.
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<E: HandlerError> IntoOutcome for Result<Outcome, E> {
    fn into_outcome(self) -> Outcome {
        self.unwrap_or_else(|error| error.into().into())
    }
}
