//! The builder behind `#[tool]`, `#[prompt]` and `#[resource]`.
//!
//! Called by generated code; not part of the public API. A [`HandlerKind`] defines what differs
//! between the three: how arguments are declared, and what a return value becomes.

pub(crate) mod limits;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use self::limits::HandlerLimits;
use super::args::checked::{CallFn, CheckedFn};
use super::args::default::DefaultValue;
use super::args::rules::{ArgumentRules, DeclaredType};
use super::args::{Args, Argument, Key};
use super::completion::{Completers, Completes, CompletionFn};
use super::layer::{self, Layer, Wrap};
use crate::ask::ClientCapability;
use crate::call::blocking::BlockingProfile;
use crate::call::context::Context;
use crate::call::invocation::Origin;
use crate::call::progress::heartbeat;
use crate::outcome::{ArgumentErrors, Step};
use crate::protocol::{Icon, Meta};
use crate::schema::input::{self, Extras, InputSchema};
use crate::schema::validator::Validator;

/// A handler, ready to be called.
pub struct Handler {
    /// The function, with the rules of its arguments.
    pub(crate) function: CheckedFn,
    pub(crate) timeout: Option<Duration>,
    pub(crate) limits: HandlerLimits,
    /// Whether it blocks its thread.
    pub(crate) blocking: Arc<BlockingProfile>,
    pub(crate) completers: Arc<Completers>,
    /// Completes arguments inside of layers, once there are some.
    pub(crate) layered_completion: Option<CompletionFn>,
    /// The layers that are to be put around it.
    pub(crate) layers: Option<Arc<dyn Wrap>>,
    /// Whether layers are around it, its own or the server's.
    pub(crate) layered: bool,
    pub(crate) takes_context: bool,
    /// The capabilities the client must have.
    pub(crate) requires: Vec<ClientCapability>,
    /// Decides which callers see it; all of them if unset.
    pub(crate) visible: Option<Visibility>,
    /// The scopes the caller must have.
    #[cfg(feature = "auth")]
    pub(crate) scopes: Option<Arc<[Box<str>]>>,
    /// The schema of its structured result.
    pub(crate) output: Option<Arc<Validator>>,
    /// What is wrong with its declaration. It cannot be registered then.
    pub(crate) problems: Vec<String>,
}

/// A predicate that decides whether a caller sees a handler.
pub(crate) struct Visibility(Box<dyn Fn(&Context) -> bool + Send + Sync>);

impl Visibility {
    pub(crate) fn new(visible: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        Visibility(Box::new(visible))
    }

    pub(crate) fn allows(&self, caller: &Context) -> bool {
        (self.0)(caller)
    }
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Visibility")
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// An argument's `#[arg]` attribute and doc comment.
#[derive(Debug)]
pub struct ArgInfo {
    pub(crate) name: &'static str,
    pub(crate) description: Option<Cow<'static, str>>,
    pub(crate) header: Option<&'static str>,
    /// The JSON Schema keywords that narrow its type.
    pub(crate) keywords: Vec<(&'static str, Value)>,
}

impl ArgInfo {
    /// An argument called `name`.
    pub fn new(name: &'static str) -> Self {
        ArgInfo { name, description: None, header: None, keywords: Vec::new() }
    }

    /// Sets the description.
    pub fn description(mut self, text: &'static str) -> Self {
        self.description = Some(Cow::Borrowed(text));
        self
    }

    /// Adds a JSON Schema keyword, such as `minimum`.
    pub fn keyword(mut self, keyword: &'static str, value: impl Into<Value>) -> Self {
        self.keywords.push((keyword, value.into()));
        self
    }

    /// Sets the HTTP header that mirrors the argument.
    pub fn header(mut self, name: &'static str) -> Self {
        self.header = Some(name);
        self
    }
}

/// The differences between tools, prompts and resources.
pub trait HandlerKind: Sized {
    /// The finished item: a `Tool`, `Prompt` or `Resource`.
    type Item;
    /// The request data that a reply depends on.
    type ReplyInfo: Send + 'static;

