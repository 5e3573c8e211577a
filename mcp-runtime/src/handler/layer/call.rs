//! [`Call`]: one call of a handler, as its layers see it.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::chain::Target;
#[cfg(feature = "auth")]
use crate::auth::User;
use crate::call::context::Context;
use crate::call::run::BlockingThreads;
use crate::error::Result;
use crate::protocol::{CompletionContext, Revision, ToolAnnotations};

/// One call of a handler, as its [layers](super::Layer) see it.
///
/// Clone it to call [`next`](super::next::Next::run) more than once. A layer may read the arguments and replace them:
///
/// ```
/// use mcp_runtime::layers::{Call, Next, Outcome};
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
/// use serde_json::{Map, Value};
///
/// /// Removes spaces around texts.
/// async fn trimmed(mut call: Call, next: Next) -> Result<Outcome> {
///     let mut arguments: Map<String, Value> = call.arguments_as()?;
///     for argument in arguments.values_mut() {
///         if let Value::String(text) = argument {
///             *text = text.trim().to_owned();
///         }
///     }
///     call.set_arguments(&arguments)?;
///     Ok(next.run(call).await)
/// }
///
/// /// Greet somebody.
/// #[tool(layer = trimmed)]
/// fn greet(name: String) -> String {
///     format!("Hello, {name}!")
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let client = TestClient::connect(Server::new("greeter", "1.0.0").tools(tools![greet])).await?;
/// assert_eq!(client.call("greet", json!({"name": " Ada "})).await?.text(), "Hello, Ada!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Call {
    pub(super) target: Arc<Target>,
    /// What the caller named, where that differs from the name of the handler.
    pub(super) requested: Option<Arc<str>>,
    /// Whether only some callers see the resource, so that its contents may not be shared.
    pub(super) restricted: bool,
    /// The arguments, as JSON.
    pub(super) arguments: Arc<str>,
    /// The other arguments of a completion.
    pub(super) others: CompletionContext,
    pub(super) context: Context,
    /// Where a blocking handler runs.
    pub(super) threads: Option<BlockingThreads>,
    /// Where a service of tower goes on.
    #[cfg(feature = "tower")]
    pub(crate) next: Option<super::next::Next>,
}

/// The kind of handler that a [`Call`] is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallKind {
    /// A tool, by `tools/call`.
    Tool,
    /// A prompt, by `prompts/get`.
    Prompt,
    /// A resource or a resource template, by `resources/read`.
    Resource,
    /// The completion of an argument of a prompt or a template.
    Completion,
    /// A method of [`Server::method`](crate::Server::method).
    Custom,
}

impl CallKind {
    /// The kind in lower case, like `tool`: for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            CallKind::Tool => "tool",
            CallKind::Prompt => "prompt",
            CallKind::Resource => "resource",
            CallKind::Completion => "completion",
            CallKind::Custom => "custom",
        }
    }
}

impl Call {
    /// The kind of the handler: a tool, a prompt, a resource, a completion or a custom method.
    pub fn kind(&self) -> CallKind {
        self.target.kind
    }

    /// What the caller names: the tool, the prompt, the URI, or the custom method. For a completion, the prompt or the
    /// template.
    pub fn name(&self) -> &str {
        self.requested.as_deref().unwrap_or(&self.target.name)
    }

    /// The handler that was found: the same as [`name`](Self::name), except that a URI that matches a template is the
    /// template. One of a bounded number, so that it can be a label of a metric.
    pub fn handler_name(&self) -> &str {
        &self.target.name
    }

    /// The arguments as a JSON object, not checked yet: those of a tool, a prompt or a custom method, the variables of a
    /// template as texts, or the `name` and the `value` of the argument that is completed.
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// The arguments as a type of your own, or as a `serde_json::Value`.
    pub fn arguments_as<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_str(&self.arguments)?)
    }

    /// Replaces the arguments. They are checked as the caller's are, when the handler is called. The URI of a resource
    /// stays as it is.
    pub fn set_arguments(&mut self, arguments: &impl Serialize) -> Result<()> {
        self.arguments = serde_json::to_string(arguments)?.into();
        Ok(())
    }

    /// The hints of the tool. Empty for everything else.
    pub fn annotations(&self) -> &ToolAnnotations {
        &self.target.annotations
    }

    /// Whether the call changes nothing: of a tool with the hint `read_only`, a prompt, a resource or a completion.
    pub fn is_read_only(&self) -> bool {
        match self.kind() {
            CallKind::Tool => self.annotations().read_only_hint == Some(true),
            CallKind::Prompt | CallKind::Resource | CallKind::Completion => true,
            CallKind::Custom => false,
        }
    }

    /// Whether a repeated call has no further effect: [read-only](Self::is_read_only), or of a tool with the hint
    /// `idempotent`.
    pub fn is_idempotent(&self) -> bool {
        self.is_read_only() || self.annotations().idempotent_hint == Some(true)
    }

    /// The context that the handler gets: the caller, and the way back to the client.
    pub fn ctx(&self) -> &Context {
        &self.context
    }

    /// The protocol revision of the call.
    pub fn revision(&self) -> Revision {
        self.context.revision()
    }

    /// The authenticated caller, if there is one. Requires the feature `auth`.
    #[cfg(feature = "auth")]
    pub fn user(&self) -> Option<&User> {
        self.context.user().ok()
    }

    /// Whether the client was asked in this call so far, or a `once` block has run: by the handler, or by any layer. A
    /// handler that has asked would do so again if its call were repeated.
    pub fn has_asked(&self) -> bool {
        self.asks() > 0
    }

    /// How many asks and `once` blocks there were in this call so far. More of them after
    /// [`next`](super::next::Next::run) are those of what it ran.
    pub(crate) fn asks(&self) -> usize {
        self.context.dialogue.asks()
    }

    /// Tells this handler from all others, also from one with the same name that replaces it.
    pub(crate) fn handler_id(&self) -> u64 {
        self.target.id
    }

    /// Who vouches for the caller, and the caller's name, as far as they are known.
    pub(crate) fn caller_name(&self) -> (Option<&str>, Option<&str>) {
        #[cfg(feature = "auth")]
        if let Some(user) = self.user() {
            return (Some(user.issuer()).filter(|issuer| !issuer.is_empty()), Some(user.subject()));
        }
        (None, self.context.principal())
    }

    /// Whom a result is for, if the caller is known: results of one must not be given to another, nor those for some
    /// scopes to the same user with others.
    pub(crate) fn caller(&self) -> Option<String> {
        #[cfg(feature = "auth")]
        if let Some(user) = self.user() {
            return Some(format!("user {}", user.with_all_granted()));
        }
        self.context.principal().map(|principal| format!("principal {principal}"))
    }
}

/// Without the arguments, which do not belong in a log.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("kind", &self.kind()).field("name", &self.name()).finish_non_exhaustive()
    }
}
