//! The builder behind `#[tool]`, `#[prompt]` and `#[resource]`.
//!
//! Called by generated code; not part of the public API. A [`HandlerKind`] defines what differs
//! between the three: how arguments are declared, and what a return value becomes.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::args::{Args, Argument, Key};
use super::completion::{Completers, Completes};
use crate::ask::ClientCapability;
use crate::call::context::Context;
use crate::call::invocation::Invocation;
use crate::outcome::{ArgumentError, Step};
use crate::protocol::{Icon, Meta};

type CallFn = Box<dyn for<'a> Fn(&Args<'a>, &Invocation<'a>) -> Result<Step, ArgumentError> + Send + Sync>;

/// A handler, ready to be called.
pub struct Handler {
    call: CallFn,
    pub(crate) timeout: Option<Duration>,
    pub(crate) completers: Completers,
    pub(crate) takes_context: bool,
    /// The capabilities the client must have.
    pub(crate) requires: Vec<ClientCapability>,
    /// Decides which callers see it; all of them if unset.
    pub(crate) visible: Option<Visibility>,
    takes_arguments: bool,
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

impl Handler {
    pub(crate) fn call<'a>(&self, args: &Args<'a>, invocation: &Invocation<'a>) -> Result<Step, ArgumentError> {
        if !self.takes_arguments {
            args.reject_any()?;
        }
        (self.call)(args, invocation)
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

/// A declared argument's type, as far as requests need it.
#[derive(Debug)]
pub struct ArgumentType {
    /// Its name in JSON Schema, for error messages.
    pub(crate) expected: Cow<'static, str>,
    /// All its values, if there are finitely many and clients can complete them.
    pub(crate) choices: Option<Vec<String>>,
}

/// The differences between tools, prompts and resources.
pub trait HandlerKind: Sized {
    /// The finished item: a `Tool`, `Prompt` or `Resource`.
    type Item;
    /// The request data that a reply depends on.
    type ReplyInfo: Send + 'static;

    /// Declares an argument.
    #[doc(hidden)]
    fn declare<T: Argument>(&mut self, of: &str, arg: ArgInfo, optional: bool, default: Option<Value>) -> ArgumentType;
    #[doc(hidden)]
    fn reply_info(&self) -> impl Fn(&Invocation<'_>) -> Self::ReplyInfo + Send + Sync + 'static;
    #[doc(hidden)]
    fn build(self, metadata: Metadata, handler: Handler) -> Self::Item;
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
    completers: Completers,
    takes_context: bool,
    requires: Vec<ClientCapability>,
    visible: Option<Visibility>,
    takes_arguments: bool,
}

impl<K: HandlerKind> HandlerBuilder<K> {
    pub(crate) fn of(kind: K, name: &str) -> Self {
        let metadata = Metadata { name: name.to_owned(), ..Metadata::default() };
        HandlerBuilder {
            kind,
            metadata,
            timeout: None,
            completers: Completers::default(),
            takes_context: false,
            requires: Vec::new(),
            visible: None,
            takes_arguments: false,
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

    /// Sets `_meta`, from an object.
    #[track_caller]
    pub fn meta(&mut self, meta: Value) {
        let Value::Object(meta) = meta else { panic!("`meta` of `{}` must be an object", self.metadata.name) };
        self.metadata.meta = meta;
    }

    /// Sets the timeout of a call.
    pub fn timeout_ms(&mut self, millis: u64) {
        self.timeout = Some(Duration::from_millis(millis));
    }

    /// Sets the completion function of an argument.
    pub fn complete<T, F, M>(&mut self, argument: &'static str, state: Arc<T>, function: F)
    where
        T: Send + Sync + 'static,
        F: for<'a> Completes<'a, T, M> + Clone + Send + Sync + 'static,
        M: 'static,
    {
        self.completers.function(argument, state, function);
    }

    /// Declares an argument.
    pub fn arg<T: Argument>(&mut self, arg: ArgInfo) -> Key<T> {
        self.declare(arg, None, None)
    }

    /// Declares an argument with a default, which becomes part of the schema.
    pub fn arg_or<T: Argument + DefaultValue>(&mut self, arg: ArgInfo, default: fn() -> T) -> Key<T> {
        let json = serde_json::to_value(default())
            .unwrap_or_else(|error| panic!("the default of `{}` cannot be serialized: {error}", arg.name));
        self.declare(arg, Some(default), Some(json))
    }

    fn declare<T: Argument>(&mut self, arg: ArgInfo, default: Option<fn() -> T>, json: Option<Value>) -> Key<T> {
        self.takes_arguments = true;
        let name = arg.name;
        let ArgumentType { expected, choices } =
            self.kind.declare::<T>(&self.metadata.name, arg, super::args::is_optional::<T>(), json);
        if let Some(choices) = choices {
            self.completers.choices(name, choices);
        }
        Key::new(name, expected, default)
    }

    /// Hides the handler from callers for whom `visible` is false.
    pub fn visible_if(&mut self, visible: impl Fn(&Context) -> bool + Send + Sync + 'static) {
        self.visible = Some(Visibility::new(visible));
    }

    /// Requires a client capability: calls from other clients are rejected.
    pub fn requires(&mut self, capability: ClientCapability) {
        self.requires.push(capability);
    }

    /// Records that the function takes a `&Context`.
    pub fn takes_context(&mut self) {
        self.takes_context = true;
    }

    /// Records that arguments were declared by other means.
    pub(crate) fn takes_arguments(&mut self) {
        self.takes_arguments = true;
    }

    pub(super) fn build<F>(self, call: F) -> K::Item
    where
        F: for<'a> Fn(&Args<'a>, &Invocation<'a>) -> Result<Step, ArgumentError> + Send + Sync + 'static,
    {
        let HandlerBuilder { kind, metadata, timeout, completers, takes_context, requires, visible, takes_arguments } =
            self;
        let call = Box::new(call);
        let handler = Handler { call, timeout, completers, takes_context, requires, visible, takes_arguments };
        kind.build(metadata, handler)
    }
}

/// A type whose default value can be part of a schema.
#[diagnostic::on_unimplemented(
    message = "the default of a `{Self}` argument cannot be shown in the schema",
    label = "has a default, but does not implement `Serialize`",
    note = "add `#[derive(serde::Serialize)]` to `{Self}`, or take an `Option<{Self}>` and decide in the function"
)]
pub trait DefaultValue: serde::Serialize {}

#[diagnostic::do_not_recommend]
impl<T: serde::Serialize> DefaultValue for T {}
