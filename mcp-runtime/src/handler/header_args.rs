//! Tool arguments mirrored in HTTP headers: finding them in a schema, and comparing their values.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header>
#![cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has headers to compare"))]

use std::fmt;

use serde_json::Value;

use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::{Raw, type_of};

/// An argument that a header mirrors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderArg {
    /// The header's name without the protocol's prefix, in lower case.
    pub(crate) header: String,
    /// The keys that lead to the argument.
    path: Vec<String>,
}

/// A value in the body that a header mirrors.
#[derive(Debug, PartialEq)]
pub(crate) enum MirroredValue {
    Text(String),
    Whole(i128),
    Number(f64),
    Flag(bool),
}

/// The arguments of a schema that headers mirror, or why one of them cannot be mirrored.
pub(crate) fn header_args(schema: &Value) -> Result<Vec<HeaderArg>, String> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    for (index, arg) in found.iter().enumerate() {
        if found[..index].iter().any(|other| other.header == arg.header) {
            return Err(format!("two arguments have the header `{}`", arg.header));
        }
    }
    Ok(found)
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<HeaderArg>) -> Result<(), String> {
    let Some(Value::Object(properties)) = schema.get("properties") else { return Ok(()) };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property.get("x-mcp-header") {
            let kind = property.get("type").and_then(Value::as_str).unwrap_or("a mix of types");
            if !matches!(kind, "string" | "integer" | "boolean") {
                return Err(format!(
                    "`{}` has a header, so its type must be string, integer or boolean, not {kind}",
                    path.join(".")
                ));
            }
            let header = header.as_str().unwrap_or_default().to_ascii_lowercase();
            found.push(HeaderArg { header, path: path.clone() });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

impl HeaderArg {
    /// The value in a call's arguments, unless it is absent or null.
    pub(crate) fn value(&self, arguments: Option<Raw<'_>>) -> Option<MirroredValue> {
        let mut raw = arguments?;
        for key in &self.path {
            let object = Object::read(raw).ok()?;
            raw = object.get(key)?;
        }
        let text = raw.get();
        match type_of(text) {
            "string" => serde_json::from_str(text).ok().map(MirroredValue::Text),
            "boolean" => Some(MirroredValue::Flag(text == "true")),
            // Exact where possible: a double cannot distinguish large integers.
            "integer" | "number" => match text.parse() {
                Ok(whole) => Some(MirroredValue::Whole(whole)),
                Err(_) => text.parse().ok().map(MirroredValue::Number),
            },
            // Null counts as absent. Other types violate the schema, which is checked elsewhere.
            _ => None,
        }
    }
}

impl MirroredValue {
    /// Whether a header has the same value.
    pub(crate) fn equals(&self, header: &str) -> bool {
        match self {
            MirroredValue::Text(text) => text == header,
            MirroredValue::Flag(flag) => header == if *flag { "true" } else { "false" },
            MirroredValue::Whole(whole) => match header.parse::<i128>() {
                Ok(other) => other == *whole,
                // `42.0` equals `42`.
                Err(_) => header.split_once('.').is_some_and(|(digits, zeros)| {
                    zeros.bytes().all(|digit| digit == b'0') && digits.parse() == Ok(*whole)
                }),
            },
            #[expect(clippy::float_cmp, reason = "whole numbers that a header can mirror are exact")]
            MirroredValue::Number(number) => header.parse::<f64>().is_ok_and(|other| other == *number),
        }
    }
}

impl fmt::Display for MirroredValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MirroredValue::Text(text) => write!(f, "{text:?}"),
            MirroredValue::Whole(number) => write!(f, "{number}"),
            MirroredValue::Number(number) => write!(f, "{number}"),
            MirroredValue::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn header_args_are_found_and_compared() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "plain": {"type": "string"},
        }});
        let found = header_args(&schema).unwrap();
        let arguments = Raw::new_unchecked(r#"{"region":"eu","deep":{"n":42.0}}"#);
        let values: Vec<_> = found.iter().map(|arg| (&*arg.header, arg.value(Some(arguments)).unwrap())).collect();
        assert_eq!(values, [("region", MirroredValue::Text("eu".into())), ("n", MirroredValue::Number(42.0))]);
        assert!(values[1].1.equals("42") && !values[1].1.equals("43"));
        let absent = Raw::new_unchecked(r#"{"region":null}"#);
        assert!(found.iter().all(|arg| arg.value(Some(absent)).is_none()));
    }

    #[test]
    fn unsupported_header_args_are_rejected() {
        let of = |property: Value| header_args(&json!({"properties": {"x": property}}));
        assert!(of(json!({"type": "number", "x-mcp-header": "X"})).is_err());
        assert!(of(json!({"type": ["string", "null"], "x-mcp-header": "X"})).is_err());
        let twice = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "X"}, "b": {"type": "string", "x-mcp-header": "x"}}});
        assert!(header_args(&twice).unwrap_err().contains("two arguments"));
    }
}
