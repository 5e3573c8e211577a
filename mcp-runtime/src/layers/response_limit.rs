//! [`ResponseLimit`]: results that are too long for a model.

use super::{Call, CallKind, Layer, Next, Outcome};
use crate::error::Error;
use crate::jsonrpc::error::beginning;
use crate::protocol::ToolResult;

/// Refuses results above a size, with a text that tells the model what to do.
///
/// A long result fills the context of a model, and some clients reject it. The model gets an error instead, which says how
/// long the result was and to ask for less. A long error is replaced as well; it keeps its code.
///
/// ```
/// use mcp_runtime::layers::ResponseLimit;
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
///
/// /// Search the log. Returns all lines that contain the text.
/// #[tool(layer = ResponseLimit::new(1000).advice("Search for a longer text, or pass `from` and `to`."))]
/// fn search(text: String) -> String {
///     format!("a line with {text}\n").repeat(100)
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let client = TestClient::connect(Server::new("log", "1.0.0").tools(tools![search])).await?;
/// let refused = client.call("search", json!({"text": "error"})).await?;
/// assert_eq!(
///     refused.text(),
///     "The result has 1800 bytes, and 1000 is the limit. Search for a longer text, or pass `from` and `to`."
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ResponseLimit {
    bytes: usize,
    advice: String,
    truncates: bool,
}

impl ResponseLimit {
    /// Refuses results of more than so many bytes: of text, base64 data and structured content.
    pub fn new(bytes: usize) -> Self {
        let advice = "Narrow the call: ask for fewer items or a smaller part, or page through the result if the tool \
                      takes a limit, an offset or a cursor.";
        ResponseLimit { bytes, advice: advice.to_owned(), truncates: false }
    }

    /// What the model should do instead, in a sentence. Name the arguments of the tool.
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// Keeps the beginning of a tool's result that is one text, or of the text of an error, and says that it was cut off. All
    /// other results are refused: half of a structured result does not match its schema.
    pub fn truncate(mut self) -> Self {
        self.truncates = true;
        self
    }

    fn refusal(&self, size: usize, kind: CallKind) -> Outcome {
        let text = self.too_long("result", size);
        match kind {
            CallKind::Tool => ToolResult::error(text).into(),
            _ => Error::internal(text).into(),
        }
    }

    fn too_long(&self, what: &str, size: usize) -> String {
        format!("The {what} has {size} bytes, and {} is the limit. {}", self.bytes, self.advice)
    }

    /// Cuts off a result that is one text. Returns whether it is.
    fn truncate_result(&self, outcome: &mut Outcome) -> bool {
        let result = outcome.as_tool_mut().filter(|result| self.truncates && result.structured().is_none());
        let Some(text) = result.and_then(ToolResult::only_text_mut) else { return false };
        *text = self.cut_off(text);
        true
    }

    fn cut_off(&self, text: &str) -> String {
        let kept = beginning(text, self.bytes);
        format!("{kept}\n\n[Cut off after {} of {} bytes. {}]", kept.len(), text.len(), self.advice)
    }
}

impl Layer for ResponseLimit {
    async fn call(&self, call: Call, next: Next) -> Outcome {
        let kind = call.kind();
        let mut outcome = next.run(call).await;
        let size = outcome.size();
        if size <= self.bytes {
            return outcome;
        }
        if let Some(error) = outcome.error() {
            let message = error.message();
            let cuts = self.truncates && message.len() > self.bytes;
            let text = if cuts { self.cut_off(&message) } else { self.too_long("error", size) };
            return outcome.with_error_text(text);
        }
        if self.truncate_result(&mut outcome) { outcome } else { self.refusal(size, kind) }
    }
}
