//! [`User`]: who calls, as the verifier of their token says.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::jose::claims::{Binding, Scheme};
use super::scope::Granted;
use crate::error::{Error, Result};

/// An authenticated caller: [`Context::user`](crate::Context::user) in a handler, and what
/// [`Auth::verify_with`](super::Auth::verify_with) returns.
///
/// It has no token: a server must not pass a client's token on. To call another service for the user, get a token
/// of its own for that service.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// /// List the caller's notes.
/// #[tool(read_only)]
/// fn list_notes(ctx: &Context) -> Result<String> {
///     Ok(format!("the notes of {}", ctx.user()?.subject()))
/// }
/// ```
#[derive(Clone)]
pub struct User {
    issuer: Box<str>,
    subject: Box<str>,
    client_id: Option<Box<str>>,
    pub(crate) granted: Granted,
    expires_at: Option<SystemTime>,
    /// How much longer the token is accepted: clocks differ.
    leeway: Duration,
    /// As JSON text.
    claims: Option<Box<str>>,
    /// What the sender of the token has to prove besides.
    binding: Option<Box<Binding>>,
    principal: OnceLock<Arc<str>>,
}

impl User {
    /// A user without scopes, who is identified by `subject` alone.
    pub fn new(subject: impl Into<String>) -> Self {
        User {
            issuer: "".into(),
            subject: subject.into().into_boxed_str(),
            client_id: None,
            granted: Granted::Only(Vec::new()),
            expires_at: None,
            leeway: Duration::ZERO,
            claims: None,
            binding: None,
            principal: OnceLock::new(),
        }
    }

    /// Sets who vouches for the user: the `iss` of a token. Subjects are unique per issuer.
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = issuer.into().into_boxed_str();
        self.principal = OnceLock::new();
        self
    }

    /// Sets the client that acts for the user.
    pub fn with_client_id(mut self, client_id: impl Into<String>) -> Self {
        self.client_id = Some(client_id.into().into_boxed_str());
        self.principal = OnceLock::new();
        self
    }

    /// Sets the scopes the user has been granted.
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.granted = Granted::only(scopes);
        self
    }

    /// Sets the end of the token's life. Streams that it has opened end then.
    pub fn with_expiry(mut self, expires_at: SystemTime) -> Self {
        self.expires_at = Some(expires_at);
        self
    }

    pub(crate) fn with_leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// When the token is accepted no longer, if ever.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only streams of HTTP end with a token"))]
    pub(crate) fn ends_at(&self) -> Option<SystemTime> {
        self.expires_at?.checked_add(self.leeway)
    }

    /// Sets what else is known of the user, to be read with [`claims`](Self::claims).
    ///
    /// # Errors
    ///
    /// If `claims` cannot be serialized as JSON.
    pub fn with_claims(mut self, claims: impl Serialize) -> Result<Self> {
        self.claims = Some(serde_json::to_string(&claims)?.into_boxed_str());
        Ok(self)
    }

    pub(crate) fn with_granted(mut self, granted: Granted) -> Self {
        self.granted = granted;
        self
    }

    /// Sets the claims, which are a JSON object.
    pub(crate) fn with_raw_claims(mut self, claims: Box<str>) -> Self {
        self.claims = Some(claims);
        self
    }

    /// Binds the token to a key or a certificate, if it is.
    pub(crate) fn bound(mut self, binding: Binding) -> Self {
        self.binding = (binding != Binding::default()).then(|| Box::new(binding));
        self
    }

    /// What the sender of the token has to prove besides.
    pub(crate) fn binding(&self) -> Option<&Binding> {
        self.binding.as_deref()
    }

    /// How the token is sent.
    pub(crate) fn scheme(&self) -> Scheme {
        self.binding().map_or(Scheme::Bearer, Binding::scheme)
    }

    /// The claims, as JSON text.
    pub(crate) fn raw_claims(&self) -> Option<&str> {
        self.claims.as_deref()
    }

    /// Who vouches for the user: the `iss` of a token. `bearer` for [`Auth::bearer`](super::Auth::bearer); empty if the
    /// verifier names none.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The user, among those of the [issuer](Self::issuer).
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The client that acts for the user, if the verifier knows it.
    pub fn client_id(&self) -> Option<&str> {
        self.client_id.as_deref()
    }

    /// The scopes the user has been granted. Empty for a user who is not limited by scopes; see
    /// [`has_scope`](Self::has_scope).
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        let scopes = match &self.granted {
            Granted::All => [].as_slice(),
            Granted::Only(scopes) => scopes,
        };
        scopes.iter().map(|scope| &**scope)
    }

    /// Whether the user has been granted this very scope, or all. To reject a call for want of a scope, use
    /// [`Context::require_scopes`](crate::Context::require_scopes): it knows the hierarchy of scopes, and tells the
    /// client what is missing.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.granted.contains(scope)
    }

    /// The end of the token's life, if it has one.
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.expires_at
    }

    /// The claims of the token, as a type of your own.
    ///
    /// ```
    /// use mcp_runtime::auth::User;
    /// use mcp_runtime::prelude::*;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize)]
    /// struct Claims {
    ///     email: String,
    /// }
    ///
    /// # fn main() -> Result<()> {
    /// let user = User::new("7").with_claims(json!({"email": "alice@example.com", "groups": []}))?;
    /// assert_eq!(user.claims::<Claims>()?.email, "alice@example.com");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the verifier provides no claims, or they do not fit the type.
    pub fn claims<T: DeserializeOwned>(&self) -> Result<T> {
        let claims = self.claims.as_deref().ok_or_else(|| {
            Error::msg("the verifier of the token provides no claims; set them with `User::with_claims`")
        })?;
        serde_json::from_str(claims).map_err(|error| Error::msg(format!("the claims do not fit the type: {error}")))
    }

    /// What sessions, tasks and quotas belong to: issuer, subject and client.
    pub(crate) fn principal(&self) -> &Arc<str> {
        self.principal.get_or_init(|| {
            let mut principal = String::new();
            for (index, part) in
                [&*self.issuer, &*self.subject, self.client_id().unwrap_or_default()].iter().enumerate()
            {
                if index > 0 {
                    principal.push('|');
                }
                for c in part.chars() {
                    // Else two users could have one name: `a|b` and `c`, `a` and `b|c`.
                    if matches!(c, '|' | '\\') {
                        principal.push('\\');
                    }
                    principal.push(c);
                }
            }
            principal.into()
        })
    }

    /// The [principal](Self::principal) and the scopes in one text, which no other user has, nor this one with other scopes.
    pub(crate) fn with_all_granted(&self) -> String {
        let principal = self.principal();
        // Lengths keep one part from looking like two.
        let mut text = format!("{}:{principal}", principal.len());
        match &self.granted {
            // Not the same as none.
            Granted::All => text.push('*'),
            Granted::Only(scopes) => {
                let mut scopes: Vec<&str> = scopes.iter().map(|scope| &**scope).collect();
                scopes.sort_unstable();
                scopes.dedup();
                text.extend(scopes.iter().map(|scope| format!("{}:{scope}", scope.len())));
            }
        }
        text
    }
}

