//! What people write about tokens that an authorization server issues, and how they are bound to whom they are issued to.

use std::sync::Arc;
use std::time::Duration;

use super::settings::{Asked, How, IssuedSettings};
use crate::auth::bearer::Secret;
use crate::auth::fetch::Fetch;
use crate::auth::jose::algorithm::{Algorithm, Algorithms};
use crate::auth::jose::dpop::DpopChecker;
use crate::auth::possession::Dpop;
use crate::auth::{Auth, Source};

impl Auth {
    /// Accepts the JWT access tokens of an issuer (RFC 9068), whose metadata and keys are found from its URL.
    ///
    /// Keys are fetched when they are needed, and again when they get old or a token has a new one. While the issuer is
    /// away, those that are known are used. Requires the feature `auth-fetch`, or [`fetch_with`](Self::fetch_with).
    ///
    /// ```
    /// use mcp_runtime::auth::Auth;
    ///
    /// let auth = Auth::jwt("https://auth.example.com")
    ///     .resource("https://mcp.example.com/mcp")
    ///     .scopes(["notes:read"]);
    /// ```
    pub fn jwt(issuer: impl Into<String>) -> Self {
        Auth::new(Source::issued(How::Published { url: None }, Some(issuer.into())))
    }

    /// Accepts JWT access tokens that are signed with one of these keys, a JSON Web Key Set (RFC 7517). Nothing is
    /// fetched. [`issuer`](Self::issuer) is required.
    pub fn keys(jwks: impl Into<String>) -> Self {
        Auth::new(Source::issued(How::Given(jwks.into()), None))
    }

    /// Asks an authorization server about every token (RFC 7662): for tokens that only it can read, or that it may
    /// revoke. `url` is its introspection endpoint; `id` and `secret` are this server's credentials there.
    ///
    /// The user is the `sub` of the answer, else its `username`, else the client. Without [`issuer`](Self::issuer), the
    /// issuer of the users is `url`, whatever the answer says.
    ///
    /// Requires the feature `auth-fetch`, or [`fetch_with`](Self::fetch_with).
    pub fn introspect(url: impl Into<String>, id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        let (url, id, secret) = (url.into(), id.into(), secret.into());
        let how = How::Asked(Asked { url, id, secret, is_posted: false, is_cached: false, needs_audience: true });
        Auth::new(Source::issued(how, None))
    }

    /// Sets the issuer of the tokens of [`keys`](Self::keys) or [`introspect`](Self::introspect): their `iss`, byte for
    /// byte, and where clients get them.
    pub fn issuer(self, issuer: impl Into<String>) -> Self {
        let issuer = issuer.into();
        self.issued("issuer", |settings| settings.issuer = Some(issuer.clone()))
    }

    /// Sets the URL of the keys of a [`jwt`](Self::jwt) issuer that has no metadata.
    pub fn jwks_url(self, url: impl Into<String>) -> Self {
        let url = url.into();
        self.set("jwks_url", |settings| match &mut settings.how {
            How::Published { url: own } => {
                *own = Some(url.clone());
                true
            }
            _ => false,
        })
    }

    /// Accepts these signature algorithms only. Default: RS256, PS256, ES256 and `EdDSA`.
    pub fn algorithms(self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        let algorithms = Algorithms::of(algorithms);
        self.issued("algorithms", |settings| settings.algorithms = algorithms)
    }

    /// Sets how far the clocks of issuer and server may be apart. Default: one minute.
    pub fn leeway(self, leeway: Duration) -> Self {
        self.issued("leeway", |settings| settings.leeway = leeway.as_secs())
    }

    /// Accepts tokens for this audience, too: some issuers name a resource otherwise than by its URL.
    pub fn audience(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.issued("audience", |settings| settings.audience.push(name.clone()))
    }

    /// Sends requests to the authorization server with a client of your own.
    pub fn fetch_with(self, fetch: impl Fetch + 'static) -> Self {
        let fetch: Arc<dyn Fetch> = Arc::new(fetch);
        self.issued("fetch_with", |settings| settings.fetch = Some(Arc::clone(&fetch)))
    }

    /// Serves the metadata of the [`jwt`](Self::jwt) issuer at `/.well-known/oauth-authorization-server`, too, for clients
    /// of 2025-03-26: they look for it at the origin of the server, and nowhere else.
    pub fn serve_issuer_metadata(mut self) -> Self {
        self.serves_issuer_metadata = true;
        self
    }

