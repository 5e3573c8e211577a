//! What a prompt may return.

use std::borrow::Cow;

use crate::error::{HandlerError, Result};
use crate::protocol::{Content, PromptMessage, PromptResult};

/// A return type of a `#[prompt]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a prompt",
    label = "not a prompt",
    note = "return text, `Content`, `PromptMessage`, `Vec<PromptMessage>`, `PromptResult`, or a `Result` of these"
)]
pub trait IntoPrompt {
    /// Makes the messages, or fails like the handler would.
    fn into_prompt(self) -> Result<PromptResult>;
}

impl IntoPrompt for PromptResult {
    fn into_prompt(self) -> Result<PromptResult> {
        Ok(self)
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> Result<PromptResult> {
        Ok(PromptResult::new([self]))
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> Result<PromptResult> {
        Ok(PromptResult::new(self))
    }
}

impl<const N: usize> IntoPrompt for [PromptMessage; N] {
    fn into_prompt(self) -> Result<PromptResult> {
        Ok(PromptResult::new(self))
    }
}

impl<T: IntoPrompt, E: HandlerError> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<PromptResult> {
        self.map_err(Into::into)?.into_prompt()
    }
}

macro_rules! user_messages {
    ($($ty:ty)*) => {$(
        impl IntoPrompt for $ty {
            fn into_prompt(self) -> Result<PromptResult> {
                Ok(PromptResult::new([PromptMessage::user(self)]))
            }
        }
    )*};
}

user_messages! { String &'static str Cow<'static, str> Content }
