//! [`Redact`]: texts that must not leave the server.

use std::borrow::Cow;
use std::fmt;

use regex_lite::{NoExpand, Regex};

use super::{Call, Layer, Next, Outcome};
use crate::error::Result;

type Edit = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Replaces secrets and personal data in the texts of results and errors.
///
/// ```
/// use mcp_runtime::layers::Redact;
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
///
/// /// Read the configuration.
/// #[tool(read_only)]
/// fn configuration() -> &'static str {
///     "host=db1 password=hunter2"
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let redact = Redact::patterns([r"password=\S+", r"\b\d{16}\b"], "[redacted]")?;
/// let client = TestClient::connect(Server::new("admin", "1.0.0").tools(tools![configuration]).layer(redact)).await?;
/// assert_eq!(client.call("configuration", json!({})).await?.text(), "host=db1 [redacted]");
/// # Ok(())
/// # }
/// ```
///
/// [`Outcome::edit_texts`] says which texts these are. Each text is edited by itself, the values of structured results
/// included, also those that are numbers. A replacement should not match a pattern itself: the text of a structured result
/// is edited after its values. What a handler sends while it runs (progress, log messages, questions) is not redacted, and
/// neither are base64 data and URIs.
pub struct Redact(Edit);

impl Redact {
    /// Replaces texts: `edit` returns the new text, or `None` if there is nothing to hide.
    pub fn new(edit: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Redact(Box::new(edit))
    }

    /// Replaces what matches one of these regular expressions, in the syntax of `regex-lite`. They match in linear time.
    ///
    /// # Errors
    ///
    /// If a pattern is malformed.
    pub fn patterns<P: AsRef<str>>(
        patterns: impl IntoIterator<Item = P>,
        replacement: impl Into<String>,
    ) -> Result<Self> {
        let patterns: Vec<Regex> =
            patterns.into_iter().map(|pattern| Regex::new(pattern.as_ref())).collect::<Result<_, _>>()?;
        let replacement = replacement.into();
        Ok(Redact::new(move |text| {
            let mut edited = Cow::Borrowed(text);
            for pattern in &patterns {
                // Nothing is allocated for a text without a match.
                let replaced = match pattern.replace_all(&edited, NoExpand(&replacement)) {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(replaced) => Some(replaced),
                };
                edited = replaced.map_or(edited, Cow::Owned);
            }
            if let Cow::Owned(edited) = edited { Some(edited) } else { None }
        }))
    }
}

impl Layer for Redact {
    async fn call(&self, call: Call, next: Next) -> Outcome {
        let mut outcome = next.run(call).await;
        outcome.edit_texts(&self.0);
        outcome
    }
}

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redact")
    }
}
