use mcp_runtime::{Json, prelude::*};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
struct Hit { line: usize, text: String }

/// Find the lines of a file that contain a word.
#[tool(title = "Search a file", read_only, blocking)]
fn grep(
    path: String,
    word: String,
    /// The maximum number of lines to return.
    #[arg(default = 10, max = 1000)]
    limit: usize,
) -> Result<Json<Vec<Hit>>> {
    let text = std::fs::read_to_string(path)?;
    let hits = text.lines().zip(1..).filter(|(text, _)| text.contains(&word));
    Ok(Json(hits.map(|(text, line)| Hit { line, text: text.to_owned() }).take(limit).collect()))
}
