//! A handler while it is described: the one builder behind `#[tool]`, `#[prompt]` and `#[resource]`.
//!
//! The macros' output calls it; nothing here is part of the public interface. A *kind* says what
//! differs: where arguments are declared and what a return type becomes.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::args::{Args, Argument, Key};
use super::completion::{Completers, Completes};
use crate::ask::ClientCapability;
use crate::call::context::Context;
use crate::call::invocation::Invocation;
use crate::outcome::{ArgumentError, Outcome, Step};
use crate::protocol::{Icon, Meta};

type CallFn = Box<dyn for<'a> Fn(&Args<'a>, &Invocation<'a>) -> Result<Step, ArgumentError> + Send + Sync>;

/// A described handler, ready to be called.
pub struct Handler {
    call: CallFn,
    pub(crate) timeout: Option<Duration>,
    pub(crate) completers: Completers,
    pub(crate) takes_context: bool,
    /// What its client has to be able to do.
    pub(crate) requires: Vec<ClientCapability>,
    /// Who may know of it; everybody, without.
    pub(crate) visible: Option<Visible>,
    takes_arguments: bool,
}

/// Decides whether a caller may know of a handler.
pub(crate) struct Visible(Box<dyn Fn(&Context) -> bool + Send + Sync>);

impl Visible {
    pub(crate) fn new(visible: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        Visible(Box::new(visible))
    }

    pub(crate) fn to(&self, invocation: &Context) -> bool {
        (self.0)(invocation)
    }
}

impl fmt::Debug for Visible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Visible")
    }
}

impl Handler {
    pub(crate) fn call<'a>(&self, args: &Args<'a>, invocation: &Invocation<'a>) -> Result<Step, ArgumentError> {
        if !self.takes_arguments {
            args.refuse_any()?;
        }
        (self.call)(args, invocation)
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// What a `#[arg]` attribute and a doc comment say of an argument.
#[derive(Debug)]
pub struct ArgInfo {
    pub(crate) name: &'static str,
    pub(crate) description: Option<Cow<'static, str>>,
    pub(crate) header: Option<&'static str>,
}

impl ArgInfo {
    /// The argument `name`.
    pub fn new(name: &'static str) -> Self {
        ArgInfo { name, description: None, header: None }
    }

    /// What it is for.
    pub fn description(mut self, text: &'static str) -> Self {
        self.description = Some(Cow::Borrowed(text));
        self
    }

    /// The HTTP header that carries it, too.
    pub fn header(mut self, name: &'static str) -> Self {
        self.header = Some(name);
        self
    }
}

/// What a kind knows of an argument's type.
#[derive(Debug)]
pub struct Declared {
    /// Its name, for error texts.
    pub(crate) expected: Cow<'static, str>,
    /// Its values, if it has only so many and a client can ask for them.
    pub(crate) choices: Option<Vec<String>>,
}

/// What sets tools, prompts and resources apart.
pub trait HandlerKind: Sized {
    /// What the description is turned into.
    type Item;
    /// What a reply needs to know of its request.
    type Site: Send + 'static;

    /// Declares an argument.
    #[doc(hidden)]
    fn declare<T: Argument>(&mut self, of: &str, arg: ArgInfo, optional: bool, default: Option<Value>) -> Declared;
    #[doc(hidden)]
    fn site(&self) -> impl Fn(&Invocation<'_>) -> Self::Site + Send + Sync + 'static;
    #[doc(hidden)]
    fn build(self, about: Metadata, handler: Handler) -> Self::Item;
}

/// What every kind of handler says of itself.
#[derive(Debug, Default)]
pub struct Metadata {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Meta,
}

/// A declared return type `R`: how it becomes a reply of kind `K`.
///
/// Like a [`Key`], it is made where the type is written, so that one which cannot be returned is
/// reported there, once; what takes it needs no bound.
pub struct ReturnType<K: HandlerKind, R> {
    pub(crate) reply: fn(R, &K::Site) -> Outcome,
}

impl<K: HandlerKind, R> fmt::Debug for ReturnType<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<R>())
    }
}

/// A handler under description.
#[derive(Debug)]
pub struct HandlerBuilder<K> {
    pub(crate) kind: K,
    about: Metadata,
    timeout: Option<Duration>,
    completers: Completers,
    takes_context: bool,
    requires: Vec<ClientCapability>,
    visible: Option<Visible>,
    takes_arguments: bool,
}

impl<K: HandlerKind> HandlerBuilder<K> {
    pub(crate) fn of(kind: K, name: &str) -> Self {
        let about = Metadata { name: name.to_owned(), ..Metadata::default() };
        HandlerBuilder {
            kind,
            about,
            timeout: None,
            completers: Completers::default(),
            takes_context: false,
            requires: Vec::new(),
            visible: None,
            takes_arguments: false,
        }
    }

    /// Sets the name people see.
    pub fn title(&mut self, title: &str) {
        self.about.title = Some(title.to_owned());
    }

