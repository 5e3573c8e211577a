//! Tokens that are known beforehand: each names a user. For a small server without an authorization server.

use std::fmt;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

use super::User;
use super::fingerprint::{Fingerprint, Fingerprints};
use super::scope::Granted;
use super::verifier::{Presented, Rejection, Verifier, Verifying};

/// The issuer of users with such a token.
const ISSUER: &str = "bearer";
/// Shorter tokens can be guessed.
const SHORT: usize = 16;

/// A token of [`Auth::bearer`](super::Auth::bearer), or another secret: a text, or where to find it. It is never printed.
///
/// ```
/// use mcp_runtime::auth::{Auth, Secret};
///
/// let auth = Auth::bearer([
///     ("ci", Secret::env("CI_TOKEN")),
///     ("alice", Secret::file("/run/secrets/alice")),
/// ]);
/// ```
pub struct Secret(pub(crate) Result<String, String>);

impl Secret {
    /// The value of an environment variable. Serving fails if it is not set.
    pub fn env(name: &str) -> Self {
        Secret(std::env::var(name).map_err(|_| format!("the environment variable `{name}` is not set to a text")))
    }

    /// The contents of a file, without the whitespace around them. Serving fails if it cannot be read.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let read = std::fs::read_to_string(&path);
        let text = read.map(|text| text.trim().to_owned());
        Secret(text.map_err(|error| format!("cannot read the secret in `{}`: {error}", path.display())))
    }
}

