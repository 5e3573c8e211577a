//! JSON written straight into the output buffer: [`ObjectWriter`] for objects, `write_json` for values.

use serde::Serialize;
use serde_json::Value;

use crate::jsonrpc::raw::from_bytes;

/// One JSON object being written. It places the commas; nothing is allocated but the buffer.
///
/// `tools/call` is written this way on its hot path, so every method is small enough to be inlined.
pub(super) struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl ObjectWriter<'_> {
    /// Appends an object with the members that `members` writes.
    #[inline]
    pub(super) fn write(out: &mut Vec<u8>, members: impl FnOnce(&mut ObjectWriter<'_>)) {
        out.push(b'{');
        members(&mut ObjectWriter { out, is_empty: true });
        out.push(b'}');
    }

    /// Appends a name of the protocol, which needs no escapes. The caller appends the value.
    ///
    /// Not inlined, unlike the others: 100 bytes each, and the hot path has [literals](Self::literal).
    #[inline(never)]
    pub(super) fn key(&mut self, name: &'static str) -> &mut Vec<u8> {
        self.out.extend_from_slice(if self.is_empty { b"\"" } else { b",\"" });
        self.is_empty = false;
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Appends the beginning of a member as it stands. The caller appends the rest.
    #[inline]
    pub(super) fn literal(&mut self, text: &'static str) -> &mut Vec<u8> {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        self.out.extend_from_slice(text.as_bytes());
        self.out
    }

    #[inline]
    pub(super) fn member<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) {
        write_json(self.key(name), value);
    }

    /// A member that is left out when there is no value.
    #[inline]
    pub(super) fn optional<T: Serialize + ?Sized>(&mut self, name: &'static str, value: Option<&T>) {
        if let Some(value) = value {
            self.member(name, value);
        }
    }

    /// A member whose value is JSON already.
    #[inline]
    pub(super) fn raw(&mut self, name: &'static str, json: &str) {
        self.key(name).extend_from_slice(json.as_bytes());
    }

    #[inline]
    pub(super) fn object(&mut self, name: &'static str, members: impl FnOnce(&mut ObjectWriter<'_>)) {
        ObjectWriter::write(self.key(name), members);
    }

    /// A list, each item appended by `write`.
    #[inline]
    pub(super) fn array<T>(
        &mut self,
        name: &'static str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Vec<u8>, T),
    ) {
        let out = self.key(name);
        out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write(out, item);
        }
        out.push(b']');
    }

    /// Members with names from outside of the protocol, which may need escapes.
    pub(super) fn extend<'m, T: Serialize + 'm>(&mut self, members: impl IntoIterator<Item = (&'m String, &'m T)>) {
        for (name, value) in members {
            if !self.is_empty {
                self.out.push(b',');
            }
            self.is_empty = false;
            write_json(self.out, name);
            self.out.push(b':');
            write_json(self.out, value);
        }
    }
}

/// Appends `value` as JSON. Writing to memory cannot fail. A value that cannot be serialized is a bug of this
/// crate: it is logged, and null is sent in its place.
pub(super) fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if let Err(error) = serde_json::to_writer(&mut *out, value) {
        tracing::error!(%error, "a value could not be written as JSON");
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// Appends a handler's value as JSON, on one line.
pub(super) fn write_handler_value<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    write_json(out, value);
    to_single_line(out, start);
}

/// Appends JSON that a handler's value was serialized to before, on one line.
pub(super) fn write_handler_json(out: &mut Vec<u8>, json: &str) {
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    to_single_line(out, start);
}

/// Removes newlines from the JSON that begins at `start`: a `RawValue` of a handler's may contain some, and over
/// stdio a newline ends the message.
fn to_single_line(out: &mut Vec<u8>, start: usize) {
    if memchr::memchr(b'\n', &out[start..]).is_some() {
        let value: Value = from_bytes(&out[start..]).unwrap_or_default();
        out.truncate(start);
        write_json(out, &value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;

    fn written(members: impl FnOnce(&mut ObjectWriter<'_>)) -> String {
        let mut out = Vec::new();
        ObjectWriter::write(&mut out, members);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn members_are_separated_by_commas() {
        assert_eq!(written(|_| {}), "{}");
        assert_eq!(written(|object| object.member("a", &1)), r#"{"a":1}"#);
        let json = written(|object| {
            object.optional("none", None::<&str>);
            object.raw("raw", "[ 1 ]");
            object.optional("some", Some("\"\n"));
            object.object("object", |inner| inner.object("empty", |_| {}));
            object.array("none", [0; 0], |out, item| write_json(out, &item));
            object.array("array", [1, 2], |out, item| write_json(out, &item));
            object.extend(json!({"b\"": {}, "c": null}).as_object().unwrap());
        });
        let expected = r#"{"raw":[ 1 ],"some":"\"\n","object":{"empty":{}},"none":[],"array":[1,2],"b\"":{},"c":null}"#;
        assert_eq!(json, expected);
        let extended = written(|object| object.extend(json!({"a": 1, "b": 2}).as_object().unwrap()));
        assert_eq!(extended, r#"{"a":1,"b":2}"#);
    }

    #[test]
    fn handler_values_are_written_on_one_line() {
        let lines = "{\n\"a\": \"\\n\"\n}";
        let raw: &RawValue = serde_json::from_str(lines).unwrap();
        let mut out = b"\n".to_vec();
        write_handler_value(&mut out, raw);
        write_handler_json(&mut out, lines);
        write_handler_json(&mut out, "[ 1 ]");
        assert_eq!(out, b"\n{\"a\":\"\\n\"}{\"a\":\"\\n\"}[ 1 ]");
    }
}
