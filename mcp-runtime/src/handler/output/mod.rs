//! Return types: the conversions from a handler's return value to its result.

pub(crate) mod check;
pub(super) mod prompt;
pub(super) mod resource;
pub(super) mod tool;

pub(crate) use crate::protocol::finite::to_json;

pub use prompt::IntoPromptResult;
pub use resource::IntoReadResult;
pub use tool::IntoToolResult;

/// A value returned as JSON: the `structuredContent` of a tool, with an `outputSchema`; or the text of
/// a resource.
///
/// JSON has no NaN and no infinity. A tool's result that contains one would violate its own schema, so
/// the call fails with an error, as for the empty list below.
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
