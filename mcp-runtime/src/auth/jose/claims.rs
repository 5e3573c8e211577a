//! [`VerifiedToken`]: the claims of an access token (RFC 9068, RFC 7519), checked against a [`TokenPolicy`].

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::algorithm::Algorithms;
use super::audience::Audience;
use super::error::TokenError;
use super::json;
use super::jwk::KeyTrust;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;

/// How far the clocks of two servers may be apart, in seconds.
pub(crate) const LEEWAY: u64 = 60;

/// Which tokens are accepted.
#[derive(Debug, Clone)]
pub(crate) struct TokenPolicy {
    /// Compared byte by byte (RFC 8414 §3.3).
    pub(crate) issuer: Box<str>,
    pub(crate) audience: Audience,
    pub(crate) algorithms: Algorithms,
    /// In seconds.
    pub(crate) leeway: u64,
}

impl TokenPolicy {
    pub(crate) fn new(issuer: impl Into<Box<str>>, audience: Audience) -> Self {
        TokenPolicy { issuer: issuer.into(), audience, algorithms: Algorithms::default(), leeway: LEEWAY }
    }
}

/// What an access token says, once it is known to be true.
#[derive(Clone)]
pub(crate) struct VerifiedToken {
    pub(crate) issuer: Box<str>,
    pub(crate) subject: Option<Box<str>>,
    pub(crate) client_id: Option<Box<str>>,
    pub(crate) scopes: Vec<Box<str>>,
    /// In seconds since 1970.
    pub(crate) expires_at: u64,
    /// For how many seconds more it is accepted.
    pub(crate) leeway: u64,
    /// Until when it need not be verified again; the same clock.
    pub(crate) cache_until: u64,
    /// All claims, as the issuer wrote them: a JSON object.
    pub(crate) claims: Box<str>,
    pub(crate) binding: Binding,
    /// The trust in the key that signed it; `None` if it was introspected.
    pub(crate) key: Option<Arc<KeyTrust>>,
}

/// Without its claims: they are about a person, and logs are read by others.
impl fmt::Debug for VerifiedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedToken")
            .field("issuer", &self.issuer)
            .field("subject", &self.subject)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// What the bearer of a token has to prove besides: `cnf` (RFC 7800).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    /// `jkt`: the thumbprint of the key of its `DPoP` proofs (RFC 9449 §6).
    pub(crate) dpop_key: Option<Box<str>>,
    /// `x5t#S256`: the SHA-256 of its TLS client certificate (RFC 8705 §3).
    pub(crate) certificate: Option<Box<str>>,
}

/// How a token is sent: the first word of `Authorization`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Bearer,
    Dpop,
}

impl Binding {
    /// How such a token has to be sent.
    pub(crate) fn scheme(&self) -> Scheme {
        if self.dpop_key.is_some() { Scheme::Dpop } else { Scheme::Bearer }
    }

    pub(crate) fn read(claims: &Object<'_>) -> Result<Self, TokenError> {
        let Some(raw) = claims.get("cnf") else { return Ok(Binding::default()) };
        let object = json::inner_object(raw).ok_or(TokenError::UnknownBinding)?;
        let text = |key| json::optional_text(&object, key).map_err(|_| TokenError::UnknownBinding);
        let binding = Binding { dpop_key: text("jkt")?.map(boxed), certificate: text("x5t#S256")?.map(boxed) };
        // Bound in a way that is not checked here: as a bearer token it would be worth more than its issuer meant.
        if binding == Binding::default() { Err(TokenError::UnknownBinding) } else { Ok(binding) }
    }
}

