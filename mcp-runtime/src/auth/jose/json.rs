//! The JSON of tokens and key sets, from strangers: bounded depth, no duplicate members, read where it is used.

use std::borrow::Cow;

use crate::jsonrpc::depth;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;

/// Deeper than any claim in use; arrays of `authorization_details` have about six.
const MAX_DEPTH: usize = 24;

/// The members of a JSON object. `None` if it is none, is nested too deep, or has a member twice.
pub(crate) fn object(text: &str) -> Option<Object<'_>> {
    if depth::exceeds(text.as_bytes(), MAX_DEPTH) {
        return None;
    }
    inner_object(serde_json::from_str(text).ok()?)
}

/// The members of an object that is part of another.
pub(crate) fn inner_object(raw: Raw<'_>) -> Option<Object<'_>> {
    Object::read(raw).ok()
}

/// The elements of an array.
pub(crate) fn elements(raw: Raw<'_>) -> Option<Vec<Raw<'_>>> {
    serde_json::from_str(raw.get()).ok()
}

/// A string member that may be absent; an error if it is something else.
pub(crate) fn optional_text<'a>(object: &Object<'a>, key: &str) -> Result<Option<Cow<'a, str>>, NotText> {
    match object.get(key) {
        None => Ok(None),
        Some(raw) => raw.text().map(Some).ok_or(NotText),
    }
}

/// A member that should be a string is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotText;

/// A member that is a string, or a list of strings.
pub(crate) fn texts(raw: Raw<'_>) -> Option<Vec<Cow<'_, str>>> {
    match raw.kind() {
        "string" => Some(vec![raw.text()?]),
        "array" => elements(raw)?.into_iter().map(Raw::text).collect(),
        _ => None,
    }
}

/// A `NumericDate` (RFC 7519 §2) in whole seconds; fractions are dropped.
pub(crate) fn date(raw: Raw<'_>) -> Option<u64> {
    /// The end of the year 9999.
    const LAST: f64 = 253_402_300_800.0;
    let seconds: f64 = matches!(raw.kind(), "integer" | "number").then(|| raw.get().parse().ok())??;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    (0.0..LAST).contains(&seconds).then_some(seconds as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_bounded_and_unambiguous() {
        assert!(object(r#" {"a":1,"b":[{}]} "#).is_some());
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(object(&nested(MAX_DEPTH - 1)).is_some());
        assert!(object(&nested(MAX_DEPTH)).is_none());
        for other in ["", "[]", "1", "{", r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#, r#"{"a":1}{}"#, "{\"a\":01}"] {
            assert!(object(other).is_none(), "{other}");
        }
    }

    #[test]
    fn dates_are_numbers_in_range() {
        let read = |text: &str| date(Raw::new_unchecked(text));
        for (text, seconds) in [("0", 0), ("1700000000", 1_700_000_000), ("1.7e9", 1_700_000_000), ("5.9", 5)] {
            assert_eq!(read(text), Some(seconds), "{text}");
        }
        for other in ["-1", "1e300", "\"1700000000\"", "null", "true", "[1]", "253402300800"] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn texts_are_strings_or_lists_of_them() {
        let read = |text| texts(Raw::new_unchecked(text)).map(|texts| texts.join("|"));
        assert_eq!(read(r#""a b""#).unwrap(), "a b");
        assert_eq!(read(r#"["a", "b"]"#).unwrap(), "a|b");
        assert_eq!(read("[]").unwrap(), "");
        for other in [r#"["a",1]"#, "{}", "null", "1"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
