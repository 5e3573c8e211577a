//! What people write about tokens that an authorization server issues, and how they are bound to whom they are issued to.

use std::sync::Arc;
use std::time::Duration;

use super::introspect::{ClientCredentials, Introspection};
use super::{IssuedTokens, Judge};
use crate::auth::bearer::Secret;
use crate::auth::fetch::{Fetch, check_url};
use crate::auth::jose::algorithm::{Algorithm, Algorithms};
use crate::auth::jose::audience::Audience;
use crate::auth::jose::claims::{LEEWAY, TokenPolicy};
use crate::auth::jose::dpop::DpopChecker;
use crate::auth::jose::key_set::KeySet;
use crate::auth::keys::proxy::MetadataProxy;
use crate::auth::keys::source::KeySource;
use crate::auth::possession::Dpop;
use crate::auth::resource::ResourceUrl;
use crate::auth::{Auth, Source};

/// How the tokens of one authorization server are verified.
pub(crate) struct IssuedSettings {
    how: How,
    issuer: Option<String>,
    audience: Vec<String>,
    algorithms: Algorithms,
    leeway: u64,
    fetch: Option<Arc<dyn Fetch>>,
}

enum How {
    /// The keys that the issuer publishes, at a URL of their own or where its metadata says.
    Published { url: Option<String> },
    /// These keys.
    Given(String),
    /// The answers of this endpoint.
    Asked(Asked),
}

/// An introspection endpoint.
struct Asked {
    url: String,
    id: String,
    secret: Secret,
    is_posted: bool,
    is_cached: bool,
    needs_audience: bool,
}

impl IssuedSettings {
    fn source(how: How, issuer: Option<String>) -> Source {
        let (audience, algorithms) = (Vec::new(), Algorithms::default());
        Source::Issued(Box::new(IssuedSettings { how, issuer, audience, algorithms, leeway: LEEWAY, fetch: None }))
    }

    /// The metadata of the issuer, to be served to clients of 2025-03-26.
    pub(crate) fn proxy(&mut self) -> Result<MetadataProxy, String> {
        let (How::Published { .. }, Some(issuer)) = (&self.how, &self.issuer) else { return Err(no_proxy()) };
        let fetch = match &self.fetch {
            Some(fetch) => Arc::clone(fetch),
            None => default_fetch()?,
        };
        self.fetch = Some(Arc::clone(&fetch));
        Ok(MetadataProxy::new(issuer.as_str(), fetch))
    }

    /// The verifier, or all that is wrong with it.
    pub(crate) fn verifier(self, resource: &ResourceUrl) -> Result<IssuedTokens, Vec<String>> {
        let IssuedSettings { how, issuer, audience, algorithms, leeway, fetch } = self;
        let audience = Audience::new(std::iter::once(resource.as_str().to_owned()).chain(audience));
        let name = issuer.as_deref().unwrap_or_default();
        let policy = |audience| TokenPolicy { algorithms, leeway, ..TokenPolicy::new(name, audience) };
        let judge = match how {
            How::Published { url } => {
                let fetch = fetch_for(fetch.as_ref(), url.as_deref().unwrap_or(name))?;
                let source = match url {
                    Some(url) => KeySource::at(url, fetch),
                    None => KeySource::of_issuer(name, fetch),
                };
                Judge::Keys { source, policy: policy(audience) }
            }
            How::Given(keys) => {
                let keys = given_keys(&keys, issuer.is_some())?;
                Judge::Keys { source: KeySource::given(keys), policy: policy(audience) }
            }
            How::Asked(asked) => {
                let fetch = fetch_for(fetch.as_ref(), &asked.url)?;
                let issuer = issuer.as_deref().map(Into::into);
                let mut introspection = asked.introspection(issuer, audience, fetch)?;
                introspection.leeway = leeway;
                Judge::Introspection(introspection)
            }
        };
        Ok(IssuedTokens::new(judge, issuer))
    }
}

