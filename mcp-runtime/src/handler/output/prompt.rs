//! [`IntoPromptResult`]: the return types of prompts.

use std::borrow::Cow;

use crate::error::{HandlerError, Result};
use crate::protocol::{Content, PromptMessage, PromptResult};

/// A type that a [`#[prompt]`](macro@crate::prompt) function can return.
///
/// ```
/// use mcp_runtime::protocol::{PromptMessage, PromptResult};
/// use mcp_runtime::{IntoPromptResult, Result};
///
/// /// A question, with an example of a good answer before it.
/// struct WithExample(&'static str, &'static str, String);
///
/// impl IntoPromptResult for WithExample {
///     fn into_prompt_result(self) -> Result<PromptResult> {
///         let WithExample(question, answer, next) = self;
///         let example = [PromptMessage::user(question), PromptMessage::assistant(answer)];
///         Ok(PromptResult::new(example.into_iter().chain([PromptMessage::user(next)])))
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let prompt = WithExample("The capital of France?", "Paris", "The capital of Peru?".into()).into_prompt_result()?;
/// assert_eq!(prompt.messages().len(), 3);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a prompt",
    label = "not a prompt",
    note = "return text, `Content`, `PromptMessage`, `Vec<PromptMessage>`, `PromptResult`, or a `Result` of these",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#return-types"
)]
pub trait IntoPromptResult {
    /// Converts the value into messages. An error fails the request, as an error of the handler does.
    fn into_prompt_result(self) -> Result<PromptResult>;
}

impl IntoPromptResult for PromptResult {
    fn into_prompt_result(self) -> Result<PromptResult> {
        Ok(self)
    }
}

impl IntoPromptResult for PromptMessage {
    fn into_prompt_result(self) -> Result<PromptResult> {
        Ok(PromptResult::new([self]))
    }
}

impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> Result<PromptResult> {
        Ok(PromptResult::new(self))
    }
}

impl<const N: usize> IntoPromptResult for [PromptMessage; N] {
    fn into_prompt_result(self) -> Result<PromptResult> {
        Ok(PromptResult::new(self))
    }
}

impl<T: IntoPromptResult, E: HandlerError> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> Result<PromptResult> {
        self.map_err(Into::into)?.into_prompt_result()
    }
}

macro_rules! user_messages {
    ($($ty:ty)*) => {$(
        impl IntoPromptResult for $ty {
            fn into_prompt_result(self) -> Result<PromptResult> {
                Ok(PromptResult::new([PromptMessage::user(self)]))
            }
        }
    )*};
}

user_messages! { String &str &String Cow<'_, str> Content }
