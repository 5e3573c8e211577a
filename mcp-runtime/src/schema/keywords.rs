//! Mistakes of the keywords that the attribute of an argument adds to the schema of its type.

use serde_json::{Map, Value};

use super::format::Format;
use super::instance::Number;
use crate::jsonrpc::raw::to_text;

/// The mistake of a keyword that says nothing about values of a type.
pub(super) fn misplaced(name: &str, keyword: &str, expected: &str) -> Option<String> {
    let (key, of, types): (&str, &str, &[&str]) = match keyword {
        "minimum" => ("min", "numbers", &["integer", "number"]),
        "maximum" => ("max", "numbers", &["integer", "number"]),
        "exclusiveMinimum" => ("exclusive_min", "numbers", &["integer", "number"]),
        "exclusiveMaximum" => ("exclusive_max", "numbers", &["integer", "number"]),
        "multipleOf" => ("multiple_of", "numbers", &["integer", "number"]),
        "minLength" => ("min_length", "strings", &["string"]),
        "maxLength" => ("max_length", "strings", &["string"]),
        "pattern" => ("pattern", "strings", &["string"]),
        "format" => ("format", "strings", &["string"]),
        "minItems" => ("min_items", "lists", &["array"]),
        "maxItems" => ("max_items", "lists", &["array"]),
        "uniqueItems" => ("unique_items", "lists", &["array"]),
        _ => return None,
    };
    let fits = expected == "value" || expected.split(" or ").any(|one| types.contains(&one));
    (!fits).then(|| format!("`{key}` is for {of}, and the argument `{name}` is of type {expected}"))
}

/// The mistake of a keyword that allows what the type itself does not.
pub(super) fn contradiction(name: &str, keyword: &str, value: &Value, own: &Map<String, Value>) -> Option<String> {
    let bound = || Some((Number::of(value)?, Number::of(own.get(keyword)?)?));
    match keyword {
        "minimum" => bound().filter(|(given, own)| given.compare(*own).is_lt()).map(|(given, own)| {
            format!("`min` of the argument `{name}` is {given}, and its type has nothing below {own}")
        }),
        "maximum" => bound().filter(|(given, own)| given.compare(*own).is_gt()).map(|(given, own)| {
            format!("`max` of the argument `{name}` is {given}, and its type has nothing above {own}")
        }),
        "enum" => {
            let (given, own) = (value.as_array()?, own.get("enum")?.as_array()?);
            let stranger = to_text(given.iter().find(|value| !own.contains(value))?);
            Some(format!("`one_of` of the argument `{name}` has {stranger}, which is not a value of its type"))
        }
        "format" => {
            let format = value.as_str().filter(|format| Format::named(format).is_none())?;
            Some(format!("`format` of the argument `{name}` is `{format}`, which cannot be checked; use a `pattern`"))
        }
        _ => None,
    }
}
