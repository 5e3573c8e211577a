//! The challenge of a rejected request: the value of `WWW-Authenticate`.
//! <https://www.rfc-editor.org/rfc/rfc6750#section-3>

use super::jose::claims::Scheme;
use super::possession::Dpop;

/// What every challenge of a server says: where its document is, and how tokens are sent.
#[derive(Debug, Clone)]
pub(crate) struct Challenge {
    metadata_url: String,
    /// Whether tokens are bound to keys, and the algorithms of proofs.
    dpop: Option<(Dpop, String)>,
}

impl Challenge {
    pub(crate) fn new(metadata_url: String) -> Self {
        Challenge { metadata_url, dpop: None }
    }

    /// The challenge of a server that accepts proofs with these algorithms.
    pub(crate) fn with_dpop(mut self, dpop: Dpop, algorithms: String) -> Self {
        self.dpop = Some((dpop, algorithms));
        self
    }

    /// There are no credentials: no error attribute (RFC 6750, section 3.1). Whoever accepts both schemes offers both.
    pub(crate) fn anonymous(&self, scopes: &[Box<str>]) -> String {
        let mut params = Params::default();
        let schemes: &[Scheme] = match &self.dpop {
            None => &[Scheme::Bearer],
            // Most clients read the first one only.
            Some((Dpop::Allowed, _)) => &[Scheme::Bearer, Scheme::Dpop],
            Some((Dpop::Required, _)) => &[Scheme::Dpop],
        };
        for scheme in schemes {
            self.begin(&mut params, *scheme);
            params.add("resource_metadata", &self.metadata_url).scopes(scopes);
        }
        params.text
    }

    /// The token, or the way it is sent, is not accepted.
    pub(crate) fn error(&self, scheme: Scheme, error: &str, why: &str, scopes: &[Box<str>]) -> String {
        let mut params = Params::default();
        params.begin(self.name(scheme)).add("error", error).add("error_description", why);
        self.algorithms(&mut params, scheme);
        params.add("resource_metadata", &self.metadata_url).scopes(scopes);
        params.text
    }

    /// The token lacks scopes. `scopes` are all that the operation needs.
    pub(crate) fn insufficient_scope(&self, scheme: Scheme, why: &str, scopes: &[Box<str>]) -> String {
        let mut params = Params::default();
        params.begin(self.name(scheme)).add("error", "insufficient_scope").scopes(scopes);
        self.algorithms(&mut params, scheme);
        params.add("resource_metadata", &self.metadata_url).add("error_description", why);
        params.text
    }

    fn begin(&self, params: &mut Params, scheme: Scheme) {
        params.begin(self.name(scheme));
        self.algorithms(params, scheme);
    }

    /// The scheme that a client should use.
    fn name(&self, scheme: Scheme) -> &'static str {
        match (&self.dpop, scheme) {
            (Some((Dpop::Required, _)), _) | (Some(_), Scheme::Dpop) => "DPoP",
            _ => "Bearer",
        }
    }

    fn algorithms(&self, params: &mut Params, scheme: Scheme) {
        if let Some((_, algorithms)) = self.dpop.as_ref().filter(|_| self.name(scheme) == "DPoP") {
            params.add("algs", algorithms);
        }
    }
}

/// `Bearer name="value", …`
#[derive(Default)]
struct Params {
    text: String,
    is_first: bool,
}

impl Params {
    fn begin(&mut self, scheme: &str) -> &mut Self {
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(scheme);
        self.is_first = true;
        self
    }

    fn add(&mut self, name: &str, value: &str) -> &mut Self {
        self.text.push_str(if self.is_first { " " } else { ", " });
        self.is_first = false;
        self.text.push_str(name);
        self.text.push_str("=\"");
        // Neither a quote nor a backslash is allowed in any of these values, not even escaped.
        self.text.extend(value.chars().map(|c| match c {
            '"' | '\\' => '\'',
            ' '..='~' => c,
            _ => '?',
        }));
        self.text.push('"');
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
            challenge.error(Scheme::Bearer, "invalid_token", "it has expired", &scopes[..1]),
            r#"Bearer error="invalid_token", error_description="it has expired", resource_metadata="https://h/.well-known/oauth-protected-resource/mcp", scope="files:read""#
        );
        assert_eq!(
            challenge.insufficient_scope(Scheme::Bearer, "more", &scopes),
            r#"Bearer error="insufficient_scope", scope="files:read files:write", resource_metadata="https://h/.well-known/oauth-protected-resource/mcp", error_description="more""#
        );
    }

    /// RFC 9449, section 7.1.
    #[test]
    fn proofs_have_a_scheme_of_their_own() {
        let challenge = |dpop| Challenge::new("https://h".into()).with_dpop(dpop, "ES256 EdDSA".into());
        let scopes = ["read".into()];
        assert_eq!(
            challenge(Dpop::Allowed).anonymous(&scopes),
            r#"Bearer resource_metadata="https://h", scope="read", DPoP algs="ES256 EdDSA", resource_metadata="https://h", scope="read""#
        );
        assert_eq!(
            challenge(Dpop::Required).anonymous(&[]),
            r#"DPoP algs="ES256 EdDSA", resource_metadata="https://h""#
        );
        let proof = r#"DPoP error="invalid_dpop_proof", error_description="no", algs="ES256 EdDSA", resource_metadata="https://h""#;
        for dpop in [Dpop::Allowed, Dpop::Required] {
            assert_eq!(challenge(dpop).error(Scheme::Dpop, "invalid_dpop_proof", "no", &[]), proof);
        }
        let token = |dpop| challenge(dpop).error(Scheme::Bearer, "invalid_token", "no", &[]);
        assert_eq!(
            token(Dpop::Allowed),
            r#"Bearer error="invalid_token", error_description="no", resource_metadata="https://h""#
        );
        assert!(token(Dpop::Required).starts_with(r#"DPoP error="invalid_token""#));
        assert_eq!(
            challenge(Dpop::Allowed).insufficient_scope(Scheme::Dpop, "more", &scopes),
            r#"DPoP error="insufficient_scope", scope="read", algs="ES256 EdDSA", resource_metadata="https://h", error_description="more""#
        );
    }

    #[test]
    fn nothing_leaves_its_quotes() {
        let challenge = Challenge::new("https://h".into());
        let header = challenge.error(Scheme::Bearer, "invalid_token", "a \"b\" \\ c\r\nX: y ä", &[]);
        assert_eq!(
            header,
            r#"Bearer error="invalid_token", error_description="a 'b' ' c??X: y ?", resource_metadata="https://h""#
        );
    }
}
