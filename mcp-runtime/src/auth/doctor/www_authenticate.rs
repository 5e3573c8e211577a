//! The challenges of a response: `WWW-Authenticate`, as a client reads it (RFC 9110 §11.6.1).

/// A challenge: its scheme and its parameters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReceivedChallenge {
    pub(super) scheme: String,
    parameters: Vec<(String, String)>,
}

impl ReceivedChallenge {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        parameters.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// Whether it asks for an access token.
    pub(super) fn is_for_tokens(&self) -> bool {
        ["bearer", "dpop"].iter().any(|scheme| self.scheme.eq_ignore_ascii_case(scheme))
    }
}

/// The challenges of a header, in order. One header may have several.
pub(super) fn parse(header: &str) -> Vec<ReceivedChallenge> {
    let mut challenges: Vec<ReceivedChallenge> = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, after) = rest.split_at(rest.find(|c: char| !is_token(c)).unwrap_or(rest.len()));
        if word.is_empty() {
            // Nothing that can be read: the next one may be.
            let Some(skipped) = rest.chars().next() else { return challenges };
            rest = &rest[skipped.len_utf8()..];
            continue;
        }
        match (after.trim_start().strip_prefix('='), challenges.last_mut()) {
            (Some(after), Some(challenge)) => {
                let (value, after) = value(after.trim_start());
                challenge.parameters.push((word.to_owned(), value));
                rest = after;
            }
            _ => {
                challenges.push(ReceivedChallenge { scheme: word.to_owned(), parameters: Vec::new() });
                rest = after;
            }
        }
    }
}

/// A value, quoted or not, and what follows it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find([',', ' ', '\t']).unwrap_or(text.len()));
        return (value.to_owned(), rest);
    };
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, letter) in quoted.char_indices() {
        match letter {
            '\\' if !is_escaped => is_escaped = true,
            '"' if !is_escaped => return (value, &quoted[at + 1..]),
            letter => {
                value.push(letter);
                is_escaped = false;
            }
        }
    }
    (value, "")
}

fn is_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_and_parameters_are_told_apart() {
        let header =
            r#"Bearer resource_metadata="https://h/a,b", scope="a b", DPoP algs="ES256", Negotiate, Basic realm=x"#;
        let challenges = parse(header);
        let schemes: Vec<&str> = challenges.iter().map(|challenge| &*challenge.scheme).collect();
        assert_eq!(schemes, ["Bearer", "DPoP", "Negotiate", "Basic"]);
        assert_eq!(challenges[0].get("resource_metadata"), Some("https://h/a,b"));
        assert_eq!(challenges[0].get("Scope"), Some("a b"));
        assert_eq!(challenges[1].get("algs"), Some("ES256"));
        assert_eq!(challenges[3].get("realm"), Some("x"));
        assert!(challenges[0].is_for_tokens() && challenges[1].is_for_tokens() && !challenges[3].is_for_tokens());
    }

    #[test]
    fn anything_is_read_to_its_end() {
        assert_eq!(parse(""), []);
        assert_eq!(parse(r#"bearer error = "a \"b\" \\c" "#)[0].get("error"), Some(r#"a "b" \c"#));
        assert_eq!(parse("Bearer")[0], ReceivedChallenge { scheme: "Bearer".into(), parameters: vec![] });
        assert_eq!(parse(r#"Bearer error="never ends"#)[0].get("error"), Some("never ends"));
        assert_eq!(parse("Negotiate YWJj==")[0].scheme, "Negotiate");
        for odd in ["=", "=\"", "\"", "ä=ö, Bearer x=\"", ",,,=,", "Bearer =x", "Bearer a=,b"] {
            let _ = parse(odd);
        }
    }
}
