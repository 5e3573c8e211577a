//! Validation of a value against a field.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Number, Value};

use super::field::{FieldKind, Size};
use crate::jsonrpc::error::shorten;

impl FieldKind {
    /// Validates a value. The error completes the sentence "the field …".
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        match (self, value) {
            (FieldKind::Text { size, format, .. }, Value::String(text)) => {
                size.check(text.chars().count(), "characters")?;
                match format.filter(|format| !format.fits(text)) {
                    Some(format) => Err(format!("must be {}, not `{}`", format.describe(), shorten(text))),
                    None => Ok(()),
                }
            }
            (FieldKind::Number { integer, minimum, maximum }, Value::Number(number)) => {
                if *integer && number.is_f64() {
                    return Err(format!("must be a whole number, written like 3, not {number}"));
                }
                range(number, minimum.as_ref(), maximum.as_ref())
            }
            (FieldKind::Boolean, Value::Bool(_)) => Ok(()),
            (FieldKind::One(choices), Value::String(text)) if choices.values.contains(text) => Ok(()),
            (FieldKind::One(_), Value::String(text)) => {
                Err(format!("must be {}, not `{}`", self.describe(), shorten(text)))
            }
            (FieldKind::Many { size, unique, .. }, Value::Array(items)) => {
                size.check(items.len(), "choices")?;
                items.iter().try_for_each(|item| self.check_item(item))?;
                if *unique && items.iter().filter_map(Value::as_str).collect::<HashSet<_>>().len() < items.len() {
                    return Err("must not have a choice twice".into());
                }
                Ok(())
            }
            _ => Err(format!("must be {}, not {}", self.describe(), describe(value))),
        }
    }

    fn check_item(&self, item: &Value) -> Result<(), String> {
        match (self, item) {
            (FieldKind::Many { choices, .. }, Value::String(text)) if choices.values.contains(text) => Ok(()),
            (_, Value::String(text)) => Err(format!("must be {}, not `{}`", self.describe(), shorten(text))),
            _ => Err(format!("must be {}, not {}", self.describe(), describe(item))),
        }
    }

    /// What a value must be, for error texts.
    pub(super) fn describe(&self) -> String {
        let listed = |values: &[String]| {
            shorten(&values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")).into_owned()
        };
        match self {
            FieldKind::Text { format: Some(format), .. } => format.describe().into(),
            FieldKind::Text { .. } => "a string".into(),
            FieldKind::Number { integer: true, .. } => "an integer".into(),
            FieldKind::Number { .. } => "a number".into(),
            FieldKind::Boolean => "a boolean".into(),
            FieldKind::One(choices) => format!("one of {}", listed(&choices.values)),
            FieldKind::Many { choices, .. } => format!("a list of any of {}", listed(&choices.values)),
        }
    }
}

impl Size {
    fn check(self, size: usize, of: &str) -> Result<(), String> {
        let size = size as u64;
        match (self.min, self.max) {
            (Some(min), _) if size < min => Err(format!("must have at least {min} {of}, not {size}")),
            (_, Some(max)) if size > max => Err(format!("must have at most {max} {of}, not {size}")),
            _ => Ok(()),
        }
    }
}

fn range(number: &Number, minimum: Option<&Number>, maximum: Option<&Number>) -> Result<(), String> {
    match (minimum, maximum) {
        (Some(min), _) if compare(number, min).is_lt() => Err(format!("must be at least {min}, not {number}")),
        (_, Some(max)) if compare(number, max).is_gt() => Err(format!("must be at most {max}, not {number}")),
        _ => Ok(()),
    }
}

/// Compares integers exactly, and other numbers as `f64`.
fn compare(one: &Number, other: &Number) -> Ordering {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
    }
}

/// What a value is, for error texts.
pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
