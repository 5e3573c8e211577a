//! What a sealed state is bound to: one call of one principal to one server.
//!
//! The arguments are bound by their text, not by what a reader makes of it: two integers beyond 64 bits may be one
//! float, and yet two amounts to a handler. Whitespace, the order of members and the escapes of strings do not count;
//! numbers are bound as they are written.

use std::sync::Arc;

use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::{Raw, string_end};
use crate::sort;

/// Values nested deeper than this are bound as they are written, so that the recursion is bounded, whatever
/// `Limits::depth` allows.
const MAX_DEPTH: usize = 128;

/// What a state is bound to.
#[derive(Debug, Clone)]
pub(crate) struct StateBinding {
    /// The server's name: servers that share a secret do not accept each other's states.
    pub(crate) server: Arc<str>,
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) method: &'static str,
    pub(crate) params: Option<Box<str>>,
}

impl StateBinding {
    /// Canonical bytes: equal for equal calls, in whatever order the client sends the members.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let params = self.params.as_deref().and_then(|raw| Object::read(Raw::new_unchecked(raw)).ok());
        let params = params.unwrap_or_default();
        let of_the_round = |name: &str| matches!(name, "_meta" | "inputResponses" | "requestState");
        let members: Vec<_> = params.iter().filter(|(name, _)| !of_the_round(name)).collect();
        let mut out = Vec::new();
        write_string(&self.server, &mut out);
        write_string(self.method, &mut out);
        match &self.principal {
            Some(principal) => write_string(principal, &mut out),
            None => out.extend_from_slice(b"null"),
        }
        for (name, value) in sort::by_text(&members, |(name, _)| name) {
            write_string(name, &mut out);
            Canonical { text: value.get(), at: 0 }.value(&mut out, 0);
        }
        out
    }
}

