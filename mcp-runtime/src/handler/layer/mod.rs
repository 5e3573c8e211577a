//! [`Layer`]: middleware around calls, and how it is put around handlers.
//!
//! A handler is wrapped once, when the server begins to serve or when it is added to a running one: its function is
//! replaced by one that enters the layers. So a handler without layers is called as if there were none, without a check.
//! The code that wraps is reached only through a [`Wrap`], which only the methods that add a layer make: servers without
//! layers do not have it.

pub(crate) mod call;
mod chain;
mod json_texts;
pub(crate) mod next;
pub(crate) mod outcome;
mod size;
mod texts;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use self::call::Call;
use self::chain::{Chain, Endpoint, Target};
use self::next::Next;
use self::outcome::{IntoOutcome, Outcome};
use super::args::rules::ArgumentPolicy;
use super::builder::Handler;
use super::custom::CustomMethod;
use crate::call::progress::heartbeat;
use crate::outcome as internal;
use crate::protocol::ToolAnnotations;

/// Middleware around calls of handlers: an `async fn(Call, Next) -> Outcome`, or a type of your own.
///
/// A layer sees a call before its handler and its outcome after it. It may change both, answer without calling
/// [`next`](Next::run), or call it more than once. Add it with [`Server::layer`](crate::Server::layer),
/// [`Tool::layer`](crate::Tool::layer) and the like, [`Handlers::layer`](crate::Handlers::layer), or `layer = path` in an
/// attribute.
///
/// ```
/// use mcp_runtime::layers::{Call, Next, Outcome};
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
/// use mcp_runtime::ToolResult;
///
/// /// Answers calls at night itself.
/// async fn closed_at_night(call: Call, next: Next) -> Outcome {
///     if call.ctx().meta("example.com/hour") == Some("3") {
///         return ToolResult::error("closed until 8:00").into();
///     }
///     next.run(call).await
/// }
///
/// /// Order a coffee.
/// #[tool(layer = closed_at_night)]
/// fn order() -> &'static str {
///     "coming"
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let client = TestClient::connect(Server::new("café", "1.0.0").tools(tools![order])).await?;
/// assert_eq!(client.call("order", json!({})).await?.text(), "coming");
/// # Ok(())
/// # }
/// ```
///
/// A function may also return a [`Result<Outcome>`](crate::Result), so that it can use `?`. A type with a state of its
/// own implements the trait:
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use mcp_runtime::layers::{Call, Layer, Next, Outcome};
/// use mcp_runtime::prelude::*;
///
/// #[derive(Default)]
/// struct Count(AtomicU64);
///
/// impl Layer for Count {
///     async fn call(&self, call: Call, next: Next) -> Outcome {
///         self.0.fetch_add(1, Ordering::Relaxed);
///         next.run(call).await
///     }
/// }
///
/// let server = Server::new("counted", "1.0.0").layer(Count::default());
/// ```
///
/// A layer is dropped at its next `.await` when its call is cancelled or times out, as a handler is. A panic in it ends
/// the call, as one in a handler does; to the layers around it, it is an outcome with an error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer",
    label = "expected `async fn(Call, Next) -> Outcome`, or a type that implements `Layer`",
    note = "a layer may also return `mcp_runtime::Result<Outcome>`",
    note = "the parameters of a closure need their types: `|call: Call, next: Next| async move {{ next.run(call).await }}`",
    note = "what it holds across `.await` must be `Send`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#layers"
)]
pub trait Layer: Send + Sync + 'static {
    /// Answers a call, usually with the outcome of [`next`](Next::run).
    fn call(&self, call: Call, next: Next) -> impl Future<Output = Outcome> + Send;

    /// Why this layer never does anything for a tool with these annotations, for [`Server::lint`](crate::Server::lint).
    #[doc(hidden)]
    fn idle(&self, _: &ToolAnnotations) -> Option<Idle> {
        None
    }
}

/// Why a layer never does anything for a tool, and what to do about it.
#[derive(Debug, Clone, Copy)]
pub struct Idle {
    pub(crate) text: &'static str,
    pub(crate) remedy: &'static str,
}