    /// Whether arguments arrive as text, like those of prompts and the variables of URIs.
    #[doc(hidden)]
    const IS_TEXT: bool;

    /// Notes an argument for the descriptor.
    #[doc(hidden)]
    fn describe(&mut self, _argument: &ArgInfo, _is_required: bool) {}
    #[doc(hidden)]
    fn reply_info(&self) -> impl Fn(Origin<'_>) -> Self::ReplyInfo + Send + Sync + 'static;
    #[doc(hidden)]
    fn build(self, metadata: Metadata, input_schema: Value, handler: Handler) -> Self::Item;
}

/// The descriptor fields all kinds of handlers have.
#[derive(Debug, Default)]
pub struct Metadata {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Meta,
}

/// Builds a handler of kind `K`.
#[derive(Debug)]
pub struct HandlerBuilder<K> {
    pub(crate) kind: K,
    metadata: Metadata,
    timeout: Option<Duration>,
    pub(super) limits: HandlerLimits,
    completers: Completers,
    takes_context: bool,
    requires: Vec<ClientCapability>,
    visible: Option<Visibility>,
    layers: Option<Arc<dyn Wrap>>,
    #[cfg(feature = "auth")]
    pub(super) scopes: Vec<Box<str>>,
    pub(super) input: InputSchema,
    types: Vec<DeclaredType>,
    /// A schema known only at run time, instead of that of the declared arguments.
    schema: Option<Value>,
}

impl<K: HandlerKind> HandlerBuilder<K> {
    pub(crate) fn of(kind: K, name: &str) -> Self {
        let metadata = Metadata { name: name.to_owned(), ..Metadata::default() };
        HandlerBuilder {
            kind,
            metadata,
            timeout: None,
            limits: HandlerLimits::default(),
            completers: Completers::default(),
            takes_context: false,
            requires: Vec::new(),
            visible: None,
            layers: None,
            #[cfg(feature = "auth")]
            scopes: Vec::new(),
            input: InputSchema::new(),
            types: Vec::new(),
            schema: None,
        }
    }

    /// Sets the display name.
    pub fn title(&mut self, title: &str) {
        self.metadata.title = Some(title.to_owned());
    }

    /// Sets the description.
    pub fn description(&mut self, text: &str) {
        self.metadata.description = Some(text.to_owned());
    }

    /// Adds an icon.
    pub fn icon(&mut self, src: &str) {
        self.metadata.icons.push(Icon::new(src));
    }

    /// Sets `_meta`, from an object; the macro accepts nothing else.
    pub fn meta(&mut self, meta: Value) {
        if let Value::Object(meta) = meta {
            self.metadata.meta = meta;
        }
    }

    /// Sets the timeout of a call.
    pub fn timeout_ms(&mut self, millis: u64) {
        self.timeout(Duration::from_millis(millis));
    }

    /// Sets the timeout of a call.
    pub(super) fn timeout(&mut self, limit: Duration) {
        self.timeout = Some(limit);
    }

    /// Sets the schema of arguments that have no declared types.
    pub(super) fn set_schema(&mut self, schema: Value) {
        self.schema = Some(schema);
    }

