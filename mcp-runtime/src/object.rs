//! JSON objects of the protocol, read one level deep and no further.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::RpcError;

/// A JSON object read one level deep: its keys, each with its raw value, in the sender's order.
///
/// The one shape for `params`, `arguments` and `_meta`: values are decoded where they are used,
/// straight into the type that is wanted there.
#[derive(Debug, Default)]
pub(crate) struct Object<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// The first value under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.members.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.members.iter().map(|(name, value)| (&**name, *value))
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Members(members) = Members::deserialize(deserializer)?;
        match duplicate(&members) {
            Some(name) => Err(D::Error::custom(format_args!("`{name}` is there twice"))),
            None => Ok(Object { members }),
        }
    }
}

/// The members of an object as they came, a key perhaps more than once.
pub(crate) struct Members<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(4);
                while let Some(Key(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A key that is there twice: readers disagree on which value counts, so neither does here.
fn duplicate<'m>(members: &'m [(Cow<'_, str>, &RawValue)]) -> Option<&'m str> {
    const FEW: usize = 16;
    if members.len() > FEW {
        let mut seen = HashSet::with_capacity(members.len());
        return members.iter().map(|(name, _)| &**name).find(|name| !seen.insert(*name));
    }
    let earlier = |at: usize| members[..at].iter().any(|(name, _)| *name == members[at].0);
    (1..members.len()).find(|at| earlier(*at)).map(|at| &*members[at].0)
}

/// An object of the protocol that may be absent: `params`, `arguments`, `_meta`.
pub(crate) fn members<'a>(name: &str, raw: Option<&'a RawValue>) -> Result<Object<'a>, RpcError> {
    match raw.map(RawValue::get) {
        None | Some("null") => Ok(Object::default()),
        Some(raw) => serde_json::from_str(raw).map_err(|error| match type_of(raw) {
            "object" => {
                let why = crate::error::without_position(&error);
                RpcError::invalid_request(&format!("`{name}`: {why}"))
            }
            other => RpcError::wrong_field(name, "object", other),
        }),
    }
}

/// A string that borrows from the frame unless it has escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Key<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The text of a value that is a string. Without escapes it is there already, checked when the frame was read.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let raw = raw.get();
    match raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if memchr::memchr(b'\\', plain.as_bytes()).is_none() => Some(Cow::Borrowed(plain)),
        Some(_) => serde_json::from_str(raw).ok().map(|Key(text)| text),
        None => None,
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
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
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
        let read = |json: &str| text(serde_json::from_str(json).unwrap()).map(Cow::into_owned);
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
    fn a_key_is_there_once() {
        for count in [2, 40] {
            let members: Vec<String> = (0..count).map(|n| format!(r#""k{n}":0"#)).collect();
            let unique = format!("{{{}}}", members.join(","));
            assert!(serde_json::from_str::<Object<'_>>(&unique).is_ok());
            let twice = format!("{{{},\"k1\":1}}", members.join(","));
            assert!(serde_json::from_str::<Object<'_>>(&twice).unwrap_err().to_string().contains("`k1`"));
        }
    }
}
