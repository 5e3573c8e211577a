//! Prompts: a descriptor and the function behind it.

use std::borrow::Cow;

use serde_json::Value;

use super::args::Argument;
use super::builder::{ArgInfo, Declared, Handler, HandlerBuilder, HandlerKind, Metadata, ReturnType, Visible};
use super::output::IntoPromptResult;
use crate::call::context::Context;
use crate::call::invocation::Invocation;
use crate::outcome::{Failure, Reply};
use crate::protocol::{PromptArgument, PromptDescriptor};

/// A prompt, made by `#[prompt]` and listed by [`prompts!`](crate::prompts!).
#[derive(Debug)]
pub struct Prompt {
    pub(crate) descriptor: PromptDescriptor,
    pub(crate) handler: Handler,
}

impl Prompt {
    /// The name requests use.
    pub fn name(&self) -> &str {
        &self.descriptor.name
    }

    /// Shows it only to callers for whom `visible` is true; for others it does not exist. In an
    /// attribute: `#[prompt(visible_if = path)]`.
    pub fn visible_if(mut self, visible: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        self.handler.visible = Some(Visible::new(visible));
        self
    }

    /// What `prompts/list` tells of it in the newest revision.
    pub fn descriptor(&self) -> &PromptDescriptor {
        &self.descriptor
    }
}

/// The kind of handler `#[prompt]` makes.
#[derive(Debug)]
pub struct PromptKind {
    arguments: Vec<PromptArgument>,
}

/// Starts the description of a prompt.
pub fn describe(name: &str) -> HandlerBuilder<PromptKind> {
    HandlerBuilder::of(PromptKind { arguments: Vec::new() }, name)
}

impl HandlerKind for PromptKind {
    type Item = Prompt;
    type Site = ();

    fn declare<T: Argument>(&mut self, of: &str, arg: ArgInfo, optional: bool, default: Option<Value>) -> Declared {
        self.arguments.push(PromptArgument {
            name: arg.name.to_owned(),
            description: arg.description.map(Cow::into_owned),
            required: !optional && default.is_none(),
        });
        super::args::declare_text::<T>(of, arg.name, optional)
    }

    fn site(&self) -> impl Fn(&Invocation<'_>) + Send + Sync + 'static {
        |_| ()
    }

    fn build(self, about: Metadata, handler: Handler) -> Prompt {
        let descriptor = PromptDescriptor {
            name: about.name,
            title: about.title,
            description: about.description,
            icons: about.icons,
            arguments: self.arguments,
            meta: about.meta,
        };
        Prompt { descriptor, handler }
    }
}

/// Declares the return type. A function rather than a method: the compiler's errors are shorter.
pub fn returns<R: IntoPromptResult>(_: &mut HandlerBuilder<PromptKind>) -> ReturnType<PromptKind, R> {
    ReturnType { reply: |value, ()| value.into_prompt_result().map(Reply::Prompt).map_err(Failure::from) }
}

/// What `#[prompt]` leaves beside a function, so that `prompts![name]` finds it.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a prompt", label = "put `#[prompt]` on this function")]
pub trait PromptFn {
    /// Describes the prompt.
    fn prompt() -> Prompt;
}