    /// Sets the completion function of an argument.
    pub fn complete<T, F, M>(&mut self, argument: &'static str, state: Arc<T>, function: F)
    where
        T: Send + Sync + 'static,
        F: for<'a> Completes<'a, T, M> + Clone + Send + Sync + 'static,
        M: 'static,
    {
        self.completers.function(argument, state, function);
        self.limits.accompany = Some(heartbeat::accompany);
    }

    /// Declares an argument.
    pub fn arg<T: Argument>(&mut self, arg: ArgInfo) -> Key<T> {
        self.declare(arg, None, None)
    }

    /// Declares an argument with a default, which becomes part of the schema.
    pub fn arg_or<T: Argument + DefaultValue>(&mut self, arg: ArgInfo, default: fn() -> T) -> Key<T> {
        let json = serde_json::to_value(default()).unwrap_or_else(|error| {
            self.input.problem(format!("the default of `{}` cannot be serialized: {error}", arg.name));
            Value::Null
        });
        self.declare(arg, Some(default), Some(json))
    }

    fn declare<T: Argument>(&mut self, arg: ArgInfo, default: Option<fn() -> T>, json: Option<Value>) -> Key<T> {
        let (name, is_narrowed, optional) = (arg.name, !arg.keywords.is_empty(), super::args::is_optional::<T>());
        self.kind.describe(&arg, !optional && json.is_none());
        let ArgInfo { description, header, keywords, .. } = arg;
        let extras = Extras { description, default: json, header, optional, keywords };
        let expected = self.input.property::<T>(name, extras);
        // Clients complete arguments of prompts and resource templates, not of tools.
        if let (true, Some(choices)) = (K::IS_TEXT, self.input.choices(name)) {
            self.completers.choices(name, choices);
        }
        let accepts = if K::IS_TEXT { Key::<T>::accepts_text } else { Key::<T>::accepts_json };
        self.types.push(DeclaredType { names: vec![name.to_owned()], is_narrowed, is_flattened: false, accepts });
        Key::new(name, expected, default)
    }

    pub(super) fn declare_flattened<T: Argument>(&mut self) -> Key<T> {
        let names = self.input.flatten::<T>();
        self.types.push(DeclaredType {
            names,
            is_narrowed: false,
            is_flattened: true,
            accepts: Key::<T>::accepts_json,
        });
        Key::whole()
    }

    /// Hides the handler from callers for whom `visible` is false.
    pub fn visible_if(&mut self, visible: impl Fn(&Context) -> bool + Send + Sync + 'static) {
        self.visible = Some(Visibility::new(visible));
    }

    /// Adds a layer, inside of those before it.
    pub fn layer(&mut self, layer: impl Layer) {
        layer::add(&mut self.layers, layer);
    }

    /// Requires a client capability: calls from other clients are rejected.
    pub fn requires(&mut self, capability: ClientCapability) {
        self.requires.push(capability);
    }

    /// Notes what is wrong with a form that the function asks for.
    pub fn form(&mut self, problem: Option<String>) {
        if let Some(problem) = problem {
            self.input.problem(problem);
        }
    }

    /// Records that the function takes a `&Context`.
    pub fn takes_context(&mut self) {
        self.takes_context = true;
    }

    pub(super) fn build<F>(self, call: F) -> K::Item
    where
        F: for<'a> Fn(&Args<'a>, Origin<'a>) -> Result<Step, ArgumentErrors> + Send + Sync + 'static,
    {
        self.build_boxed(Box::new(call))
    }

    /// Not generic over the function, so that it is compiled once, not for every handler.
    fn build_boxed(self, call: CallFn) -> K::Item {
        let HandlerBuilder { kind, metadata, timeout, completers, takes_context, requires, visible, .. } = self;
        let is_declared = self.schema.is_none();
        let (declared, mut problems) = self.input.finish();
        let schema = self.schema.unwrap_or(declared);
        if schema.get("type").is_none_or(|kind| kind != "object") {
            problems.push("the schema of its arguments must be that of an object: `\"type\": \"object\"`".to_owned());
        }
        if K::IS_TEXT {
            problems.extend(input::not_text(&schema));
        }
        let rules = if is_declared {
            ArgumentRules::of_types(&schema, &self.types, K::IS_TEXT)
        } else {
            ArgumentRules::of_schema(&schema, K::IS_TEXT)
        };
        let rules = rules.map_err(|more| problems.extend(more)).ok().map(Box::new);
        let handler = Handler {
            function: CheckedFn::new(call, rules),
            timeout,
            limits: self.limits,
            blocking: Arc::new(BlockingProfile::new(&metadata.name)),
            completers: Arc::new(completers),
            layered_completion: None,
            layers: self.layers,
            layered: false,
            takes_context,
            requires,
            visible,
            #[cfg(feature = "auth")]
            scopes: (!self.scopes.is_empty()).then(|| self.scopes.into()),
            output: None,
            problems,
        };
        kind.build(metadata, schema, handler)
    }
}
