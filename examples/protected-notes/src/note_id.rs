//! [`NoteId`]: what a note is called.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

/// Text, or a number, which is taken as its text: people number their notes, and models then send numbers.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum NoteId {
    // What a URI takes as it is: a note is a resource, too.
    Text(#[schemars(length(min = 1, max = 100), regex(pattern = r"^[A-Za-z0-9._~-]+$"))] String),
    Number(i64),
}

impl fmt::Display for NoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoteId::Text(text) => f.write_str(text),
            NoteId::Number(number) => write!(f, "{number}"),
        }
    }
}
