//! The challenge of a rejected request: the value of `WWW-Authenticate`.
//! <https://www.rfc-editor.org/rfc/rfc6750#section-3>

/// What every challenge of a server says: where its document is, and the scopes that every call needs.
#[derive(Debug, Clone)]
pub(crate) struct Challenge {
    metadata_url: String,
}

impl Challenge {
    pub(crate) fn new(metadata_url: String) -> Self {
        Challenge { metadata_url }
    }

    /// There are no credentials: no error attribute (RFC 6750, section 3.1).
    pub(crate) fn anonymous(&self, scopes: &[Box<str>]) -> String {
        let mut params = Params::default();
        params.add("resource_metadata", &self.metadata_url).scopes(scopes);
        params.0
    }

    /// The token is not accepted.
    pub(crate) fn invalid_token(&self, why: &str, scopes: &[Box<str>]) -> String {
        self.error("invalid_token", why, scopes)
    }

    /// The request carries its token in a wrong way.
    pub(crate) fn invalid_request(&self, why: &str, scopes: &[Box<str>]) -> String {
        self.error("invalid_request", why, scopes)
    }

    fn error(&self, error: &str, why: &str, scopes: &[Box<str>]) -> String {
        let mut params = Params::default();
        params.add("error", error).add("error_description", why).add("resource_metadata", &self.metadata_url);
        params.scopes(scopes);
        params.0
    }

    /// The token lacks scopes. `scopes` are all that the operation needs.
    pub(crate) fn insufficient_scope(&self, why: &str, scopes: &[Box<str>]) -> String {
        let mut params = Params::default();
        params.add("error", "insufficient_scope").scopes(scopes).add("resource_metadata", &self.metadata_url);
        params.add("error_description", why);
        params.0
    }
}

/// `Bearer name="value", …`
#[derive(Default)]
struct Params(String);

impl Params {
    fn add(&mut self, name: &str, value: &str) -> &mut Self {
        self.0.push_str(if self.0.is_empty() { "Bearer " } else { ", " });
        self.0.push_str(name);
        self.0.push_str("=\"");
        // Neither a quote nor a backslash is allowed in any of these values, not even escaped.
        self.0.extend(value.chars().map(|c| match c {
            '"' | '\\' => '\'',
            ' '..='~' => c,
            _ => '?',
        }));
        self.0.push('"');
        self
    }

    fn scopes(&mut self, scopes: &[Box<str>]) -> &mut Self {
        if scopes.is_empty() { self } else { self.add("scope", &scopes.join(" ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_these_bytes() {
        let challenge = Challenge::new("https://h/.well-known/oauth-protected-resource/mcp".into());
        let scopes = ["files:read".into(), "files:write".into()];
        assert_eq!(
            challenge.anonymous(&scopes[..1]),
            r#"Bearer resource_metadata="https://h/.well-known/oauth-protected-resource/mcp", scope="files:read""#
        );
        assert_eq!(
            challenge.anonymous(&[]),
            r#"Bearer resource_metadata="https://h/.well-known/oauth-protected-resource/mcp""#
        );
        assert_eq!(
            challenge.invalid_token("it has expired", &scopes[..1]),
            r#"Bearer error="invalid_token", error_description="it has expired", resource_metadata="https://h/.well-known/oauth-protected-resource/mcp", scope="files:read""#
        );
        assert_eq!(
            challenge.insufficient_scope("more", &scopes),
            r#"Bearer error="insufficient_scope", scope="files:read files:write", resource_metadata="https://h/.well-known/oauth-protected-resource/mcp", error_description="more""#
        );
    }

    #[test]
    fn nothing_leaves_its_quotes() {
        let challenge = Challenge::new("https://h".into());
        let header = challenge.invalid_token("a \"b\" \\ c\r\nX: y ä", &[]);
        assert_eq!(
            header,
            r#"Bearer error="invalid_token", error_description="a 'b' ' c??X: y ?", resource_metadata="https://h""#
        );
    }
}
