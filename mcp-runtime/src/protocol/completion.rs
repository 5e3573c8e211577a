//! What a completing function is told of the other arguments.

/// The other arguments a person has filled in already, as a completing function sees them.
///
/// Text, as it was typed: nothing says that it is one of the values an argument can have. What is
/// not filled in yet is not there, and nothing ever is for clients of revisions before 2025-06-18,
/// which do not tell. So it is for better values, not for deciding what somebody may see.
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
/// // A plain function, to be tested as one.
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
    /// The text of the argument `name`, if it is filled in.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(argument, _)| *argument == name).map(|(_, text)| text)
    }

    /// The arguments that are filled in, each with its text, in the order the client sent them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (&**name, &**text))
    }

    /// Whether nothing is filled in, as far as the client tells.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Names and texts, for tests of a completing function.
impl<N: Into<String>, T: Into<String>> FromIterator<(N, T)> for CompletionContext {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(arguments: I) -> Self {
        CompletionContext(arguments.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
    }
}
