//! [`IssuedTokens`]: the verifier of tokens that an authorization server issues, who are its users, and which of them
//! need not be verified again.

pub(crate) mod cache;
mod inquiries;
pub(crate) mod introspect;
mod options;
pub(crate) mod settings;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use self::cache::{KnownUser, TokenCache};
use self::inquiries::Inquiries;
use self::introspect::Introspection;
use super::jose::claims::{TokenPolicy, VerifiedToken};
use super::jose::token::UnverifiedToken;
use super::keys::source::{KeySource, VerifyError};
use super::scope::Granted;
use super::verifier::{Preloading, Presented, Rejection, Verified, Verifier, Verifying, guarded};
use super::{User, clock};

/// Verifies the tokens of one authorization server.
pub(crate) struct IssuedTokens {
    judge: Judge,
    /// Where clients get them; `None` if introspection does not say.
    issuer: Option<String>,
    cache: TokenCache,
}

/// Who says whether a token is valid.
pub(crate) enum Judge {
    /// Its signature and its claims.
    Keys { source: KeySource, policy: TokenPolicy },
    /// The authorization server.
    Introspection { introspection: Introspection, inquiries: Arc<Inquiries> },
}

impl Judge {
    pub(crate) fn asking(introspection: Introspection) -> Self {
        Judge::Introspection { introspection, inquiries: Arc::default() }
    }
}

impl IssuedTokens {
    pub(crate) fn new(judge: Judge, issuer: Option<String>) -> Self {
        let cache = match &judge {
            Judge::Keys { .. } => TokenCache::of_jwts(),
            Judge::Introspection { .. } => TokenCache::of_opaque_tokens(),
        };
        IssuedTokens { judge, issuer, cache }
    }

    async fn check(&self, token: &str, now: u64) -> Verified {
        let verified = match &self.judge {
            Judge::Keys { source, policy } => match UnverifiedToken::parse(token) {
                Ok(unverified) => source.verify(&unverified, policy, now).await,
                Err(error) => Err(VerifyError::Token(error)),
            },
            Judge::Introspection { introspection, inquiries } => {
                let inquire = || {
                    let (introspection, token) = (introspection.clone(), token.to_owned());
                    async move { introspection.verify(&token, now).await }
                };
                inquiries.make(token, inquire).await
            }
        };
        let known = KnownUser::new(verified?)?;
        let user = Arc::clone(&known.user);
        if known.until > now {
            self.cache.insert(token, known);
        }
        Ok(user)
    }
}

impl Verifier for IssuedTokens {
    #[inline]
    fn verify<'a>(&'a self, presented: Presented<'a>) -> Verifying<'a> {
        let token = presented.token;
        match self.known(token.as_bytes()) {
            Some(user) => Verifying::Ready(Ok(user)),
            // An introspection may call a `Fetch` of the user's.
            None => Verifying::Later(Box::pin(guarded(move || self.check(token, clock::now())))),
        }
    }

    fn known(&self, token: &[u8]) -> Option<Arc<User>> {
        self.cache.get(token, SystemTime::now())
    }

    fn issuers(&self) -> Vec<String> {
        self.issuer.iter().cloned().collect()
    }

    fn is_issuer(&self, issuer: &str) -> bool {
        self.issuer.as_deref() == Some(issuer)
    }

    fn preload(&self) -> Preloading<'_> {
        match &self.judge {
            Judge::Keys { source, .. } => Box::pin(async { source.preload().await.err().into_iter().collect() }),
            Judge::Introspection { .. } => Box::pin(std::future::ready(Vec::new())),
        }
    }
}

impl KnownUser {
    /// The user of a token. It has to name somebody: all that it does not name would be one.
    pub(crate) fn new(token: VerifiedToken) -> Result<Self, Rejection> {
        let VerifiedToken { issuer, subject, client_id, scopes, expires_at, leeway, cache_until, .. } = token;
        let VerifiedToken { claims, binding, key, .. } = token;
        let subject = subject.or_else(|| client_id.clone()).filter(|subject| !subject.is_empty()).ok_or_else(|| {
            Rejection::invalid("the access token has neither sub nor client_id; let the authorization server add one")
        })?;
        let mut user = User::new(subject).with_issuer(issuer).with_granted(Granted::Only(scopes));
        if let Some(client_id) = client_id {
            user = user.with_client_id(client_id);
        }
        if let Some(end) = clock::at(expires_at) {
            user = user.with_expiry(end).with_leeway(Duration::from_secs(leeway));
        }
        let user = Arc::new(user.with_raw_claims(claims).bound(binding));
        Ok(KnownUser { user, until: cache_until, key })
    }
}

impl From<VerifyError> for Rejection {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::Token(error) => Rejection::invalid(error.to_string()),
            VerifyError::Unavailable { retry_after } => Rejection::unavailable(retry_after),
        }
    }
}
