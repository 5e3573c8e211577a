//! Findings about what a server offers: things that make models choose wrongly, or that clients refuse.
//!
//! [`Server::lint`](crate::Server::lint) returns them, and
//! [`assert_contract!`](crate::testing::assert_contract!) prints them. Each finding is a fact that the server's lists
//! or the declarations of its handlers show, with its place and a remedy. The rules do not guess: a tool that returns JSON as text, for example, is not
//! found, because neither its descriptor nor its return type tells.
//!
//! ```
//! use mcp_runtime::lint::Rule;
//! use mcp_runtime::prelude::*;
//!
//! #[tool]
//! fn delete_note(
//!     /// The number of the note.
//!     id: u64,
//! ) -> String {
//!     format!("deleted {id}")
//! }
//!
//! let findings = Server::new("notes", "1.0.0").tools(tools![delete_note]).lint();
//! assert_eq!(findings[0].rule, Rule::MissingDescription);
//! assert_eq!(findings[0].place, "tool delete_note");
//! assert_eq!(findings[1].rule, Rule::MissingHint);
//! ```

mod descriptions;
mod finding;
mod hints;
mod layers;
mod names;
mod options;
mod results;
mod schemas;
#[cfg(test)]
mod tests;
pub(crate) mod tokens;

use self::finding::Findings;
use crate::surface::Surface;
pub use finding::{Finding, Rule};
pub use options::LintOptions;

/// The section of the page [`errors`](crate::errors) about these findings: that of their rule, if they share one.
pub(crate) fn section(findings: &[Finding]) -> &'static str {
    match findings {
        [first, others @ ..] if others.iter().all(|other| other.rule == first.rule) => first.rule.as_str(),
        _ => "lint",
    }
}

/// The findings about a server's surface.
pub(crate) fn check(surface: &Surface, options: &LintOptions) -> Vec<Finding> {
    let mut found = Findings::default();
    descriptions::check(surface, &mut found);
    names::check(surface, &mut found);
    schemas::check(surface, &mut found);
    hints::check(surface, &mut found);
    results::check(surface, &mut found);
    layers::check(surface, &mut found);
    tokens::check(surface, options.tool_tokens, options.list_tokens, &mut found);
    found.0.retain(|finding| !options.allows(finding));
    found.0
}
