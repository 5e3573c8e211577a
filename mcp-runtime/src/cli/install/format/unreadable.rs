//! [`Unreadable`]: why a text cannot be read or edited.

use std::fmt::{self, Display};

/// Why a text cannot be read or edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// The line and the column of the mistake, from 1.
    pub(crate) position: Option<(usize, usize)>,
    /// What is wrong.
    pub(crate) reason: String,
}

impl Unreadable {
    pub(super) fn new(reason: impl Display) -> Self {
        Unreadable { position: None, reason: reason.to_string() }
    }

    pub(super) fn at(line: usize, column: usize, reason: impl Display) -> Self {
        Unreadable { position: Some((line, column)), reason: reason.to_string() }
    }
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some((line, column)) => write!(f, "line {line}, column {column}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}
