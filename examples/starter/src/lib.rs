//! A first server: two tools, a resource and a prompt.

use mcp_runtime::prelude::*;

/// Add two integers.
#[tool(read_only)]
fn add(
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
) -> Result<i64> {
    a.checked_add(b).ok_or("the sum does not fit into 64 bits".into())
}

/// Count the words of a text.
#[tool(read_only)]
fn count_words(
    /// The text to count in.
    text: String,
    /// Count only this word, in any case. If omitted, every word counts.
    word: Option<String>,
) -> usize {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    match word {
        Some(wanted) => words.filter(|word| word.to_lowercase() == wanted.to_lowercase()).count(),
        None => words.count(),
    }
}

/// The rules for texts, which `review` refers to.
#[resource("guide://style", mime = "text/markdown")]
fn style_guide() -> &'static str {
    "# Style\n\n- Short sentences.\n- One idea per paragraph.\n"
}

/// Ask for a review of a text by the style guide.
#[prompt]
fn review(
    /// The text to review.
    text: String,
    /// The maximum number of suggestions.
    #[arg(default = 3, min = 1, max = 10)]
    suggestions: u8,
) -> String {
    format!("Review this text by these rules, with at most {suggestions} suggestions.\n\n{}\n{text}", style_guide())
}

/// The server. `main` serves it, and the tests talk to it in memory.
pub fn server() -> Server {
    Server::new("starter", env!("CARGO_PKG_VERSION"))
        .instructions("guide://style has the rules for texts; the prompt `review` applies them.")
        .tools(tools![add, count_words])
        .resources(resources![style_guide])
        .prompts(prompts![review])
}
