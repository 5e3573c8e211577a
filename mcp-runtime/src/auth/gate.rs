//! [`Gate`]: an [`Auth`] that is in order. It verifies the tokens of a service, and describes the service.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::access::{Access, AccessPolicy};
use super::challenge::Challenge;
use super::issued::settings::no_proxy;
use super::jose::claims::Scheme;
use super::keys::proxy::MetadataProxy;
use super::possession::{Dpop, Possession, Unproven};
use super::resource::{ResourceUrl, WELL_KNOWN};
use super::verifier::{AnyOf, Presented, Rejection, RejectionKind, Verified, Verifier, Verifying};
use super::{Auth, Source};

/// What stands between a request and the service.
pub(crate) struct Gate {
    verifier: Box<dyn Verifier>,
    pub(crate) policy: Arc<AccessPolicy>,
    possession: Possession,
    /// The metadata of the issuer, if clients find it here.
    pub(crate) proxy: Option<MetadataProxy>,
    challenge: Challenge,
    resource: ResourceUrl,
    metadata_path: String,
    document: String,
    /// Whether a request for the document of another resource was logged.
    told: AtomicBool,
}

/// What a request has in the place of a token.
#[derive(Clone, Copy)]
pub(crate) enum Sent<'a> {
    /// Nothing, or something of another kind.
    None,
    /// Whatever it is, it is not malformed if it is known.
    Token {
        scheme: Scheme,
        token: &'a [u8],
    },
    Malformed(&'static str),
}

/// The credentials of a request.
#[derive(Clone, Copy)]
pub(crate) enum Credentials<'a> {
    /// None, or of another kind.
    None,
    Token(Presented<'a>),
    /// A token, but not as it must be sent.
    Malformed(&'static str),
}

/// A caller, or why there is none. Later, if the verifier has to wait.
pub(crate) enum Admission<'a> {
    Ready(Result<Access, Closed>),
    Later { presented: Presented<'a>, verifying: std::pin::Pin<Box<dyn Future<Output = Verified> + Send + 'a>> },
}

/// Why a request is rejected: its status, the challenge if there is one, and a text.
pub(crate) struct Closed {
    pub(crate) status: u16,
    pub(crate) challenge: Option<String>,
    /// In seconds.
    pub(crate) retry_after: Option<u64>,
    /// The value of `DPoP-Nonce`.
    pub(crate) nonce: Option<String>,
    pub(crate) text: String,
}

impl Closed {
    /// What is needed cannot be had now.
    pub(crate) fn unavailable(retry_after: Duration, text: &str) -> Self {
        let retry_after = Some(retry_after.as_secs().max(1));
        Closed { status: 503, challenge: None, retry_after, nonce: None, text: text.to_owned() }
    }
}

/// What a path is to a gate.
pub(crate) enum WellKnown<'a> {
    /// The document.
    Document(&'a str),
    /// The document of another resource.
    NotOurs,
}

