//! RFC 6570 URI templates, limited to `{var}` and `{+path}`: parsing, matching and expansion.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A URI template. `{var}` matches text without `/`, `?` and `#`, `{+var}` any text; neither
/// matches the empty string. Ambiguous matches are greedy: earlier variables match as much as they can.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable { name: String, reserved: bool },
}

impl UriTemplate {
    /// Parses a template, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find(['{', '}']) {
            if rest[open..].starts_with('}') {
                return Err("`}` without `{`".to_owned());
            }
            if open > 0 {
                parts.push(Part::Literal(rest[..open].to_owned()));
            } else if matches!(parts.last(), Some(Part::Variable { .. })) {
                return Err("two variables need text between them".to_owned());
            }
            let Some(length) = rest[open..].find('}') else { return Err("unclosed `{`".to_owned()) };
            parts.push(variable(&rest[open + 1..open + length])?);
            rest = &rest[open + length + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(UriTemplate { parts })
    }

    /// Whether both match the same URIs: whether they differ at most in the names of variables.
    pub(crate) fn is_equivalent(&self, other: &UriTemplate) -> bool {
        let same = |(a, b): (&Part, &Part)| match (a, b) {
            (Part::Literal(a), Part::Literal(b)) => a == b,
            (Part::Variable { reserved: a, .. }, Part::Variable { reserved: b, .. }) => a == b,
            _ => false,
        };
        self.parts.len() == other.parts.len() && self.parts.iter().zip(&other.parts).all(same)
    }

    /// Whether the template has no variables.
    pub(crate) fn is_fixed(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Literal(_)))
    }

    /// The values of the variables in `uri`, percent-decoded once, if it matches.
    ///
    /// Dynamic programming from the end: for every part, the positions where the rest of the template
    /// can begin. The time is linear in the length of the URI times the number of parts, for any URI.
    pub(crate) fn matches<'a>(&'a self, uri: &'a str) -> Option<Vec<(&'a str, Cow<'a, str>)>> {
        if uri.len() > MAX_URI {
            return None;
        }
        let mut begins = vec![false; uri.len() + 1];
        begins[uri.len()] = true;
        let mut ends = Vec::new();
        for part in self.parts.iter().rev() {
            match part {
                Part::Literal(text) => begins = literal_begins(uri, text, &begins),
                Part::Variable { reserved, .. } => {
                    let longest = longest_ends(uri, *reserved, &begins);
                    begins = longest.iter().map(Option::is_some).collect();
                    ends.push(longest);
                }
            }
        }
        if !begins[0] {
            return None;
        }
        self.values(uri, ends)
    }

    fn values<'a>(&'a self, uri: &'a str, mut ends: Vec<Vec<Option<usize>>>) -> Option<Vec<(&'a str, Cow<'a, str>)>> {
        let mut at = 0;
        let mut values = Vec::with_capacity(ends.len());
        for part in &self.parts {
            match part {
                Part::Literal(text) => at += text.len(),
                Part::Variable { name, .. } => {
                    let end = ends.pop()?[at]?;
                    values.push((&**name, percent_decode(&uri[at..end])?));
                    at = end;
                }
            }
        }
        Some(values)
    }
}

/// Longer URIs match no template. This bounds the memory that matching takes.
const MAX_URI: usize = 16 * 1024;

/// The positions of `text` that are followed by a position in `next`.
fn literal_begins(uri: &str, text: &str, next: &[bool]) -> Vec<bool> {
    let bytes = uri.as_bytes();
    (0..=bytes.len()).map(|at| bytes[at..].starts_with(text.as_bytes()) && next[at + text.len()]).collect()
}

/// For every position, the furthest position in `next` that a variable beginning there can reach.
fn longest_ends(uri: &str, reserved: bool, next: &[bool]) -> Vec<Option<usize>> {
    let mut longest = vec![None; next.len()];
    for (at, byte) in uri.bytes().enumerate().rev() {
        if reserved || !b"/?#".contains(&byte) {
            longest[at] = longest[at + 1].or(next[at + 1].then_some(at + 1));
        }
    }
    longest
}

