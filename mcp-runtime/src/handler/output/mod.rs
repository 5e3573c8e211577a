//! Return types: what a handler may return, and what it becomes.

pub(super) mod prompt;
pub(super) mod resource;
pub(super) mod tool;

pub(crate) use crate::protocol::finite::to_json;

pub use prompt::IntoPromptResult;
pub use resource::IntoReadResult;
pub use tool::IntoToolResult;

/// A value sent as JSON: from a tool, `structuredContent` with an `outputSchema`; from a resource,
/// its text.
///
/// JSON has no NaN and no infinity. A tool's result with one in it would be at odds with its own
/// schema, so the call fails and says so, as below for no numbers at all.
///
/// ```
/// use mcp_runtime::{Json, prelude::*};
/// use mcp_runtime::testing::TestClient;
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Stats {
///     count: usize,
///     mean: f64,
/// }
///
/// /// Count numbers and take their mean.
/// #[tool(read_only)]
/// fn stats(numbers: Vec<f64>) -> Json<Stats> {
///     let count = numbers.len();
///     Json(Stats { count, mean: numbers.iter().sum::<f64>() / count as f64 })
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let client = TestClient::connect(Server::new("numbers", "1.0.0").tools(tools![stats])).await?;
/// assert_eq!(client.call("stats", json!({"numbers": [1, 2]})).await?.text(), r#"{"count":2,"mean":1.5}"#);
/// assert!(client.call("stats", json!({"numbers": []})).await?.is_error());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Json<T>(pub T);
