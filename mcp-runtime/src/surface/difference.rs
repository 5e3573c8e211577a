//! One difference between two surfaces: its place, its class and the change.

use std::fmt;

use serde_json::Value;

/// A place in a surface, from the outside in: `tool search › argument limit › maximum`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place(Vec<String>);

impl Place {
    pub(crate) fn new(first: impl Into<String>) -> Self {
        Place(vec![first.into()])
    }

    /// A place inside this one.
    pub(crate) fn then(&self, next: impl Into<String>) -> Self {
        let mut segments = self.0.clone();
        segments.push(next.into());
        Place(segments)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" › "))
    }
}

/// What a difference means for the clients of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A client that works today may fail.
    Breaking,
    /// The server offers or promises more.
    Additive,
    /// Only people and models read it.
    Cosmetic,
}

/// A difference between the recorded surface and the server's.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    pub(crate) class: Class,
    pub(crate) place: Place,
    pub(crate) change: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.change)
    }
}

/// The change of something that is not understood well enough to be compared.
pub(super) const INCOMPARABLE: &str = "changed in a way that cannot be compared";

/// The differences found so far.
#[derive(Debug, Default)]
pub(super) struct Differences(pub(super) Vec<Difference>);

impl Differences {
    pub(super) fn add(&mut self, class: Class, place: Place, change: impl Into<String>) {
        self.0.push(Difference { class, place, change: change.into() });
    }

    /// A change between two values that may be absent.
    pub(super) fn changed<T>(&mut self, class: Class, place: Place, old: Option<&T>, new: Option<&T>)
    where
        T: PartialEq + serde::Serialize,
    {
        if old != new {
            self.add(class, place, format!("{} → {}", shown(old), shown(new)));
        }
    }
}

/// A value as one short line of JSON; "none" if it is absent.
pub(super) fn shown<T: serde::Serialize>(value: Option<&T>) -> String {
    /// Longer texts are cut: the place says where to read on.
    const LONGEST: usize = 60;

    let Some(value) = value else { return "none".to_owned() };
    let text = match serde_json::to_value(value) {
        Ok(Value::String(text)) => format!("{text:?}"),
        Ok(value) => value.to_string(),
        Err(_) => return "a value".to_owned(),
    };
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).chain(['…']).collect() }
}