/// Writes a text as JSON, in one spelling, so that it ends where it ends.
fn write_string(text: &str, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// A reader of valid JSON that writes it in canonical form, in one pass.
struct Canonical<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Canonical<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips whitespace and separators, which the canonical form has its own of.
    fn skip(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| matches!(byte, b',' | b':' | 0..=b' ')).count();
    }

    /// Moves to `end`, and returns the text before it.
    fn take(&mut self, end: usize) -> &'a str {
        let taken = self.text.get(self.at..end).unwrap_or_default();
        self.at = end;
        taken
    }

    fn value(&mut self, out: &mut Vec<u8>, depth: usize) {
        self.skip();
        match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => self.as_written(out),
            Some(b'{') => self.object(out, depth),
            Some(b'[') => self.list(out, depth),
            Some(b'"') => self.string(out),
            Some(_) => self.plain(out),
            None => {}
        }
    }

    fn list(&mut self, out: &mut Vec<u8>, depth: usize) {
        out.push(b'[');
        self.at += 1;
        self.skip();
        while self.peek().is_some_and(|byte| byte != b']') {
            self.value(out, depth + 1);
            out.push(b',');
            self.skip();
        }
        self.at += 1;
        out.push(b']');
    }

    /// Writes the members one after the other, and sorts them afterwards if they are not sorted.
    fn object(&mut self, out: &mut Vec<u8>, depth: usize) {
        out.push(b'{');
        self.at += 1;
        let start = out.len();
        let mut members = Vec::new();
        self.skip();
        while self.peek() == Some(b'"') {
            let begin = out.len() - start;
            self.string(out);
            let key_end = out.len() - start;
            self.value(out, depth + 1);
            out.push(b',');
            members.push((begin..key_end, begin..out.len() - start));
            self.skip();
        }
        self.at += 1;
        if !members.is_sorted_by(|(one, _), (other, _)| out[start..][one.clone()] <= out[start..][other.clone()]) {
            let written = out.split_off(start);
            // Stable: of duplicate keys, readers take the first or the last.
            let key = |member: usize| &written[members[member].0.clone()];
            for member in sort::order(members.len(), &|one, other| key(one).cmp(key(other))) {
                out.extend_from_slice(&written[members[member].1.clone()]);
            }
        }
        out.push(b'}');
    }

    /// A string in one spelling, or as it is written if it is half a surrogate pair, which no `String` can hold.
    fn string(&mut self, out: &mut Vec<u8>) {
        let end = string_end(self.text.as_bytes(), self.at).unwrap_or(self.text.len());
        let raw = self.take(end);
        match Raw::new_unchecked(raw).text() {
            Some(text) => write_string(&text, out),
            None => {
                out.push(b'!');
                out.extend_from_slice(raw.as_bytes());
            }
        }
    }

    /// A number, a boolean or null, as it is written.
    fn plain(&mut self, out: &mut Vec<u8>) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let plain = |byte: &&u8| !matches!(byte, b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"' | 0..=b' ');
        // At least one byte, so that the reader gets on even in text that is no JSON.
        let end = self.at + rest.iter().take_while(plain).count().max(1);
        out.extend_from_slice(self.take(end).as_bytes());
    }

    /// An object or a list as it is written, up to its end.
    fn as_written(&mut self, out: &mut Vec<u8>) {
        let (mut depth, mut end) = (0_usize, self.at);
        while let Some(byte) = self.text.as_bytes().get(end) {
            match byte {
                b'"' => {
                    end = string_end(self.text.as_bytes(), end).unwrap_or(self.text.len());
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            end += 1;
            if depth == 0 {
                break;
            }
        }
        out.push(b'!');
        out.extend_from_slice(self.take(end).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(arguments: &str) -> Vec<u8> {
        let params = format!(r#"{{"_meta":{{}},"name":"pay","arguments":{arguments},"requestState":"x"}}"#);
        binding("bank", Some(&params)).bytes()
    }

    fn binding(server: &str, params: Option<&str>) -> StateBinding {
        StateBinding { server: server.into(), principal: None, method: "tools/call", params: params.map(Into::into) }
    }

    #[test]
    fn spelling_does_not_count() {
        for (one, other) in [
            (r#"{"a":1,"b":{"c":[1,{"x":1,"y":2}],"d":2}}"#, r#"{ "b" : {"d":2, "c":[1 ,{"y":2,"x":1}]},"a":1 }"#),
            (r#"{"a":"\u0061\/"}"#, r#"{"\u0061":"a/"}"#),
            ("[]", "[ ]"),
            ("{}", "{\n}"),
        ] {
            assert_eq!(bytes(one), bytes(other), "{one} {other}");
        }
    }

    #[test]
    fn values_count_as_they_are_written() {
        let all = [
            "36893488147419103232",
            "36893488147419103233",
            "3.6893488147419103232e19",
            "1e999",
            "1e998",
            "-1e400",
            "0",
            "-0",
            "0.1",
            "0.10",
            "1",
            "true",
            "null",
            r#""1""#,
            r#""\ud800""#,
            r#""\ud801""#,
            r#""!""#,
            "[1,2]",
            "[12]",
            "[[1],2]",
            "[1,[2]]",
            "[]",
            "{}",
            "[[]]",
            r#"{"a":1}"#,
            r#"{"a":2}"#,
            r#"{"b":1}"#,
            r#"{"a":{"b":1}}"#,
            r#"{"a":1,"b":1}"#,
            r#"["a",1,"b",1]"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":2,"a":1}"#,
        ];
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert_ne!(bytes(one), bytes(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn deep_values_count_in_bounded_recursion() {
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(bytes(&deep("1")), bytes(&deep("1")));
        assert_ne!(bytes(&deep("1")), bytes(&deep("2")));
    }

    #[test]
    fn server_and_principal_count() {
        let ada = StateBinding { principal: Some("ada".into()), ..binding("bank", None) };
        let null = StateBinding { principal: Some("null".into()), ..binding("bank", None) };
        let all = [binding("bank", None), binding("shop", None), ada, null];
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert_ne!(one.bytes(), other.bytes());
            }
        }
    }
}