impl Auth {
    /// Puts it in order, or says all that is wrong with it.
    pub(crate) fn into_gate(mut self) -> Result<Gate, String> {
        let mut mistakes = self.own_mistakes();
        let resource = match &self.resource {
            Some(resource) => ResourceUrl::parse(resource),
            None => Err("set `.resource(\"https://…\")`: the URL people type into their client".to_owned()),
        };
        let resource = resource.map_err(|mistake| mistakes.push(mistake)).ok();
        if let (Some((Dpop::Required, _)), Some(tokens)) = (&self.possession.dpop, self.source.unbindable()) {
            mistakes.push(format!(
                "`dpop(Dpop::Required)` would reject every token of `{tokens}`, which cannot be bound to a key: set \
                 `Dpop::Allowed`, or use `Auth::jwt`, `Auth::keys` or `Auth::introspect`"
            ));
        }
        let proxy = match (&mut self.source, self.serves_issuer_metadata) {
            (_, false) => Ok(None),
            (Source::Issued(settings), true) => settings.proxy().map(Some),
            _ => Err(no_proxy()),
        };
        let proxy = proxy.map_err(|mistake| mistakes.push(mistake)).unwrap_or_default();
        let verifier = resource.as_ref().map(|resource| verifier(self.source, resource));
        let verifier = match verifier {
            Some(Ok(verifier)) => Some(verifier),
            Some(Err(more)) => {
                mistakes.extend(more);
                None
            }
            None => None,
        };
        let (Some(resource), Some(verifier), true) = (resource, verifier, mistakes.is_empty()) else {
            return Err(format!("authorization cannot be set up: {}", mistakes.join("; ")));
        };
        if let Some(warning) = resource.warning() {
            tracing::warn!(resource = resource.as_str(), "{warning}");
        }
        let mut metadata = self.metadata;
        resource.as_str().clone_into(&mut metadata.resource);
        for issuer in verifier.issuers() {
            if !metadata.authorization_servers.contains(&issuer) {
                metadata.authorization_servers.push(issuer);
            }
        }
        metadata.scopes_supported.clone_from(&self.scopes);
        let mut challenge = Challenge::new(resource.metadata_url());
        if let Some((dpop, checker)) = &self.possession.dpop {
            metadata.dpop_signing_alg_values_supported = checker.algorithms.list();
            metadata.dpop_bound_access_tokens_required = *dpop == Dpop::Required;
            challenge = challenge.with_dpop(*dpop, checker.algorithms.names());
        }
        #[cfg(feature = "http")]
        {
            metadata.tls_client_certificate_bound_access_tokens = self.possession.certificate.is_some();
        }
        let policy = AccessPolicy {
            baseline: self.scopes,
            hierarchy: self.hierarchy,
            optional: self.optional,
            shows_all: self.shows_all,
            challenge: Some(challenge.clone()),
        };
        Ok(Gate {
            verifier,
            policy: Arc::new(policy),
            possession: self.possession,
            proxy,
            challenge,
            metadata_path: resource.metadata_path(),
            resource,
            document: metadata.json(),
            told: AtomicBool::new(false),
        })
    }
}

impl Source {
    /// The constructor of tokens that are never bound to a key, if there are some.
    fn unbindable(&self) -> Option<&'static str> {
        match self {
            Source::Bearer(_) => Some("Auth::bearer"),
            Source::Function(_) => Some("Auth::verify_with"),
            Source::AnyOf(all) => all.iter().find_map(|auth| auth.source.unbindable()),
            Source::Issued(_) | Source::Local(_) => None,
        }
    }
}

/// The verifier of a source, or all that is wrong with it.
fn verifier(source: Source, resource: &ResourceUrl) -> Result<Box<dyn Verifier>, Vec<String>> {
    match source {
        Source::Bearer(tokens) => {
            if let Some(warning) = tokens.warning() {
                tracing::warn!("{warning}");
            }
            Ok(Box::new(tokens))
        }
        Source::Function(verifier) => Ok(verifier),
        Source::Issued(settings) => Ok(Box::new(settings.verifier(resource)?)),
        Source::Local(_) => {
            let text = "`Auth::local` is for stdio, and verifies no token; give it to `Server::authorize`";
            Err(vec![text.to_owned()])
        }
        Source::AnyOf(all) => {
            let (mut verifiers, mut mistakes) = (Vec::new(), Vec::new());
            for mut one in all {
                mistakes.extend(one.own_mistakes());
                mistakes.extend(one.misplaced().map(|option| {
                    format!(
                        "set `{option}` on the whole of `Auth::any_of`, not on a part: `Auth::any_of([…]).{option}(…)`"
                    )
                }));
                match verifier(one.source, resource) {
                    Ok(verifier) => verifiers.push(verifier),
                    Err(more) => mistakes.extend(more),
                }
            }
            if verifiers.is_empty() && mistakes.is_empty() {
                mistakes.push("`Auth::any_of` has nothing to choose from".to_owned());
            }
            if mistakes.is_empty() { Ok(Box::new(AnyOf(verifiers))) } else { Err(mistakes) }
        }
    }
}

impl Gate {
    /// The resource, as people type it.
    pub(crate) fn resource(&self) -> &str {
        self.resource.as_str()
    }

    /// The host that clients connect to.
    pub(crate) fn host(&self) -> &str {
        self.resource.host()
    }