#[diagnostic::do_not_recommend]
impl<F, Fut> Layer for F
where
    F: Fn(Call, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoOutcome> + Send,
{
    async fn call(&self, call: Call, next: Next) -> Outcome {
        self(call, next).await.into_outcome()
    }
}

/// The run of a layer or of a handler.
type Run = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A [`Layer`] as an object.
pub(crate) trait DynLayer: Send + Sync {
    fn run(self: Arc<Self>, call: Call, next: Next) -> Run;
    fn idle(&self, annotations: &ToolAnnotations) -> Option<Idle>;
}

impl<L: Layer> DynLayer for L {
    fn run(self: Arc<Self>, call: Call, next: Next) -> Run {
        Box::pin(async move { Layer::call(&*self, call, next).await })
    }

    fn idle(&self, annotations: &ToolAnnotations) -> Option<Idle> {
        Layer::idle(self, annotations)
    }
}

/// Layers, the outermost first, that are still to be put around something.
pub(crate) trait Wrap: fmt::Debug + Send + Sync {
    /// These layers, with one more inside of them.
    fn and(&self, layer: Arc<dyn DynLayer>) -> Arc<dyn Wrap>;
    /// These layers, with others outside of them.
    fn within(&self, outer: &dyn Wrap) -> Arc<dyn Wrap>;
    /// These layers, as those of a block around a handler that has none of its own.
    fn around(&self) -> Arc<dyn Wrap>;
    fn layers(&self) -> &[Arc<dyn DynLayer>];
    /// Why some of the handler's own layers never do anything, if it is such a tool.
    fn idle(&self, annotations: &ToolAnnotations) -> Vec<Idle>;
    fn handler(&self, handler: &mut Handler, wrapped: Wrapped<'_>);
    fn method(&self, method: &mut CustomMethod<internal::Outcome>);
}

/// What is to be wrapped, besides its handler.
pub(crate) struct Wrapped<'a> {
    pub(crate) kind: call::CallKind,
    /// The name, the URI or the template.
    pub(crate) name: &'a str,
    pub(crate) is_template: bool,
    pub(crate) annotations: Option<&'a ToolAnnotations>,
    pub(crate) policy: ArgumentPolicy,
}

/// Layers that are still to be put around something.
struct Stack {
    layers: Vec<Arc<dyn DynLayer>>,
    /// How many of them are around others, too: those of a block.
    shared: usize,
}

/// Adds a layer inside of others.
pub(crate) fn add(to: &mut Option<Arc<dyn Wrap>>, layer: impl Layer) {
    let layer: Arc<dyn DynLayer> = Arc::new(layer);
    *to = Some(match to {
        Some(others) => others.and(layer),
        None => Arc::new(Stack { layers: vec![layer], shared: 0 }),
    });
}

/// Adds layers outside of others.
pub(crate) fn surround(inner: &mut Option<Arc<dyn Wrap>>, outer: &Arc<dyn Wrap>) {
    *inner = Some(match inner {
        Some(inner) => inner.within(&**outer),
        None => outer.around(),
    });
}

/// Puts the layers of the server and its own around a handler that is added.
pub(crate) fn wrap(server: Option<&Arc<dyn Wrap>>, handler: &mut Handler, wrapped: Wrapped<'_>) {
    match (server, handler.layers.take()) {
        (None, None) => {}
        (Some(server), None) => server.handler(handler, wrapped),
        (None, Some(own)) => own.handler(handler, wrapped),
        (Some(server), Some(own)) => own.within(&**server).handler(handler, wrapped),
    }
}

impl Wrap for Stack {
    fn and(&self, layer: Arc<dyn DynLayer>) -> Arc<dyn Wrap> {
        Arc::new(Stack { layers: self.layers.iter().cloned().chain([layer]).collect(), shared: self.shared })
    }

    fn within(&self, outer: &dyn Wrap) -> Arc<dyn Wrap> {
        let layers = outer.layers().iter().chain(&self.layers).cloned().collect();
        Arc::new(Stack { layers, shared: outer.layers().len() + self.shared })
    }

    fn around(&self) -> Arc<dyn Wrap> {
        Arc::new(Stack { layers: self.layers.clone(), shared: self.layers.len() })
    }

    fn layers(&self) -> &[Arc<dyn DynLayer>] {
        &self.layers
    }

    fn idle(&self, annotations: &ToolAnnotations) -> Vec<Idle> {
        self.layers.iter().skip(self.shared).filter_map(|layer| layer.idle(annotations)).collect()
    }

    fn handler(&self, handler: &mut Handler, wrapped: Wrapped<'_>) {
        let Wrapped { kind, name, is_template, annotations, policy } = wrapped;
        let target = Arc::new(Target::new(kind, name, annotations));
        if !handler.completers.is_empty() {
            let completed = Arc::new(target.completed());
            let endpoint = Endpoint::Completion(Arc::clone(&handler.completers));
            handler.layered_completion = Some(Chain::new(self.layers.clone(), endpoint).completion(completed));
        }
        // A layer gets a context, and may wait, whatever the function inside of it does.
        handler.takes_context = true;
        handler.layered = true;
        handler.limits.accompany = Some(heartbeat::accompany);
        chain::wrap(handler, &self.layers, target, is_template, policy);
    }

    fn method(&self, method: &mut CustomMethod<internal::Outcome>) {
        let target = Arc::new(Target::new(call::CallKind::Custom, &method.name, None));
        chain::wrap_method(method, &self.layers, target);
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} layers", self.layers.len())
    }
}
