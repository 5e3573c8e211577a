//! [`Server::lint`]: findings about what the server offers.

use super::Server;
use crate::lint::{self, Finding, LintOptions};

impl Server {
    /// Checks what the server offers for things that make models choose wrongly or that clients refuse. See
    /// [`lint`](crate::lint) for the rules.
    ///
    /// Items are checked as every client may see them: those with `visible_if` are included, disabled ones are not.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Find notes by their text.
    /// #[tool(read_only)]
    /// fn search_notes(
    ///     /// Words that must all occur.
    ///     query: String,
    /// ) -> String {
    ///     query
    /// }
    ///
    /// /// Find a note by its number.
    /// #[tool(read_only)]
    /// fn search_note(
    ///     /// The number.
    ///     id: u64,
    /// ) -> u64 {
    ///     id
    /// }
    ///
    /// let server = Server::new("notes", "1.0.0").tools(tools![search_notes, search_note]);
    /// for finding in server.lint() {
    ///     assert_eq!(
    ///         finding.to_string(),
    ///         "tool search_note: differs from `search_notes` only in a plural: a model may confuse the two \
    ///          [confusing-names]\n  rename one so that the names say how the two differ, or make them one"
    ///     );
    /// }
    /// ```
    #[must_use]
    pub fn lint(&self) -> Vec<Finding> {
        self.lint_with(&LintOptions::new())
    }

    /// Like [`lint`](Self::lint), with other token budgets, or without some findings.
    #[must_use]
    pub fn lint_with(&self, options: &LintOptions) -> Vec<Finding> {
        lint::check(&self.surface(), options)
    }
}