impl<T: Into<String>> From<T> for Secret {
    fn from(token: T) -> Self {
        Secret(Ok(token.into()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The tokens, as fingerprints: no comparison takes longer for a better guess.
#[derive(Default)]
pub(crate) struct BearerTokens {
    known: Vec<(Fingerprint, Arc<User>)>,
    fingerprints: Fingerprints,
    /// The users whose token cannot be used, which has been told.
    without: Vec<String>,
}

impl BearerTokens {
    /// Adds the token of a user with all scopes, or says what is wrong with it.
    pub(crate) fn add(&mut self, name: String, token: Secret) -> Result<(), String> {
        let added = self.try_add(&name, token);
        if added.is_err() {
            self.without.push(name);
        }
        added
    }

    fn try_add(&mut self, name: &str, token: Secret) -> Result<(), String> {
        let token = token.0?;
        if token.is_empty() {
            return Err(format!("the token of `{name}` is empty"));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("the token of `{name}` cannot be sent in a header: use visible ASCII without spaces"));
        }
        if token.len() < SHORT {
            tracing::warn!("the token of `{name}` has fewer than {SHORT} characters: it can be guessed");
        }
        let print = self.fingerprints.of_one(token.as_bytes());
        if self.known.iter().any(|(known, _)| *known == print) {
            return Err(format!("the token of `{name}` is that of another user, too"));
        }
        let user = User::new(name.to_owned()).with_issuer(ISSUER).with_granted(Granted::All);
        self.known.push((print, Arc::new(user)));
        Ok(())
    }

    /// Limits a user to these scopes, or says that there is no such user.
    pub(crate) fn limit(&mut self, name: &str, scopes: &Granted) -> Result<(), String> {
        // Whoever has no token for another reason is told that one.
        let mut found = self.without.iter().any(|without| without == name);
        for (_, user) in self.known.iter_mut().filter(|(_, user)| user.subject() == name) {
            *user = Arc::new(User::clone(user).with_granted(scopes.clone()));
            found = true;
        }
        if found { Ok(()) } else { Err(format!("`grant` names `{name}`, who has no token in `Auth::bearer`")) }
    }

    /// Who has every scope although others do not: probably because a `grant` was forgotten.
    pub(crate) fn warning(&self) -> Option<String> {
        let users = || self.known.iter().map(|(_, user)| user);
        let has_all = |user: &&Arc<User>| matches!(user.granted, Granted::All);
        if users().all(|user| has_all(&user)) {
            return None;
        }
        let mut names: Vec<String> = users().filter(has_all).map(|user| format!("`{}`", user.subject())).collect();
        names.sort_unstable();
        names.dedup();
        let text = "no `grant` limits these users of `Auth::bearer`, so they have every scope";
        let remedy = "if that is meant, grant them the scopes by name";
        (!names.is_empty()).then(|| format!("{text}: {}; {remedy}", names.join(", ")))
    }
}

impl Verifier for BearerTokens {
    fn verify<'a>(&'a self, presented: Presented<'a>) -> Verifying<'a> {
        Verifying::Ready(
            self.known(presented.token.as_bytes()).ok_or_else(|| Rejection::invalid("the token is unknown")),
        )
    }

    fn known(&self, token: &[u8]) -> Option<Arc<User>> {
        let sent = self.fingerprints.of_one(token);
        let mut found = None;
        // All are compared, each to its end.
        for (known, user) in &self.known {
            if black_box((known[0] ^ sent[0]) | (known[1] ^ sent[1])) == 0 {
                found = Some(user);
            }
        }
        found.cloned()
    }
}

impl fmt::Debug for BearerTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.known.iter().map(|(_, user)| user.subject())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified(tokens: &BearerTokens, token: &str) -> Option<Arc<User>> {
        match tokens.verify(Presented::bearer(token)) {
            Verifying::Ready(verified) => verified.ok(),
            Verifying::Later(_) => panic!("known tokens need no future"),
        }
    }

    #[test]
    fn token_names_its_user() {
        let mut tokens = BearerTokens::default();
        tokens.add("alice".into(), "token-of-alice".into()).unwrap();
        tokens.add("bob".into(), "token-of-bob".into()).unwrap();
        tokens.limit("bob", &Granted::only(["read"])).unwrap();
        assert_eq!(verified(&tokens, "token-of-alice").unwrap().subject(), "alice");
        assert!(verified(&tokens, "token-of-alice").unwrap().has_scope("write"));
        let bob = verified(&tokens, "token-of-bob").unwrap();
        assert_eq!((bob.issuer(), bob.has_scope("read"), bob.has_scope("write")), ("bearer", true, false));
        for wrong in ["", "token-of-alic", "token-of-alice ", "Token-of-alice"] {
            assert!(verified(&tokens, wrong).is_none(), "{wrong}");
        }
        assert_eq!(format!("{tokens:?}"), r#"["alice", "bob"]"#);
    }

    #[test]
    fn mistakes_are_told_without_the_token() {
        let mut tokens = BearerTokens::default();
        tokens.add("alice".into(), "s3cret".into()).unwrap();
        for (token, why) in [
            (Secret::from("s3cret"), "another user"),
            (Secret::from("s3cret with spaces"), "visible ASCII"),
            (Secret::from(""), "empty"),
            (Secret::env("MCP_NO_SUCH_VARIABLE"), "MCP_NO_SUCH_VARIABLE"),
            (Secret::file("/no/such/file"), "/no/such/file"),
        ] {
            assert_eq!(format!("{token:?}"), "Secret");
            let mistake = tokens.add("bob".into(), token).unwrap_err();
            assert!(mistake.contains(why) && !mistake.contains("s3cret"), "{mistake}");
        }
        assert!(tokens.limit("carol", &Granted::All).unwrap_err().contains("carol"));
        assert_eq!(tokens.limit("bob", &Granted::All), Ok(()), "why bob has no token has been told");
    }

    #[test]
    fn users_without_a_grant_beside_some_with_one_are_told() {
        let mut tokens = BearerTokens::default();
        for (name, token) in [("ci", "token-of-the-ci-1"), ("alice", "token-of-alice-1"), ("alice", "token-of-alice-2")]
        {
            tokens.add(name.into(), token.into()).unwrap();
        }
        assert_eq!(tokens.warning(), None, "nobody is limited");
        tokens.limit("ci", &Granted::only(["read"])).unwrap();
        let warning = tokens.warning().unwrap();
        assert!(warning.contains("every scope: `alice`; if that is meant"), "{warning}");
        tokens.limit("alice", &Granted::only(["read", "write"])).unwrap();
        assert_eq!(tokens.warning(), None, "everybody is");
    }
}
