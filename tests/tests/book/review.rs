use mcp_runtime::{Revision, prelude::*, testing::TestClient};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone { Kind, Blunt }

/// Review a text.
#[prompt(title = "Review")]
fn review(
    /// The text to review.
    text: String,
    /// How to say it.
    tone: Option<Tone>,
    /// The maximum number of suggestions.
    #[arg(default = 3, min = 1, max = 10)]
    suggestions: u8,
) -> String {
    let how = match tone {
        Some(Tone::Blunt) => "Do not soften anything.",
        Some(Tone::Kind) | None => "Begin with what is good.",
    };
    format!("Review this text with at most {suggestions} suggestions. {how}\n\n{text}")
}
