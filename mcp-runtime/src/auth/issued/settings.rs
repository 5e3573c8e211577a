//! [`IssuedSettings`]: how the tokens of an authorization server are verified, until the resource is known that they have to
//! be for.

use std::sync::Arc;

use super::introspect::{ClientCredentials, Introspection};
use super::{IssuedTokens, Judge};
use crate::auth::bearer::Secret;
use crate::auth::fetch::{Fetch, check_url};
use crate::auth::jose::algorithm::Algorithms;
use crate::auth::jose::audience::Audience;
use crate::auth::jose::claims::{LEEWAY, TokenPolicy};
use crate::auth::jose::key_set::KeySet;
use crate::auth::keys::proxy::MetadataProxy;
use crate::auth::keys::source::KeySource;
use crate::auth::resource::ResourceUrl;

/// How the tokens of one authorization server are verified.
pub(crate) struct IssuedSettings {
    pub(crate) how: How,
    pub(crate) issuer: Option<String>,
    pub(crate) audience: Vec<String>,
    pub(crate) algorithms: Algorithms,
    pub(crate) leeway: u64,
    pub(crate) fetch: Option<Arc<dyn Fetch>>,
}

pub(crate) enum How {
    /// The keys that the issuer publishes, at a URL of their own or where its metadata says.
    Published { url: Option<String> },
    /// These keys.
    Given(String),
    /// The answers of this endpoint.
    Asked(Asked),
}

/// An introspection endpoint.
pub(crate) struct Asked {
    pub(crate) url: String,
    pub(crate) id: String,
    pub(crate) secret: Secret,
    pub(crate) is_posted: bool,
    pub(crate) is_cached: bool,
    pub(crate) needs_audience: bool,
}

impl IssuedSettings {
    pub(crate) fn new(how: How, issuer: Option<String>) -> Self {
        let (audience, algorithms) = (Vec::new(), Algorithms::default());
        IssuedSettings { how, issuer, audience, algorithms, leeway: LEEWAY, fetch: None }
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
                Judge::asking(introspection)
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
