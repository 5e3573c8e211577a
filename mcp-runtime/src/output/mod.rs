//! Return types: what a handler may return, and what it becomes.

mod contents;
mod prompt;
mod tool;

pub use contents::IntoContents;
pub use prompt::IntoPrompt;
pub use tool::IntoToolResult;

/// A value sent as JSON: from a tool, `structuredContent` with an `outputSchema`; from a resource,
/// its text.
///
/// ```
/// use mcp_runtime::{Json, prelude::*};
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
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Json<T>(pub T);
