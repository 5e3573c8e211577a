//! [`Pattern`]: a regular expression of a schema, compiled once, matched in linear time.

use regex_lite::Regex;

/// A compiled `pattern`.
#[derive(Debug)]
pub(in crate::schema) struct Pattern(Regex);

impl Pattern {
    /// A longer text is rejected rather than searched: the time of a search is the product of both lengths.
    pub(super) const LONGEST_TEXT: usize = 64 * 1024;

    /// Compiles a pattern, or says what is wrong with it.
    pub(super) fn new(pattern: &str) -> Result<Pattern, String> {
        match Regex::new(pattern) {
            Ok(regex) => Ok(Pattern(regex)),
            Err(error) => Err(format!("`{pattern}` cannot be used: {}", reason(pattern, &error.to_string()))),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it matches anywhere in `text`, as in JSON Schema; `^` and `$` anchor it.
    pub(super) fn fits(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

fn reason(pattern: &str, error: &str) -> String {
    let has = |parts: &[&str]| parts.iter().any(|part| pattern.contains(part));
    if has(&["(?=", "(?!", "(?<=", "(?<!"]) {
        return "look-around is not supported, because matching takes linear time".to_owned();
    }
    if has(&["\\p{", "\\P{"]) {
        return "Unicode classes are not supported; list the characters, as in `[a-zA-Zäöü]`".to_owned();
    }
    error.to_owned()
}
