//! Error locations: the path to the value that failed to decode, from the position in serde's error.
//!
//! Runs only after an error, and adds no second deserializer per type, which would cost users
//! compile time.

use std::borrow::Cow;

use crate::jsonrpc::raw::string_end;

/// The value that could not be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Located<'a> {
    /// Keys and indices from the argument down, joined by dots; empty for the argument itself.
    pub(crate) path: String,
    /// The JSON text from that value on.
    pub(crate) value: &'a str,
}

/// An object or array that contains the current position.
enum Level {
    Object { key: String, in_value: bool },
    Array { index: usize },
}

/// The value at, or just before, the position of `error` in `raw`.
pub(crate) fn locate<'a>(raw: &'a str, error: &serde_json::Error) -> Located<'a> {
    let lines_before: usize = raw.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let end = (lines_before + error.column()).min(raw.len());
    let bytes = raw.as_bytes();
    let mut open: Vec<(Level, usize)> = Vec::new();
    let (mut at, mut value) = (0, None);
    while at < end {
        let start = at;
        at += 1;
        match bytes[start] {
            b'{' => open.push((Level::Object { key: String::new(), in_value: false }, start)),
            b'[' => open.push((Level::Array { index: 0 }, start)),
            b'}' | b']' => value = open.pop().map(|(_, start)| start),
            b':' | b',' => {
                value = None;
                if let Some((level, _)) = open.last_mut() {
                    level.step();
                }
            }
            b'"' => {
                at = string_end(bytes, start).unwrap_or(raw.len());
                match open.last_mut() {
                    Some((Level::Object { key, in_value: false }, _)) => {
                        *key = serde_json::from_str(&raw[start..at]).unwrap_or_default();
                    }
                    _ => value = Some(start),
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => value = value.or(Some(start)),
        }
    }
    let names = open.iter().map(|(level, _)| level.name());
    let path = names.collect::<Vec<_>>().join(".");
    Located { path, value: raw.get(value.unwrap_or(end)..).unwrap_or_default().trim_start() }
}

impl Level {
    /// Moves past a `:` or a `,`.
    fn step(&mut self) {
        match self {
            Level::Object { in_value, .. } => *in_value = !*in_value,
            Level::Array { index } => *index += 1,
        }
    }

    fn name(&self) -> String {
        match self {
            Level::Object { key, .. } => key.clone(),
            Level::Array { index } => index.to_string(),
        }
    }
}

/// Type names: serde's, the one in error messages, and JSON Schema's.
const TYPE_NAMES: [(&str, &str, &str); 21] = [
    ("i8", "an integer from -128 to 127", "integer"),
    ("i16", "an integer from -32768 to 32767", "integer"),
    ("i32", "an integer from -2147483648 to 2147483647", "integer"),
    ("i64", "an integer", "integer"),
    ("i128", "an integer", "integer"),
    ("isize", "an integer", "integer"),
    ("u8", "an integer from 0 to 255", "integer"),
    ("u16", "an integer from 0 to 65535", "integer"),
    ("u32", "an integer from 0 to 4294967295", "integer"),
    ("u64", "an integer of at least 0", "integer"),
    ("u128", "an integer of at least 0", "integer"),
    ("usize", "an integer of at least 0", "integer"),
    ("f32", "a number", "number"),
    ("f64", "a number", "number"),
    ("a string", "a string", "string"),
    ("a character", "a character", "string"),
    ("a boolean", "a boolean", "boolean"),
    ("a sequence", "a list", "array"),
    ("a map", "an object", "object"),
    ("unit", "null", "null"),
    ("path string", "a path", "string"),
];

/// Rewrites serde's error without the names of Rust types.
pub(crate) fn plain(error: &str) -> String {
    let Some((before, expected)) = error.rsplit_once("expected ") else { return error.to_owned() };
    match TYPE_NAMES.iter().find(|(serde, ..)| *serde == expected) {
        Some((_, plain, _)) => format!("{before}expected {plain}"),
        None if expected.starts_with("struct ") => format!("{before}expected an object"),
        None => error.to_owned(),
    }
}

/// The expected type in a plain error, by its name in JSON Schema where there is one.
pub(crate) fn expected(error: &str) -> Option<Cow<'static, str>> {
    let (_, expected) = error.rsplit_once("expected ")?;
    Some(match TYPE_NAMES.iter().find(|(_, plain, _)| *plain == expected) {
        Some((.., schema)) => Cow::Borrowed(*schema),
        None => Cow::Owned(expected.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "the test reads only its errors")]
    struct Point {
        x: f64,
        tags: Vec<String>,
    }

    fn found(raw: &str) -> (String, String) {
        let error = serde_json::from_str::<Vec<Point>>(raw).unwrap_err();
        let Located { path, value } = locate(raw, &error);
        (path, value.to_owned())
    }

    #[test]
    fn path_leads_to_the_wrong_value() {
        assert_eq!(found(r#"[{"x": "no", "tags": []}]"#).0, "0.x");
        assert!(found(r#"[{"x": "no", "tags": []}]"#).1.starts_with("\"no\""));
        assert_eq!(found(r#"[{"x": 1, "tags": ["a,]}", 5]}]"#).0, "0.tags.1");
        assert_eq!(found("[{\"x\": 1,\n \"tags\": [\"\\\"\", [5]]}]").0, "0.tags.1");
        assert!(found(r#"[{"x": 1, "tags": [{"y": 2}]}]"#).1.starts_with('{'));
        assert_eq!(found(r#"[{"x": 1, "tags": []}, {"x": 2}]"#).0, "1");
        assert!(found(r#"[{"x": 1, "tags": []}, {"x": 2}]"#).1.starts_with("{\"x\": 2}"));
        assert_eq!(found(r#"[{"x": 1, "tags": []}, true]"#).0, "1");
        assert_eq!(found(r#""text""#).0, "");
    }

    #[test]
    fn errors_use_json_type_names() {
        let error = plain("invalid type: string \"x\", expected f64");
        assert_eq!(error, "invalid type: string \"x\", expected a number");
        assert_eq!(expected(&error).as_deref(), Some("number"));
        assert_eq!(plain("missing field `x`"), "missing field `x`");
        assert_eq!(plain("invalid type: map, expected struct Point"), "invalid type: map, expected an object");
    }
}
