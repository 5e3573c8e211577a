//! JSON that was read before: taken apart where it is needed, without being checked again.
//!
//! A frame is read once, by serde, which finds every mistake. What is inside it is looked into several
//! times (`params`, then `_meta`, then who the client is), and to serde each time would be the first.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The text of a JSON value that is known to be one, without white space around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raw<'a>(&'a str);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Raw(raw.get()))
    }
}

impl<'a> Raw<'a> {
    /// The value of a text somebody has read, or written, as JSON before.
    pub(crate) fn new_unchecked(text: &'a str) -> Self {
        Raw(text)
    }

    pub(crate) fn get(self) -> &'a str {
        self.0
    }

    /// The name JSON Schema gives its type.
    pub(crate) fn kind(self) -> &'static str {
        type_of(self.0)
    }

    /// What it says, if it is a string. Without escapes that is there already.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let plain = self.0.strip_prefix('"')?.strip_suffix('"')?;
        match memchr::memchr(b'\\', plain.as_bytes()) {
            None => Some(Cow::Borrowed(plain)),
            Some(_) => serde_json::from_str(self.0).ok().map(Cow::Owned),
        }
    }

    /// The members of an object in their order, a key perhaps more than once; nothing of anything else.
    pub(crate) fn members(self) -> Members<'a> {
        // Anything else has no member where one would have to be.
        Members { text: self.0, at: usize::from(self.0.starts_with('{')) }
    }
}

/// The members of an object that are still to come, and where they begin.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Members<'a> {
    /// The next key, behind which a value is to be taken.
    pub(crate) fn key(&mut self) -> Option<Result<Cow<'a, str>, serde_json::Error>> {
        self.pass(b',');
        let start = self.at;
        if self.text.as_bytes().get(start) != Some(&b'"') {
            return None;
        }
        let (end, escaped) = string(self.text.as_bytes(), start)?;
        self.at = end;
        self.pass(b':');
        if escaped {
            return self.text.get(start..end).map(|key| serde_json::from_str(key).map(Cow::Owned));
        }
        self.text.get(start + 1..end - 1).map(|key| Ok(Cow::Borrowed(key)))
    }

    /// The value of the key just taken.
    pub(crate) fn value(&mut self) -> Option<Raw<'a>> {
        let start = self.at;
        self.at = value_end(self.text.as_bytes(), start)?;
        self.text.get(start..self.at).map(Raw)
    }

    /// The value of the key just taken, if it is an object, and what `read` makes of its members. It has to take
    /// them all, so that nobody need pass over them first.
    pub(crate) fn object<T>(&mut self, read: impl FnOnce(&mut Members<'a>) -> T) -> Option<(Raw<'a>, T)> {
        let start = self.at;
        let is = |byte: u8, at: usize| self.text.as_bytes().get(at) == Some(&byte);
        if !is(b'{', start) {
            return None;
        }
        let mut inner = Members { text: self.text, at: start + 1 };
        let made = read(&mut inner);
        if !is(b'}', inner.at) {
            return None;
        }
        self.at = inner.at + 1;
        self.text.get(start..self.at).map(|text| (Raw(text), made))
    }

    /// Passes a mark, and the white space around it.
    fn pass(&mut self, mark: u8) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| **byte == mark || **byte <= b' ').count();
    }
}

impl<'a> Iterator for Members<'a> {
    /// A key may be a string nobody can hold: half of a character, written as an escape.
    type Item = Result<(Cow<'a, str>, Raw<'a>), serde_json::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = (self.key()?, self.value()?);
        Some(key.map(|key| (key, value)))
    }
}

/// Where the value is over that begins at `start`.
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
            // Between the members of what is inside.
            b',' | b':' | 0..=b' ' => {
                at += 1;
                continue;
            }
            _ => {
                // Up to white space, a comma or a closing bracket, of which the two differ in one bit.
                let plain = |byte: &&u8| **byte > b' ' && **byte != b',' && **byte | 0x20 != b'}';
                at += text[at..].iter().take_while(plain).count();
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The name JSON Schema gives the type of the value `raw` begins with, for error texts.
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

/// Where the JSON string that begins at `start` of `text` is over, if it is.
pub(crate) fn string_end(text: &[u8], start: usize) -> Option<usize> {
    string(text, start).map(|(end, _)| end)
}

/// The same, and whether there are escapes in it.
fn string(text: &[u8], start: usize) -> Option<(usize, bool)> {
    let (mut at, mut escaped) = (start + 1, false);
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some((at + 1, escaped));
        }
        escaped = true;
        at += 2; // a backslash and what it escapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_ends_at_its_quote() {
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
    fn the_text_of_strings() {
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
    fn members_of_what_is_no_object() {
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