    /// Sets the description.
    pub fn description(&mut self, text: &str) {
        self.about.description = Some(text.to_owned());
    }

    /// Adds an icon.
    pub fn icon(&mut self, src: &str) {
        self.about.icons.push(Icon::new(src));
    }

    /// Sets `_meta`, from an object.
    #[track_caller]
    pub fn meta(&mut self, meta: Value) {
        let Value::Object(meta) = meta else { panic!("`meta` of `{}` must be an object", self.about.name) };
        self.about.meta = meta;
    }

    /// Limits how long a call may take.
    pub fn timeout_ms(&mut self, millis: u64) {
        self.timeout = Some(Duration::from_millis(millis));
    }

    /// Sets the function that completes an argument.
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

    /// Declares an argument with a default, which the schema shows.
    pub fn arg_or<T: Argument + DefaultValue>(&mut self, arg: ArgInfo, default: fn() -> T) -> Key<T> {
        let shown = serde_json::to_value(default());
        let shown =
            shown.unwrap_or_else(|error| panic!("the default of `{}` cannot be shown as JSON: {error}", arg.name));
        self.declare(arg, Some(default), Some(shown))
    }

    fn declare<T: Argument>(&mut self, arg: ArgInfo, default: Option<fn() -> T>, shown: Option<Value>) -> Key<T> {
        self.takes_arguments = true;
        let name = arg.name;
        let Declared { expected, choices } =
            self.kind.declare::<T>(&self.about.name, arg, super::args::is_optional::<T>(), shown);
        if let Some(choices) = choices {
            self.completers.choices(name, choices);
        }
        Key::new(name, expected, default)
    }

    /// Shows the handler only to some callers.
    pub fn visible_if(&mut self, visible: impl Fn(&Context) -> bool + Send + Sync + 'static) {
        self.visible = Some(Visible::new(visible));
    }

    /// Says what a client has to be able to do before the handler is called.
    pub fn requires(&mut self, capability: ClientCapability) {
        self.requires.push(capability);
    }

    /// Marks that the function takes a `&Context`.
    pub fn takes_context(&mut self) {
        self.takes_context = true;
    }

    /// Marks that arguments were declared by other means.
    pub(crate) fn takes_arguments(&mut self) {
        self.takes_arguments = true;
    }

    /// A sync function, run where the message was read.
    pub fn sync<R, F>(self, ReturnType { reply }: ReturnType<K, R>, function: F) -> K::Item
    where
        R: 'static,
        F: Fn(&Args<'_>, &Invocation<'_>) -> Result<R, ArgumentError> + Send + Sync + 'static,
    {
        let site = self.kind.site();
        self.build(move |args, invocation| Ok(Step::Ready(reply(function(args, invocation)?, &site(invocation)))))
    }

    /// An async function.
    pub fn future<R, Fut, F>(self, ReturnType { reply }: ReturnType<K, R>, function: F) -> K::Item
    where
        R: 'static,
        Fut: Future<Output = R> + Send + 'static,
        F: Fn(&Args<'_>, &Invocation<'_>) -> Result<Fut, ArgumentError> + Send + Sync + 'static,
    {
        let site = self.kind.site();
        self.build(move |args, invocation| {
            let (future, site) = (function(args, invocation)?, site(invocation));
            Ok(Step::Future(Box::pin(async move { reply(future.await, &site) })))
        })
    }

    /// A sync function that takes its time, run on a thread of its own.
    pub fn blocking<R, Work, F>(self, ReturnType { reply }: ReturnType<K, R>, function: F) -> K::Item
    where
        R: 'static,
        Work: FnOnce() -> R + Send + 'static,
        F: Fn(&Args<'_>, &Invocation<'_>) -> Result<Work, ArgumentError> + Send + Sync + 'static,
    {
        let site = self.kind.site();
        self.build(move |args, invocation| {
            let (work, site) = (function(args, invocation)?, site(invocation));
            Ok(Step::Blocking(Box::new(move || reply(work(), &site))))
        })
    }

    fn build<F>(self, call: F) -> K::Item
    where
        F: for<'a> Fn(&Args<'a>, &Invocation<'a>) -> Result<Step, ArgumentError> + Send + Sync + 'static,
    {
        let HandlerBuilder { kind, about, timeout, completers, takes_context, requires, visible, takes_arguments } =
            self;
        let call = Box::new(call);
        let handler = Handler { call, timeout, completers, takes_context, requires, visible, takes_arguments };
        kind.build(about, handler)
    }
}

/// A type whose default value can be shown in a schema.
#[diagnostic::on_unimplemented(
    message = "the default of a `{Self}` argument cannot be shown in the schema",
    label = "has a default, but does not implement `Serialize`",
    note = "add `#[derive(serde::Serialize)]` to `{Self}`, or take an `Option<{Self}>` and decide in the function"
)]
pub trait DefaultValue: serde::Serialize {}

#[diagnostic::do_not_recommend]
impl<T: serde::Serialize> DefaultValue for T {}
