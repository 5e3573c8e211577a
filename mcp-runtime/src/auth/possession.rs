//! [`Possession`]: whether the sender of a token is the one it was issued to. A token that is bound to a key or a
//! certificate is worth nothing to who has stolen it, as long as the binding is checked.

use std::fmt;

use ring::digest;

use super::jose::base64url;
use super::jose::claims::Scheme;
use super::jose::dpop::{DpopChecker, DpopError, ProvenRequest};
use super::verifier::Presented;
use super::{User, clock};

/// Whether tokens may, or have to, be bound to a key of the client: [`Auth::dpop`](super::Auth::dpop).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dpop {
    /// Tokens that are bound to a key need a proof; others are accepted without.
    Allowed,
    /// Every token has to be bound to a key.
    Required,
}

/// The DER form of the certificate that a request's client has authenticated with.
#[cfg(feature = "http")]
pub(crate) type CertificateFn = Box<dyn Fn(&http::request::Parts) -> Option<Vec<u8>> + Send + Sync>;

/// Checks the bindings of tokens.
#[derive(Default)]
pub(crate) struct Possession {
    pub(crate) dpop: Option<(Dpop, DpopChecker)>,
    #[cfg(feature = "http")]
    pub(crate) certificate: Option<CertificateFn>,
}

/// Why the sender of a token cannot use it: 401.
pub(crate) struct Unproven {
    /// The `error` of the challenge.
    pub(crate) error: &'static str,
    pub(crate) why: String,
    /// How the token has to be sent.
    pub(crate) scheme: Scheme,
    /// A nonce for the next proof.
    pub(crate) nonce: Option<String>,
}

impl Unproven {
    fn token(scheme: Scheme, why: &str) -> Self {
        Unproven { error: "invalid_token", why: why.to_owned(), scheme, nonce: None }
    }
}

impl Possession {
    /// Whether tokens of the scheme `DPoP` are accepted.
    pub(crate) fn has_dpop(&self) -> bool {
        self.dpop.is_some()
    }

    /// Whether the certificates of clients are known.
    #[cfg(feature = "http")]
    pub(crate) fn has_certificate(&self) -> bool {
        self.certificate.is_some()
    }

    #[cfg(not(feature = "http"))]
    #[allow(clippy::unused_self, reason = "as with HTTP")]
    pub(crate) fn has_certificate(&self) -> bool {
        false
    }

    /// Whether the request with a token of this user proves what the token asks for.
    #[inline]
    pub(crate) fn check(&self, presented: &Presented<'_>, user: &User, url: &str) -> Result<(), Unproven> {
        if user.binding().is_none() && self.dpop.is_none() && presented.scheme == Scheme::Bearer {
            return Ok(());
        }
        self.check_key(presented, user, url)?;
        self.check_certificate(presented, user)
    }

    /// <https://www.rfc-editor.org/rfc/rfc9449#section-7.1>
    fn check_key(&self, presented: &Presented<'_>, user: &User, url: &str) -> Result<(), Unproven> {
        let bound_to = user.binding().and_then(|binding| binding.dpop_key.as_deref());
        match (presented.scheme, bound_to, &self.dpop) {
            (Scheme::Bearer, None, None | Some((Dpop::Allowed, _))) => Ok(()),
            (_, None, Some((Dpop::Required, _))) => Err(Unproven::token(
                Scheme::Dpop,
                "the access token is not bound to a key, which this server requires; get one with DPoP",
            )),
            (Scheme::Dpop, None, _) => Err(Unproven::token(
                Scheme::Bearer,
                "the access token is not bound to a key; send it as Bearer, or get one with DPoP",
            )),
            (_, Some(_), None) => Err(Unproven::token(
                Scheme::Bearer,
                "the access token is bound to a key, and this server does not accept DPoP; get one without",
            )),
            // Else who has stolen it could use it.
            (Scheme::Bearer, Some(_), Some(_)) => Err(Unproven::token(
                Scheme::Dpop,
                "the access token is bound to a key; send it as DPoP with a proof, not as Bearer",
            )),
            (Scheme::Dpop, Some(bound_to), Some((_, checker))) => prove(checker, presented, bound_to, url),
        }
    }

    /// <https://www.rfc-editor.org/rfc/rfc8705#section-3>
    fn check_certificate(&self, presented: &Presented<'_>, user: &User) -> Result<(), Unproven> {
        let Some(bound_to) = user.binding().and_then(|binding| binding.certificate.as_deref()) else { return Ok(()) };
        let unproven = |why| Err(Unproven::token(presented.scheme, why));
        let Some(certificate) = self.certificate_of(presented) else {
            return unproven("the access token is bound to a client certificate; connect with that certificate");
        };
        let hash = digest::digest(&digest::SHA256, &certificate);
        if base64url::encode(hash.as_ref()) != bound_to {
            return unproven("the access token is bound to another client certificate than that of the connection");
        }
        Ok(())
    }

    #[cfg(feature = "http")]
    fn certificate_of(&self, presented: &Presented<'_>) -> Option<Vec<u8>> {
        let (Some(certificate), Some(parts)) = (&self.certificate, presented.parts) else {
            tracing::warn!("a token is bound to a client certificate, which needs `Auth::certificate`; it is rejected");
            return None;
        };
        crate::panic::catch(|| certificate(parts)).unwrap_or_else(|| {
            tracing::error!("the function of `Auth::certificate` panicked; the token is rejected");
            None
        })
    }

    #[cfg(not(feature = "http"))]
    #[allow(clippy::unused_self, reason = "as with HTTP")]
    fn certificate_of(&self, _: &Presented<'_>) -> Option<Vec<u8>> {
        None
    }
}

fn prove(checker: &DpopChecker, presented: &Presented<'_>, bound_to: &str, url: &str) -> Result<(), Unproven> {
    let now = clock::now();
    let proven = match presented.proof {
        None => Err(DpopError::Invalid("there is not exactly one DPoP header")),
        Some(proof) => {
            let (method, access_token) = (presented.method, presented.token);
            checker.check(&ProvenRequest { proof, method, url, access_token, bound_to }, now)
        }
    };
    proven.map_err(|error| Unproven {
        error: error.code(),
        why: error.to_string(),
        scheme: Scheme::Dpop,
        nonce: if error == DpopError::UseNonce { checker.nonce(now) } else { None },
    })
}

impl fmt::Debug for Possession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dpop = self.dpop.as_ref().map(|(dpop, _)| dpop);
        f.debug_struct("Possession").field("dpop", &dpop).finish_non_exhaustive()
    }
}