    /// The caller of a request whose token is known, and bound to nothing that would have to be proven. That is most
    /// requests: their token need not be looked at byte by byte.
    #[inline]
    pub(crate) fn recognize(&self, sent: &Sent<'_>) -> Option<Access> {
        match sent {
            Sent::Token { scheme: Scheme::Bearer, token } if !self.has_dpop() => {
                let user = self.verifier.known(token).filter(|user| user.binding().is_none())?;
                Some(Access::new(Arc::clone(&self.policy), Some(user)))
            }
            _ => None,
        }
    }

    /// Judges the credentials of a request.
    #[inline]
    pub(crate) fn admit<'a>(&'a self, credentials: Credentials<'a>) -> Admission<'a> {
        match credentials {
            Credentials::Token(presented) => match self.verifier.verify(presented) {
                Verifying::Ready(verified) => Admission::Ready(self.verified(&presented, verified)),
                Verifying::Later(verifying) => Admission::Later { presented, verifying },
            },
            Credentials::None if self.policy.optional => {
                Admission::Ready(Ok(Access::new(Arc::clone(&self.policy), None)))
            }
            Credentials::None => Admission::Ready(Err(self.anonymous())),
            Credentials::Malformed(why) => Admission::Ready(Err(self.malformed(why))),
        }
    }

    /// What comes of a verified token.
    #[inline]
    pub(crate) fn verified(&self, presented: &Presented<'_>, verified: Verified) -> Result<Access, Closed> {
        let user = verified.map_err(|rejection| self.rejected(presented.scheme, rejection))?;
        let proven = self.possession.check(presented, &user, self.resource());
        proven.map_err(|unproven| self.unproven(unproven))?;
        Ok(Access::new(Arc::clone(&self.policy), Some(user)))
    }

    /// Fetches what the verifier will need, and says what is wrong with the authorization servers.
    pub(crate) async fn preload(&self) -> Vec<String> {
        self.verifier.preload().await
    }

    /// Whether tokens of the scheme `DPoP` are accepted.
    #[inline]
    pub(crate) fn has_dpop(&self) -> bool {
        self.possession.has_dpop()
    }

    #[cold]
    fn anonymous(&self) -> Closed {
        let text = "send `Authorization: Bearer …` with every request".to_owned();
        let challenge = Some(self.challenge.anonymous(&self.policy.baseline));
        Closed { status: 401, challenge, retry_after: None, nonce: None, text }
    }

    #[cold]
    fn malformed(&self, why: &str) -> Closed {
        let challenge = Some(self.challenge.error(Scheme::Bearer, "invalid_request", why, &self.policy.baseline));
        Closed { status: 400, challenge, retry_after: None, nonce: None, text: why.to_owned() }
    }

    #[cold]
    fn unproven(&self, Unproven { error, why, scheme, nonce }: Unproven) -> Closed {
        let challenge = Some(self.challenge.error(scheme, error, &why, &self.policy.baseline));
        Closed { status: 401, challenge, retry_after: None, nonce, text: why }
    }

    #[cold]
    fn rejected(&self, scheme: Scheme, Rejection(rejection): Rejection) -> Closed {
        match rejection {
            RejectionKind::Invalid(why) => {
                let challenge = Some(self.challenge.error(scheme, "invalid_token", &why, &self.policy.baseline));
                Closed { status: 401, challenge, retry_after: None, nonce: None, text: why.into_owned() }
            }
            // Not 401: it would make the client throw its token away, and open a browser.
            RejectionKind::Unavailable { retry_after } => {
                Closed::unavailable(retry_after, "tokens cannot be verified now; retry later")
            }
        }
    }

    /// What a path is, if it is one of those where clients look for the document: with the path of the resource, or
    /// without. A `/` at its end is dropped.
    pub(crate) fn well_known(&self, path: &str) -> Option<WellKnown<'_>> {
        let rest = path.strip_prefix(WELL_KNOWN)?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
        let path = path.trim_end_matches('/');
        if path == self.metadata_path || path == WELL_KNOWN {
            return Some(WellKnown::Document(&self.document));
        }
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                asked = ?path,
                ours = self.metadata_path,
                resource = self.resource(),
                "a client asks for the document of another resource: is `Auth::resource` the URL that was typed?"
            );
        }
        Some(WellKnown::NotOurs)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("resource", &self.resource).field("policy", &self.policy).finish_non_exhaustive()
    }
}
