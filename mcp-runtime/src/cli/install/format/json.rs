//! JSON with comments, edited in `jsonc-parser`'s syntax tree.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::unreadable::Unreadable;

/// Comments and trailing commas, as the settings of editors have them; nothing else that is not JSON.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn tree(text: &str) -> Result<CstRootNode, Unreadable> {
    CstRootNode::parse(text, &OPTIONS)
        .map_err(|error| Unreadable::at(error.line_display(), error.column_display(), error.kind()))
}

pub(super) fn parse(text: &str) -> Result<Value, Unreadable> {
    let tree = tree(text)?;
    match tree.value() {
        Some(value) => value.to_serde_value().ok_or_else(|| Unreadable::at(1, 1, "expected JSON")),
        None => Ok(Value::Null),
    }
}

pub(super) fn set(text: &str, table: &str, name: &str, entry: &Map<String, Value>) -> Result<String, Unreadable> {
    let tree = tree(if text.trim().is_empty() { "{}\n" } else { text })?;
    let entries = match tree.object_value_or_set().get(table) {
        Some(property) => property.object_value_or_set(),
        None => tree.object_value_or_set().object_value_or_set(table),
    };
    match entries.get(name) {
        Some(property) => match property.object_value() {
            Some(object) => reconcile(&object, entry),
            None => property.set_value(input(&Value::Object(entry.clone()))),
        },
        None => {
            entries.append(name, input(&Value::Object(entry.clone())));
        }
    }
    Ok(tree.to_string())
}

pub(super) fn remove(text: &str, table: &str, name: &str) -> Result<String, Unreadable> {
    let tree = tree(text)?;
    let entries = tree.object_value().and_then(|root| root.object_value(table));
    let Some(property) = entries.and_then(|entries| entries.get(name)) else { return Ok(text.to_owned()) };
    // the tree would remove comments in the same line, too
    let start = offset(&property.clone().into());
    let mut end = start + property.to_string().len();
    let mut text = text.to_owned();
    match property.trailing_comma() {
        Some(comma) => {
            let comma = offset(&comma.into());
            text.remove(comma);
            // a comment may be between them
            end = if text[end..comma].trim().is_empty() { comma } else { end };
        }
        None => {
            if let Some(comma) = property.previous_siblings().find(CstNode::is_comma) {
                text.remove(offset(&comma));
                return Ok(cut(&text, start - 1, end - 1));
            }
        }
    }
    Ok(cut(&text, start, end))
}

/// Where a node begins in the text.
fn offset(node: &CstNode) -> usize {
    let before: usize = node.previous_siblings().map(|sibling| sibling.to_string().len()).sum();
    before + node.parent().map_or(0, |parent| offset(&parent.into()))
}

/// The text without a range: with its lines if nothing else is in them, or else with the spaces before it.
fn cut(text: &str, start: usize, end: usize) -> String {
    let blank = |letter: char| letter == ' ' || letter == '\t';
    let (before, after) = (text[..start].trim_end_matches(blank), text[end..].trim_start_matches(blank));
    let whole = before.ends_with('\n').then(|| after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')));
    match whole.flatten() {
        Some(after) => format!("{before}{after}"),
        None => format!("{before}{}", &text[end..]),
    }
}

/// Makes an object equal to `wanted`. Members that are equal already keep their text, and the comments in it.
fn reconcile(object: &CstObject, wanted: &Map<String, Value>) {
    for property in object.properties() {
        if property.decoded_name().is_none_or(|name| !wanted.contains_key(&name)) {
            property.remove();
        }
    }
    for (name, value) in wanted {
        let Some(property) = object.get(name) else {
            object.append(name, input(value));
            continue;
        };
        match (property.object_value(), value) {
            (Some(inner), Value::Object(wanted)) => reconcile(&inner, wanted),
            _ if property.to_serde_value().as_ref() == Some(value) => {}
            _ => property.set_value(input(value)),
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
