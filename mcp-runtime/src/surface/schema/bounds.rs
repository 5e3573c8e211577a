//! Numeric bounds: of numbers, and of the lengths of strings, arrays and objects.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::node::{Node, Type};
use super::{At, Comparison};
use crate::surface::difference::shown;

/// The end of a range.
#[derive(Debug, Clone, PartialEq)]
struct Bound {
    value: Number,
    /// Whether the value itself is outside.
    exclusive: bool,
}

/// Whether a bound is the lower or the upper end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Lower,
    Upper,
}

impl Comparison<'_> {
    pub(super) fn bounds(&mut self, old: &Node, new: &Node, at: &At) {
        for (end, keyword, exclusive) in
            [(End::Lower, "minimum", "exclusiveMinimum"), (End::Upper, "maximum", "exclusiveMaximum")]
        {
            let bounds = [old, new].map(|node| bound(node, end, keyword, exclusive));
            self.bound(end, keyword, bounds, at);
        }
        for what in ["Length", "Items", "Properties"] {
            for (end, prefix) in [(End::Lower, "min"), (End::Upper, "max")] {
                let keyword = format!("{prefix}{what}");
                let count = |node: &Node| {
                    let value = node.keywords.get(&keyword)?.as_number()?.clone();
                    // At least none is no bound.
                    (end == End::Upper || value.as_f64() != Some(0.0)).then_some(Bound { value, exclusive: false })
                };
                self.bound(end, &keyword, [count(old), count(new)], at);
            }
        }
        self.multiple_of(old, new, at);
    }

    fn bound(&mut self, end: End, keyword: &str, [one, other]: [Option<Bound>; 2], at: &At) {
        let place = at.keyword(keyword);
        let change = format!("{} → {}", words(one.as_ref(), end), words(other.as_ref(), end));
        match (one, other) {
            (None, Some(_)) => self.narrower(place, change),
            (Some(_), None) => self.wider(place, change),
            (Some(one), Some(other)) => match tightness(&one, &other, end) {
                Some(Ordering::Less) => self.narrower(place, change),
                Some(Ordering::Greater) => self.wider(place, change),
                Some(Ordering::Equal) => {}
                None => self.incomparable(place),
            },
            (None, None) => {}
        }
    }

    fn multiple_of(&mut self, old: &Node, new: &Node, at: &At) {
        let step = |node: &Node| node.keywords.get("multipleOf").and_then(Value::as_f64);
        let keyword = "multipleOf";
        let change = format!("{} → {}", shown(old.keywords.get(keyword)), shown(new.keywords.get(keyword)));
        let place = at.keyword(keyword);
        let divides = |one: f64, other: f64| other % one == 0.0;
        match (step(old), step(new)) {
            (None, None) => {}
            (None, Some(_)) => self.narrower(place, change),
            (Some(_), None) => self.wider(place, change),
            (Some(old), Some(new)) if old.total_cmp(&new).is_eq() => {}
            (Some(old), Some(new)) if divides(old, new) => self.narrower(place, change),
            (Some(old), Some(new)) if divides(new, old) => self.wider(place, change),
            (Some(_), Some(_)) => self.incomparable(place),
        }
    }
}

fn words(bound: Option<&Bound>, end: End) -> String {
    match (bound, end) {
        (None, _) => "none".to_owned(),
        (Some(Bound { value, exclusive: true }), End::Lower) => format!("above {value}"),
        (Some(Bound { value, exclusive: true }), End::Upper) => format!("below {value}"),
        (Some(Bound { value, .. }), _) => value.to_string(),
    }
}

/// The tighter of a node's inclusive and exclusive bounds.
fn bound(node: &Node, end: End, inclusive: &str, exclusive: &str) -> Option<Bound> {
    let read = |keyword: &str, exclusive| {
        let value = node.keywords.get(keyword)?.as_number()?.clone();
        Some(Bound { value, exclusive })
    };
    let (inclusive, exclusive) = (read(inclusive, false), read(exclusive, true).map(|bound| closed(bound, node, end)));
    match (inclusive, exclusive) {
        (Some(one), Some(other)) if tightness(&one, &other, end) == Some(Ordering::Less) => Some(other),
        (Some(one), Some(_)) => Some(one),
        (one, other) => one.or(other),
    }
}

/// For integers, more than 0 is at least 1.
fn closed(bound: Bound, node: &Node, end: End) -> Bound {
    let integers = node.types.is_subset(&BTreeSet::from([Type::Integer, Type::Null]));
    let step = if end == End::Lower { 1 } else { -1 };
    match bound.value.as_i64().and_then(|value| value.checked_add(step)) {
        Some(value) if integers => Bound { value: value.into(), exclusive: false },
        _ => bound,
    }
}

/// `Less` if `new` allows less than `old`.
fn tightness(old: &Bound, new: &Bound, end: End) -> Option<Ordering> {
    let by_value = compare_numbers(&old.value, &new.value)?;
    let by_value = if end == End::Lower { by_value } else { by_value.reverse() };
    // A greater lower bound allows less.
    Some(by_value.then(new.exclusive.cmp(&old.exclusive).reverse()))
}

fn compare_numbers(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        // Exact beyond 2^53.
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}
