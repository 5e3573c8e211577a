//! [`Finding`]: something to improve, its place and its remedy.

use std::fmt;

use crate::surface::difference::Place;

/// What a [`Finding`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A tool, a prompt or an argument has no description.
    MissingDescription,
    /// Two tools, two prompts, or two arguments of one tool have names that a model confuses: they differ only in
    /// case, separators, the order of words or a plural, or by one letter of a long word.
    ConfusingNames,
    /// Some clients refuse the name of a tool or of an argument.
    RefusedName,
    /// Some clients refuse the schema of a tool's arguments.
    RefusedSchema,
    /// A tool, or the list of all tools, takes many tokens of the model's context.
    TokenBudget,
    /// The name of a tool says that it deletes something, and no hint tells clients whether to ask first; or its hints
    /// contradict each other.
    MissingHint,
    /// A tool returns structured JSON, and no `outputSchema` says what is in it.
    MissingOutputSchema,
    /// A layer of a tool's own never does anything for it: a `Cache` around a tool that is not `read_only`, for example.
    IdleLayer,
}

impl Rule {
    /// The rule's name in findings.
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::MissingDescription => "missing-description",
            Rule::ConfusingNames => "confusing-names",
            Rule::RefusedName => "refused-name",
            Rule::RefusedSchema => "refused-schema",
            Rule::TokenBudget => "token-budget",
            Rule::MissingHint => "missing-hint",
            Rule::MissingOutputSchema => "missing-output-schema",
            Rule::IdleLayer => "idle-layer",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something to improve, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule that found it.
    pub rule: Rule,
    /// Where it is, from the outside in: `tool search › argument limit`.
    pub place: String,
    /// What is wrong, in a sentence.
    pub text: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { rule, place, text, remedy } = self;
        write!(f, "{place}: {text} [{rule}]\n  {remedy}")
    }
}

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    pub(super) fn add(&mut self, rule: Rule, place: &Place, text: impl Into<String>, remedy: impl Into<String>) {
        let (text, remedy) = (text.into(), remedy.into());
        self.0.push(Finding { rule, place: place.to_string(), text, remedy });
    }
}

/// The place of a tool.
pub(super) fn tool_place(name: &str) -> Place {
    Place::new(format!("tool {name}"))
}