/// The claims of a token, if the policy accepts them at `now`. `is_profiled`: its header says that it is an access token
/// (`at+jwt`), so that it need not be told from an ID token by its claims.
pub(crate) fn check(
    payload: &str,
    is_profiled: bool,
    policy: &TokenPolicy,
    now: u64,
) -> Result<VerifiedToken, TokenError> {
    let claims =
        json::object(payload).ok_or(TokenError::Malformed("its payload is not a JSON object with distinct members"))?;
    let issuer = claims.get("iss").and_then(Raw::text).unwrap_or_default();
    if *issuer != *policy.issuer {
        return Err(TokenError::WrongIssuer);
    }
    let client_id = client(&claims)?;
    let audience = claims.get("aud").and_then(json::texts).unwrap_or_default();
    if !is_profiled {
        refuse_other_tokens(&claims, &audience, client_id.as_deref())?;
    }
    if !audience.iter().any(|name| policy.audience.has(name)) {
        return Err(TokenError::WrongAudience);
    }
    let expires_at = check_times(&claims, policy.leeway, now)?.ok_or(TokenError::NoExpiry)?;
    let subject = text(&claims, "sub", "its sub is not a string")?;
    Ok(VerifiedToken {
        issuer: policy.issuer.clone(),
        subject: subject.map(boxed),
        client_id: client_id.map(boxed),
        scopes: scopes(&claims)?,
        expires_at,
        leeway: policy.leeway,
        cache_until: expires_at,
        claims: payload.trim().into(),
        binding: Binding::read(&claims)?,
        key: None,
    })
}

/// The expiry of a token that is valid at `now`; `None` if it does not say.
pub(crate) fn check_times(claims: &Object<'_>, leeway: u64, now: u64) -> Result<Option<u64>, TokenError> {
    let date = |key: &str, malformed| match claims.get(key) {
        None => Ok(None),
        Some(raw) => json::date(raw).map(Some).ok_or(TokenError::Malformed(malformed)),
    };
    let expires_at = date("exp", "its exp is not a date in seconds")?;
    if expires_at.is_some_and(|end| now >= end.saturating_add(leeway)) {
        return Err(TokenError::Expired);
    }
    if date("nbf", "its nbf is not a date in seconds")?.is_some_and(|start| start > now.saturating_add(leeway)) {
        return Err(TokenError::NotYetValid);
    }
    if date("iat", "its iat is not a date in seconds")?.is_some_and(|issued| issued > now.saturating_add(leeway)) {
        return Err(TokenError::IssuedInFuture);
    }
    Ok(expires_at)
}

/// Tokens of the same issuer with the same signature that are no access tokens, by what only they have.
fn refuse_other_tokens(claims: &Object<'_>, audience: &[Cow<'_, str>], client: Option<&str>) -> Result<(), TokenError> {
    // Keycloak says it in a claim.
    match claims.get("typ").and_then(Raw::text).as_deref() {
        Some("ID") => return Err(TokenError::IdToken),
        Some("Refresh" | "Offline") => return Err(TokenError::RefreshToken),
        _ => {}
    }
    let is_for_client = matches!((audience, client), ([only], Some(client)) if only == client);
    if is_for_client || ["nonce", "at_hash", "c_hash"].iter().any(|claim| claims.get(claim).is_some()) {
        return Err(TokenError::IdToken);
    }
    Ok(())
}

/// `client_id` (RFC 9068), or what `OpenID` Connect calls it.
fn client<'a>(claims: &Object<'a>) -> Result<Option<Cow<'a, str>>, TokenError> {
    match text(claims, "client_id", "its client_id is not a string")? {
        Some(id) => Ok(Some(id)),
        None => text(claims, "azp", "its azp is not a string"),
    }
}

/// `scope` (RFC 8693 §4.2), else `scp`, which Entra and Okta use. Each may be a list.
pub(crate) fn scopes(claims: &Object<'_>) -> Result<Vec<Box<str>>, TokenError> {
    let Some(raw) = claims.get("scope").or_else(|| claims.get("scp")) else { return Ok(Vec::new()) };
    let lists = json::texts(raw).ok_or(TokenError::Malformed("its scope is not a string"))?;
    let mut scopes: Vec<Box<str>> = Vec::new();
    for scope in lists.iter().flat_map(|list| list.split(' ')).filter(|scope| !scope.is_empty()) {
        if !scopes.iter().any(|known| **known == *scope) {
            scopes.push(scope.into());
        }
    }
    Ok(scopes)
}

fn text<'a>(claims: &Object<'a>, key: &str, malformed: &'static str) -> Result<Option<Cow<'a, str>>, TokenError> {
    json::optional_text(claims, key).map_err(|_| TokenError::Malformed(malformed))
}

fn boxed(text: Cow<'_, str>) -> Box<str> {
    text.into_owned().into()
}
