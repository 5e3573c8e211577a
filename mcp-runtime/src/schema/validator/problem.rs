//! [`Problem`]: one reason why a value does not match its schema, in words a model can act on.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// A value that does not match its schema. Serialized as the protocol's `argumentError`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The path to the value: names and indices, joined by dots.
    pub(crate) field: Cow<'static, str>,
    /// The type that the schema names, or the format.
    pub(crate) expected_type: Cow<'static, str>,
    /// The type that was sent, or `missing`.
    pub(crate) actual_type: Cow<'static, str>,
    /// The whole sentence: path, what was expected, what came.
    #[serde(skip)]
    pub(crate) text: String,
}

impl Problem {
    /// Several problems as a list, each on a line of its own.
    pub(crate) fn list(problems: &[Problem]) -> String {
        problems.iter().flat_map(|problem| ["\n- ", &*problem.text]).collect()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