impl Asked {
    fn introspection(
        self,
        issuer: Option<Box<str>>,
        audience: Audience,
        fetch: Arc<dyn Fetch>,
    ) -> Result<Introspection, Vec<String>> {
        let (id, secret) = (self.id.into(), self.secret.0.map_err(|mistake| vec![mistake])?.into());
        let client = if self.is_posted {
            ClientCredentials::Post { id, secret }
        } else {
            ClientCredentials::Basic { id, secret }
        };
        let mut introspection = Introspection::new(self.url, client, issuer, audience, fetch);
        introspection.is_cached = self.is_cached;
        introspection.audience_is_optional = !self.needs_audience;
        Ok(introspection)
    }
}

/// The client for a URL that may be asked, or all that is wrong with it.
fn fetch_for(given: Option<&Arc<dyn Fetch>>, url: &str) -> Result<Arc<dyn Fetch>, Vec<String>> {
    let fetch = given.map_or_else(default_fetch, |fetch| Ok(Arc::clone(fetch)));
    match (fetch, check_url(url)) {
        (Ok(fetch), Ok(())) => Ok(fetch),
        (fetch, url) => Err(fetch.err().into_iter().chain(url.err().map(|error| error.to_string())).collect()),
    }
}

pub(crate) fn no_proxy() -> String {
    "`serve_issuer_metadata` needs one `Auth::jwt`, whose metadata it is".to_owned()
}

/// The keys of a set, or all that is wrong with them.
fn given_keys(text: &str, has_issuer: bool) -> Result<KeySet, Vec<String>> {
    let mut mistakes = Vec::new();
    let keys = KeySet::parse(text).ok();
    match &keys {
        None => mistakes.push("`Auth::keys` needs a JSON Web Key Set: {\"keys\": […]}".to_owned()),
        Some(keys) if keys.is_empty() => {
            let text = "`Auth::keys` has no key that can be used: it needs public RSA (2048 bits or more), P-256, P-384 or \
                        Ed25519 keys";
            mistakes.push(text.to_owned());
        }
        Some(_) => {}
    }
    if !has_issuer {
        mistakes.push("`Auth::keys` needs `.issuer(\"https://…\")`: the `iss` of its tokens".to_owned());
    }
    keys.filter(|_| mistakes.is_empty()).ok_or(mistakes)
}

#[cfg(feature = "auth-fetch")]
#[allow(clippy::unnecessary_wraps, reason = "as without the feature")]
fn default_fetch() -> Result<Arc<dyn Fetch>, String> {
    Ok(Arc::new(crate::auth::fetch::https::HttpsFetcher::new()))
}

#[cfg(not(feature = "auth-fetch"))]
fn default_fetch() -> Result<Arc<dyn Fetch>, String> {
    Err("the authorization server cannot be asked: enable the feature `auth-fetch`, or set `.fetch_with(…)`".to_owned())
}

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
        Auth::new(IssuedSettings::source(How::Published { url: None }, Some(issuer.into())))
    }

    /// Accepts JWT access tokens that are signed with one of these keys, a JSON Web Key Set (RFC 7517). Nothing is
    /// fetched. [`issuer`](Self::issuer) is required.
    pub fn keys(jwks: impl Into<String>) -> Self {
        Auth::new(IssuedSettings::source(How::Given(jwks.into()), None))
    }

    /// Asks an authorization server about every token (RFC 7662): for tokens that only it can read, or that it may
    /// revoke. `url` is its introspection endpoint; `id` and `secret` are this server's credentials there.
    ///
    /// Requires the feature `auth-fetch`, or [`fetch_with`](Self::fetch_with).
    pub fn introspect(url: impl Into<String>, id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        let (url, id, secret) = (url.into(), id.into(), secret.into());
        let how = How::Asked(Asked { url, id, secret, is_posted: false, is_cached: false, needs_audience: true });
        Auth::new(IssuedSettings::source(how, None))
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
    /// can be by this server's clock.
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
    fn set(&mut self, set: &impl Fn(&mut IssuedSettings) -> bool) -> bool {
        match self {
            Source::Issued(settings) => set(settings),
            Source::AnyOf(all) => all.iter_mut().fold(false, |any, auth| auth.source.set(set) | any),
            _ => false,
        }
    }
}
