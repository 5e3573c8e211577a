//! [`LintOptions`]: token budgets, and findings to leave out.

use super::finding::{Finding, Rule};

/// Which findings to report: token budgets, and findings to leave out.
///
/// ```
/// use mcp_runtime::lint::{LintOptions, Rule};
/// use mcp_runtime::prelude::*;
///
/// /// Add two integers.
/// #[tool(read_only)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let server = Server::new("calculator", "1.0.0").tools(tools![add]);
/// assert_eq!(server.lint().len(), 2); // neither argument is described
/// let options = LintOptions::new().allow(Rule::MissingDescription, "tool add");
/// assert!(server.lint_with(&options).is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct LintOptions {
    pub(super) tool_tokens: usize,
    pub(super) list_tokens: usize,
    allowed: Vec<(Rule, Option<String>)>,
}

impl Default for LintOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl LintOptions {
    /// All rules, with the default budgets.
    pub fn new() -> Self {
        LintOptions { tool_tokens: 1_000, list_tokens: 10_000, allowed: Vec::new() }
    }

    /// Sets the budget of one tool in tokens. Default: 1,000.
    ///
    /// Tokens are estimated: the bytes of the tool's entry in `tools/list`, without icons and `_meta`, divided by 4.
    pub fn tool_tokens(mut self, most: usize) -> Self {
        self.tool_tokens = most;
        self
    }

    /// Sets the budget of all tools together in tokens. Default: 10,000. They are estimated as for
    /// [`tool_tokens`](Self::tool_tokens).
    pub fn list_tokens(mut self, most: usize) -> Self {
        self.list_tokens = most;
        self
    }

    /// Leaves out the findings of a rule at this place and inside it: `"tool add"` covers
    /// `"tool add › argument a"`.
    pub fn allow(mut self, rule: Rule, place: impl Into<String>) -> Self {
        self.allowed.push((rule, Some(place.into())));
        self
    }

    /// Leaves out all findings of a rule.
    pub fn allow_everywhere(mut self, rule: Rule) -> Self {
        self.allowed.push((rule, None));
        self
    }

    pub(super) fn allows(&self, finding: &Finding) -> bool {
        let covers = |place: &str| {
            let rest = finding.place.strip_prefix(place);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" › "))
        };
        let mut allowed = self.allowed.iter().filter(|(rule, _)| *rule == finding.rule);
        allowed.any(|(_, place)| place.as_deref().is_none_or(covers))
    }
}
