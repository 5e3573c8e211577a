//! [`Raw`]: JSON text that has been validated before, taken apart without validating it again.
//!
//! serde validates each frame once. Its parts are then read several times (`params`, `_meta`, `clientInfo`); serde
//! would validate them each time, and `serde_json` has no reader for text that is known to be valid. So the parts are
//! cut where strings and brackets end, which halves the cost of a 2026-07-28 envelope (figures: `benches/README.md`).
//! A property test and a fuzz target compare the cuts with what serde reads.

use std::borrow::Cow;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The text of a valid JSON value, without whitespace around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raw<'a>(&'a str);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Raw(raw.get()))
    }
}

impl<'a> Raw<'a> {
    /// A value from text that has been read or written as JSON before. Other text yields wrong values, not a panic.
    pub(crate) fn new_unchecked(text: &'a str) -> Self {
        Raw(text)
    }

    pub(crate) fn get(self) -> &'a str {
        self.0
    }

    /// The JSON Schema name of its type.
    pub(crate) fn kind(self) -> &'static str {
        type_of(self.0)
    }

    /// The string's content, if it is a string. Borrowed unless it has escapes.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let plain = self.0.strip_prefix('"')?.strip_suffix('"')?;
        match memchr::memchr(b'\\', plain.as_bytes()) {
            None => Some(Cow::Borrowed(plain)),
            Some(_) => serde_json::from_str(self.0).ok().map(Cow::Owned),
        }
    }

    /// The members of an object, in order and with duplicate keys. Other values have no members.
    pub(crate) fn members(self) -> Members<'a> {
        // `Members::key` finds no key at the beginning of any other value.
        Members { text: self.0, at: usize::from(self.0.starts_with('{')) }
    }
}

/// The JSON text of a value. Its `Display` says the same, but has two serializers of its own (the other one indents),
/// 15 KB of every server.
pub(crate) fn to_text(value: &Value) -> String {
    // Writing a value to memory cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// A value that is known. `json!` is code for every member; this is text, for what is rarely needed.
pub(crate) fn constant(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

/// Reads JSON from bytes. They become text first: `from_slice` would be a second parser in every server.
pub(crate) fn from_bytes<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    serde_json::from_str(std::str::from_utf8(json).ok()?).ok()
}

/// An iterator over the members of an object.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Members<'a> {
    /// The next key. The caller takes its value next.
    pub(crate) fn key(&mut self) -> Option<Result<Cow<'a, str>, serde_json::Error>> {
        self.skip(b',');
        let start = self.at;
        if self.text.as_bytes().get(start) != Some(&b'"') {
            return None;
        }
        let (end, escaped) = string(self.text.as_bytes(), start)?;
        self.at = end;
        self.skip(b':');
        if escaped {
            return self.text.get(start..end).map(|key| serde_json::from_str(key).map(Cow::Owned));
        }
        self.text.get(start + 1..end - 1).map(|key| Ok(Cow::Borrowed(key)))
    }

    /// The value of the current key.
    pub(crate) fn value(&mut self) -> Option<Raw<'a>> {
        let start = self.at;
        self.at = value_end(self.text.as_bytes(), start)?;
        self.text.get(start..self.at).map(Raw)
    }

    /// The value of the current key, if it is an object, with the result of `read`. `read` has to take all its
    /// members: this finds the end of the object in the same pass.
    pub(crate) fn object<T>(&mut self, read: impl FnOnce(&mut Members<'a>) -> T) -> Option<(Raw<'a>, T)> {
        let start = self.at;
        let is = |byte: u8, at: usize| self.text.as_bytes().get(at) == Some(&byte);
        if !is(b'{', start) {
            return None;
        }
        let mut inner = Members { text: self.text, at: start + 1 };
        let result = read(&mut inner);
        if !is(b'}', inner.at) {
            return None;
        }
        self.at = inner.at + 1;
        self.text.get(start..self.at).map(|text| (Raw(text), result))
    }

    /// Skips a separator and the whitespace around it.
    fn skip(&mut self, separator: u8) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| **byte == separator || **byte <= b' ').count();
    }
}

impl<'a> Iterator for Members<'a> {
    /// A key may be undecodable: an escaped surrogate without its pair.
    type Item = Result<(Cow<'a, str>, Raw<'a>), serde_json::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = (self.key()?, self.value()?);
        Some(key.map(|key| (key, value)))
    }
}

/// The end of the value that begins at `start`.
fn value_end(text: &[u8], start: usize) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, start);
    loop {
        match text.get(at)? {
            b'"' => at = string_end(text, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            // Separators inside a nested value.
            b',' | b':' | 0..=b' ' => {
                at += 1;
                continue;
            }
            _ => {
                // Up to whitespace, a comma or a closing bracket; the two brackets differ in one bit.
                let plain = |byte: &&u8| **byte > b' ' && **byte != b',' && **byte | 0x20 != b'}';
                at += text[at..].iter().take_while(plain).count();
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The JSON Schema name of the type of the value that `raw` begins with, for error texts.
pub(crate) fn type_of(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        Some(_) => {
            let number = raw.split([',', '}', ']']).next().unwrap_or(raw);
            if number.contains(['.', 'e', 'E']) { "number" } else { "integer" }
        }
        None => "missing",
    }
}

/// The end of the JSON string that begins at `start`, if it is closed.
pub(crate) fn string_end(text: &[u8], start: usize) -> Option<usize> {
    string(text, start).map(|(end, _)| end)
}

/// The end of the JSON string that begins at `start`, and whether it has escapes.
fn string(text: &[u8], start: usize) -> Option<(usize, bool)> {
    let (mut at, mut escaped) = (start + 1, false);
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some((at + 1, escaped));
        }
        escaped = true;
        at += 2; // the backslash and the escaped byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_an_unescaped_quote() {
        for (text, end) in [
            (r#""","#, Some(2)),
            (r#""a" ""#, Some(3)),
            (r#""\\""#, Some(4)),
            (r#""\"x","#, Some(5)),
            (r#""\\\"""#, Some(6)),
            (r#""a"#, None),
            (r#""\"#, None),
            (r#""\""#, None),
            (r#"""#, None),
        ] {
            assert_eq!(string_end(text.as_bytes(), 0), end, "{text}");
        }
        assert_eq!(string_end(br#"["a"]"#, 1), Some(4));
    }

    #[test]
    fn strings_are_unescaped() {
        let read = |json: &str| serde_json::from_str::<Raw<'_>>(json).unwrap().text().map(Cow::into_owned);
        for (json, text) in
            [(r#""""#, ""), (r#" "add" "#, "add"), (r#""a\"b""#, "a\"b"), (r#""\u0061""#, "a"), (r#""–""#, "–")]
        {
            assert_eq!(read(json).as_deref(), Some(text), "{json}");
        }
        for json in ["null", "1", "{}", "[\"a\"]", r#""\ud800""#] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    #[test]
    fn other_values_have_no_members() {
        for text in [
            "",
            "{",
            "}",
            "{}",
            "[]",
            "[{\"a\":1}]",
            "1",
            "null",
            "\"{\"",
            "{ }",
            "{a",
            "{\"a",
            "{\"a\":",
            "{1:2}",
            "{]",
        ] {
            assert_eq!(Raw::new_unchecked(text).members().count(), 0, "{text}");
        }
        let mut half = Raw::new_unchecked(r#"{"\ud800":1,"a":2}"#).members();
        assert!(half.next().unwrap().is_err());
        assert_eq!(half.next().unwrap().unwrap().0, "a");
    }
}