/// Parses the expression between braces.
fn variable(expression: &str) -> Result<Part, String> {
    let (reserved, name) = match expression.strip_prefix('+') {
        Some(name) => (true, name),
        None => (false, expression),
    };
    let well_formed = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match name {
        "" => Err("a variable needs a name between `{` and `}`".to_owned()),
        _ if !well_formed => Err(format!("`{{{expression}}}` is not supported; use `{{var}}` or `{{+var}}`")),
        _ => Ok(Part::Variable { name: name.to_owned(), reserved }),
    }
}

/// Decodes `%41`. Fails if the digits are not hexadecimal or the result is not UTF-8.
fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            let (hex, after) = tail.split_at_checked(2)?;
            if !hex.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            bytes.push(u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Appends a value to a URI, percent-encoded as in `{var}` or, if `reserved`, as in `{+var}`.
pub fn expand_into(uri: &mut String, value: &str, reserved: bool) {
    for byte in value.bytes() {
        let literal = byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || (reserved && b":/?#[]@!$&'()*+,;=".contains(&byte));
        if literal {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(template: &str, uri: &str) -> Option<Vec<String>> {
        let template = UriTemplate::parse(template).unwrap();
        let values = template.matches(uri)?;
        Some(values.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    #[test]
    fn variables_match_and_are_decoded() {
        assert_eq!(values("note://{id}", "note://7").unwrap(), ["id=7"]);
        assert_eq!(values("note://{id}", "note://a%20b").unwrap(), ["id=a b"]);
        assert_eq!(values("note://{id}", "note://笔记").unwrap(), ["id=笔记"]);
        assert_eq!(values("file:///{+path}", "file:///a/b.txt").unwrap(), ["path=a/b.txt"]);
        assert_eq!(values("x://{a}/{b}.json", "x://1/2.json").unwrap(), ["a=1", "b=2"]);
        assert_eq!(values("x://{+p}/{x}/{y}", "x://a/b/c/d").unwrap(), ["p=a/b", "x=c", "y=d"]);
        assert_eq!(values("x://{+p}/raw", "x://a/raw/b/raw").unwrap(), ["p=a/raw/b"]);
        assert_eq!(values("x://{a}-{b}", "x://1-2-3").unwrap(), ["a=1-2", "b=3"]);
    }

    #[test]
    fn non_matching_uris_are_rejected() {
        assert_eq!(values("note://{id}", "note://"), None);
        assert_eq!(values("note://{id}", "note://a/b"), None);
        assert_eq!(values("note://{id}", "note://a?b"), None);
        assert_eq!(values("note://{id}", "notes://a"), None);
        assert_eq!(values("note://{id}/x", "note://a/y"), None);
        assert_eq!(values("note://{id}", "note://%zz"), None);
        assert_eq!(values("note://{id}", "note://%+1"), None);
        assert_eq!(values("note://{id}", "note://%"), None);
        assert_eq!(values("note://{id}", "note://%ff"), None);
        assert_eq!(values("note://{id}é", "note://a日"), None);
    }

    #[test]
    fn matching_hostile_uris_takes_bounded_time() {
        let uri = format!("x://{}", "a-".repeat(5_000));
        assert_eq!(values("x://{a}-{b}-{c}-{d}-{e}-{f}!", &uri), None);
    }

    #[test]
    fn malformed_templates_are_explained() {
        for (template, why) in [
            ("x://{a", "unclosed"),
            ("x://a}", "without"),
            ("x://{}", "needs a name"),
            ("x://{?q}", "not supported"),
            ("x://{a}{b}", "between"),
            ("x://{a*}", "not supported"),
        ] {
            let error = UriTemplate::parse(template).unwrap_err();
            assert!(error.contains(why), "{template}: {error}");
        }
    }

    #[test]
    fn expansion_percent_encodes() {
        let mut uri = String::from("note://");
        expand_into(&mut uri, "a b/é", false);
        assert_eq!(uri, "note://a%20b%2F%C3%A9");
        let mut uri = String::from("file:///");
        expand_into(&mut uri, "a b/c", true);
        assert_eq!(uri, "file:///a%20b/c");
    }
}