    /// Keeps the answers of [`introspect`](Self::introspect) for a minute. A token that is revoked is accepted for as
    /// long.
    pub fn cache_answers(self) -> Self {
        self.asked("cache_answers", |asked| asked.is_cached = true)
    }

    /// Accepts tokens whose answer of [`introspect`](Self::introspect) has no `aud`. Only for an authorization server
    /// that issues tokens for this server alone: others could be used here that were meant for elsewhere.
    pub fn audience_optional(self) -> Self {
        self.asked("audience_optional", |asked| asked.needs_audience = false)
    }

    /// Sends id and secret of [`introspect`](Self::introspect) in the form (`client_secret_post`), not in a header.
    pub fn secret_in_form(self) -> Self {
        self.asked("secret_in_form", |asked| asked.is_posted = true)
    }

    /// Accepts, or requires, tokens that are bound to a key of the client, with a proof per request (`DPoP`, RFC 9449).
    ///
    /// A stolen token is then worth nothing without the key. Proofs are for the URL of [`resource`](Self::resource), and
    /// used once; each replica remembers those it has seen. Add [`dpop_nonces`](Self::dpop_nonces) to bound how old they
    /// can be by this server's clock. Tokens of [`bearer`](Self::bearer) and [`verify_with`](Self::verify_with) are bound to
    /// nothing: to require it of them is a mistake.
    pub fn dpop(mut self, dpop: Dpop) -> Self {
        let checker = self.possession.dpop.take().map(|(_, checker)| checker).unwrap_or_default();
        self.possession.dpop = Some((dpop, checker));
        self
    }

    /// Requires a nonce of this server in every proof, which clients get with the first 401. Replicas need the same
    /// secret. Use it after [`dpop`](Self::dpop).
    pub fn dpop_nonces(mut self, secret: impl Into<Secret>) -> Self {
        match (secret.into().0, self.possession.dpop.take()) {
            (Ok(secret), Some((dpop, checker))) if secret.len() >= 16 => {
                self.possession.dpop = Some((dpop, DpopChecker::with_nonces(checker, secret.as_bytes())));
            }
            (Ok(_), Some(_)) => self.mistakes.push("the secret of `dpop_nonces` needs 16 bytes or more".to_owned()),
            (Err(mistake), _) => self.mistakes.push(mistake),
            (_, None) => self.mistakes.push("`dpop_nonces` needs `.dpop(…)` before it".to_owned()),
        }
        self
    }

    /// Says which certificate a client has authenticated with, in DER: tokens may be bound to it (RFC 8705). Requires
    /// the feature `http`.
    ///
    /// It comes from whoever ends TLS, as an extension of the request or in a header that no client can set. Without
    /// this, tokens that are bound to a certificate are rejected.
    #[cfg(feature = "http")]
    pub fn certificate(
        mut self,
        certificate: impl Fn(&http::request::Parts) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        self.possession.certificate = Some(Box::new(certificate));
        self
    }

    fn issued(self, option: &str, set: impl Fn(&mut IssuedSettings)) -> Self {
        self.set(option, |settings| {
            set(settings);
            true
        })
    }

    fn asked(self, option: &str, set: impl Fn(&mut Asked)) -> Self {
        self.set(option, |settings| match &mut settings.how {
            How::Asked(asked) => {
                set(asked);
                true
            }
            _ => false,
        })
    }

    /// Sets an option of all authorization servers. There has to be one that has it.
    fn set(mut self, option: &str, set: impl Fn(&mut IssuedSettings) -> bool) -> Self {
        if !self.source.set(&set) {
            self.mistakes.push(format!("`{option}` does not fit how tokens are verified; see its documentation"));
        }
        self
    }
}

impl Source {
    fn issued(how: How, issuer: Option<String>) -> Self {
        Source::Issued(Box::new(IssuedSettings::new(how, issuer)))
    }

    fn set(&mut self, set: &impl Fn(&mut IssuedSettings) -> bool) -> bool {
        match self {
            Source::Issued(settings) => set(settings),
            Source::AnyOf(all) => all.iter_mut().fold(false, |any, auth| auth.source.set(set) | any),
            _ => false,
        }
    }
}
