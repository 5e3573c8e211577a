//! [`Prompt`]: a descriptor and its handler.

use std::borrow::Cow;

use serde_json::Value;

use super::builder::{ArgInfo, Handler, HandlerBuilder, HandlerKind, Metadata, Visibility};
use super::finish::ReturnType;
use super::layer::{self, Layer};
use super::output::IntoPromptResult;
use crate::call::context::Context;
use crate::call::invocation::Origin;
use crate::outcome::{Failure, Reply};
use crate::protocol::{PromptArgument, PromptDescriptor};

/// A prompt. Annotate a function with [`#[prompt]`](macro@crate::prompt), and list it with
/// [`prompts!`](crate::prompts!).
#[derive(Debug)]
pub struct Prompt {
    pub(crate) descriptor: PromptDescriptor,
    pub(crate) handler: Handler,
}

impl Prompt {
    /// The name clients request it by.
    pub fn name(&self) -> &str {
        &self.descriptor.name
    }

    /// Hides the prompt from callers for whom `visible` is false: to them it does not exist. The same
    /// as `#[prompt(visible_if = path)]`.
    pub fn visible_if(mut self, visible: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        self.handler.visible = Some(Visibility::new(visible));
        self
    }

    /// Adds a [layer](crate::layers) around the prompt, inside of those it has. The same as
    /// `#[prompt(layer = path)]`.
    pub fn layer(mut self, layer: impl Layer) -> Self {
        layer::add(&mut self.handler.layers, layer);
        self
    }

    /// The entry in `prompts/list`, as in the newest revision.
    pub fn descriptor(&self) -> &PromptDescriptor {
        &self.descriptor
    }
}

/// The [`HandlerKind`] of `#[prompt]`.
#[derive(Debug)]
pub struct PromptKind {
    pub(super) arguments: Vec<PromptArgument>,
}

/// Starts building a prompt.
pub fn describe(name: &str) -> HandlerBuilder<PromptKind> {
    HandlerBuilder::of(PromptKind { arguments: Vec::new() }, name)
}

impl HandlerKind for PromptKind {
    type Item = Prompt;
    type ReplyInfo = ();

    const IS_TEXT: bool = true;

    fn describe(&mut self, argument: &ArgInfo, is_required: bool) {
        self.arguments.push(PromptArgument {
            name: argument.name.to_owned(),
            description: argument.description.clone().map(Cow::into_owned),
            required: is_required,
        });
    }

    fn reply_info(&self) -> impl Fn(Origin<'_>) + Send + Sync + 'static {
        |_| ()
    }

    fn build(self, metadata: Metadata, _: Value, handler: Handler) -> Prompt {
        let Metadata { name, title, description, icons, meta } = metadata;
        let arguments = self.arguments;
        Prompt { descriptor: PromptDescriptor { name, title, description, icons, arguments, meta }, handler }
    }
}

/// Declares the return type. A function rather than a method, because its compile errors are shorter.
pub fn returns<R: IntoPromptResult>(_: &mut HandlerBuilder<PromptKind>) -> ReturnType<PromptKind, R> {
    return_type()
}

/// The conversion of a return value, without declaring its type again.
pub fn return_type<R: IntoPromptResult>() -> ReturnType<PromptKind, R> {
    ReturnType { reply: |value, ()| value.into_prompt_result().map(Reply::Prompt).map_err(Failure::from) }
}

/// Implemented by `#[prompt]` for a type with the function's name, which `prompts![name]` finds.
pub trait PromptFn {
    /// Builds the prompt.
    fn prompt() -> Prompt;
}
