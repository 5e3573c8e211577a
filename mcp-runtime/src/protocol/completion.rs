//! The context of a completion: the other arguments.

/// The other arguments the user has filled in so far, as a completion function sees them.
///
/// The values are unvalidated text, as typed. Arguments that are not filled in yet are absent. Clients of
/// revisions before 2025-06-18 do not send any. Use it to improve suggestions, never for access control.
///
/// ```
/// use mcp_runtime::protocol::CompletionContext;
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
///
/// fn frameworks(typed: &str, others: &CompletionContext) -> Vec<&'static str> {
///     let known: &[&str] = match others.get("language") {
///         Some("python") => &["django", "flask"],
///         Some("rust") => &["axum", "rocket"],
///         _ => &["axum", "django", "flask", "rocket"],
///     };
///     known.iter().copied().filter(|name| name.starts_with(typed)).collect()
/// }
///
/// /// Review code.
/// #[prompt]
/// fn review(language: String, #[arg(complete = frameworks)] framework: String) -> String {
///     format!("Review this {language} code, which uses {framework}.")
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// // A plain function can be tested as one.
/// assert_eq!(frameworks("", &CompletionContext::from_iter([("language", "rust")])), ["axum", "rocket"]);
///
/// let client = TestClient::connect(Server::new("reviews", "1.0.0").prompts(prompts![review])).await?;
/// let completed = client.complete_prompt("review", "framework", "fl", json!({"language": "python"})).await?;
/// assert_eq!(completed.values, ["flask"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionContext(Vec<(String, String)>);

impl CompletionContext {
    /// The text of the argument `name`, if the user has filled it in.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(argument, _)| *argument == name).map(|(_, text)| text)
    }

    /// The names and texts of the arguments filled in so far, in the order the client sent them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (&**name, &**text))
    }

    /// Whether the client sent no arguments.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Builds a context from names and texts, for tests of a completion function.
impl<N: Into<String>, T: Into<String>> FromIterator<(N, T)> for CompletionContext {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(arguments: I) -> Self {
        CompletionContext(arguments.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
    }
}