/// Without the claims, which may be personal.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("issuer", &self.issuer)
            .field("subject", &self.subject)
            .field("client_id", &self.client_id)
            .field("scopes", &self.granted)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn principals_of_different_users_differ() {
        let parts = ["", "a", "b", "a|b", "|", "\\", "\\|", "a\\", "a|"];
        let mut seen = HashSet::new();
        for issuer in parts {
            for subject in parts {
                for client in parts {
                    let user = User::new(subject).with_issuer(issuer).with_client_id(client);
                    assert!(seen.insert(user.principal().to_string()), "{issuer:?} {subject:?} {client:?}");
                }
            }
        }
        let user = User::new("alice").with_issuer("https://auth.example.com").with_client_id("cli");
        assert_eq!(&**user.principal(), "https://auth.example.com|alice|cli");
    }

    #[test]
    fn users_with_other_scopes_differ() {
        let bob = || User::new("bob").with_issuer("i");
        let users = [
            bob(),
            bob().with_granted(Granted::All),
            bob().with_scopes(["admin"]),
            bob().with_scopes(["*"]),
            bob().with_scopes(["a", "b"]),
            bob().with_scopes(["a1:b"]),
            bob().with_scopes(["1:a1:b"]),
            bob().with_client_id("cli"),
            User::new("bob"),
            User::new("bob\u{1f}admin").with_issuer("i"),
            User::new("bob|admin").with_issuer("i"),
        ];
        let texts: HashSet<String> = users.iter().map(User::with_all_granted).collect();
        assert_eq!(texts.len(), users.len(), "{texts:?}");
        let ordered = bob().with_scopes(["b", "a", "b"]);
        assert_eq!(ordered.with_all_granted(), bob().with_scopes(["a", "b"]).with_all_granted());
    }

    #[test]
    fn principal_follows_later_changes() {
        let user = User::new("alice");
        assert_eq!(&**user.principal(), "|alice|");
        assert_eq!(&**user.with_issuer("me").principal(), "me|alice|");
    }

    #[test]
    fn claims_that_do_not_fit_say_so() {
        let error = User::new("alice").claims::<u32>().unwrap_err();
        assert!(error.to_string().contains("with_claims"), "{error}");
        let user = User::new("alice").with_claims("text").unwrap();
        assert!(user.claims::<u32>().unwrap_err().to_string().contains("do not fit"));
        assert!(!format!("{user:?}").contains("text"));
    }
}
