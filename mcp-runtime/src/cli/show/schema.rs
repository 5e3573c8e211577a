//! JSON Schemas for people: which types a value may have, in the words of a signature.

use serde_json::Value;

/// The schema itself, after its references. Those that lead nowhere, or in circles, stay.
pub(crate) fn resolve<'s>(root: &'s Value, mut schema: &'s Value) -> &'s Value {
    for _ in 0..16 {
        let target = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(found) => schema = found,
            None => break,
        }
    }
    schema
}

/// The schema and its variants, at any depth. A schema may refer to itself, and comes from a server: each is visited once.
pub(crate) fn variants<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    let mut found: Vec<&Value> = vec![resolve(root, schema)];
    let mut at = 0;
    while let Some(schema) = found.get(at).copied() {
        for variant in ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten() {
            let variant = resolve(root, variant);
            if found.len() < VARIANTS && !found.iter().any(|known| std::ptr::eq(*known, variant)) {
                found.push(variant);
            }
        }
        at += 1;
    }
    found
}

/// More variants than a person reads.
const VARIANTS: usize = 200;

/// The names of the types a value may have, without repetition. None: any.
pub(crate) fn types<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s str> {
    let mut found = Vec::new();
    for schema in variants(root, schema) {
        let names: Vec<&str> = match &schema["type"] {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => schema["enum"].as_array().into_iter().flatten().chain(schema.get("const")).map(type_of).collect(),
        };
        for name in names {
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The choices, if the value is one of a list.
pub(crate) fn choices(root: &Value, schema: &Value) -> Option<Vec<Value>> {
    let schema = resolve(root, schema);
    if let Some(values) = schema["enum"].as_array() {
        return Some(values.clone());
    }
    let variants = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())?;
    let values: Vec<Value> = variants
        .iter()
        .map(|variant| resolve(root, variant))
        .filter(|variant| variant["type"] != "null")
        .map(|variant| match variant["enum"].as_array() {
            Some(values) => values.clone(),
            None => variant.get("const").cloned().into_iter().collect(),
        })
        .map(|values| if values.is_empty() { vec![Value::Null] } else { values })
        .collect::<Vec<_>>()
        .concat();
    (!values.is_empty() && !values.contains(&Value::Null)).then_some(values)
}

/// A type as a signature has it: `integer`, `string[]`, `"metric" | "imperial"`.
pub(crate) fn type_text(root: &Value, schema: &Value) -> String {
    type_in(root, schema, 0)
}

fn type_in(root: &Value, schema: &Value, depth: usize) -> String {
    if let Some(choices) = choices(root, schema) {
        return choices.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    let schema = resolve(root, schema);
    let mut names: Vec<String> = types(root, schema)
        .into_iter()
        .filter(|name| *name != "null")
        .map(|name| match name {
            "array" if depth < 3 => match array_items(root, schema) {
                Some(items) => listed(&type_in(root, items, depth + 1)),
                None => "array".to_owned(),
            },
            name => name.to_owned(),
        })
        .collect();
    if names.is_empty() {
        names.push("any".to_owned());
    }
    names.join(" | ")
}

fn array_items<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    variants(root, schema).into_iter().find_map(|variant| variant.get("items").filter(|items| items.is_object()))
}

fn listed(item: &str) -> String {
    if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_are_told_in_few_words() {
        let root = json!({"$defs": {"Unit": {"enum": ["m", "ft"]}, "Loop": {"$ref": "#/$defs/Loop"}}});
        for (schema, expected) in [
            (json!({"type": "integer"}), "integer"),
            (json!({"type": ["string", "null"]}), "string"),
            (json!({"type": "array", "items": {"type": "string"}}), "string[]"),
            (json!({"type": "array", "items": {"$ref": "#/$defs/Unit"}}), "(\"m\" | \"ft\")[]"),
            (json!({"anyOf": [{"$ref": "#/$defs/Unit"}, {"type": "null"}]}), "\"m\" | \"ft\""),
            (json!({"oneOf": [{"const": "a"}, {"const": "b"}]}), "\"a\" | \"b\""),
            (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), "integer | string"),
            (json!({"type": "object"}), "object"),
            (json!({}), "any"),
            (json!({"$ref": "#/$defs/Loop"}), "any"),
        ] {
            assert_eq!(type_text(&root, &schema), expected, "{schema}");
        }
    }
}
