//! `DPoP` (RFC 9449): a proof per request that its sender holds the key that the access token is bound to.

pub(crate) mod nonce;
pub(crate) mod replay;
pub(crate) mod url;

#[cfg(test)]
mod tests;

use std::fmt;

use ring::digest;

use self::nonce::Nonces;
use self::replay::ReplayTable;
use super::algorithm::Algorithms;
use super::jwk::Jwk;
use super::jws::{Jws, JwsError};
use super::{base64url, json};
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;

/// How far `iat` of a proof may be from now, in seconds.
const WINDOW: u64 = 300;
/// The longest `jti` that is accepted, in bytes; a UUID has 36.
const MAX_ID: usize = 256;

/// Checks proofs, and remembers them until they are too old to be used again.
#[derive(Debug, Default)]
pub(crate) struct DpopChecker {
    pub(crate) algorithms: Algorithms,
    replay: ReplayTable,
    /// If given, proofs need a nonce of this server.
    nonces: Option<Nonces>,
}

/// A request with a proof.
pub(crate) struct ProvenRequest<'a> {
    /// The `DPoP` header.
    pub(crate) proof: &'a str,
    pub(crate) method: &'a str,
    /// The URL as clients know it; its query does not matter.
    pub(crate) url: &'a str,
    pub(crate) access_token: &'a str,
    /// The thumbprint of the key that the token is bound to.
    pub(crate) bound_to: &'a str,
}

/// Why a proof is refused. The texts are for `error_description`, as those of `TokenError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DpopError {
    /// What is wrong with the proof.
    Invalid(&'static str),
    /// The proof has no nonce of this server, or an old one.
    UseNonce,
    /// The token is bound to another key.
    OtherKey,
}

impl DpopError {
    /// The `error` of the challenge.
    pub(crate) fn code(self) -> &'static str {
        match self {
            DpopError::Invalid(_) => "invalid_dpop_proof",
            DpopError::UseNonce => "use_dpop_nonce",
            DpopError::OtherKey => "invalid_token",
        }
    }
}

impl fmt::Display for DpopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DpopError::Invalid(what) => write!(f, "the DPoP proof is not valid: {what}; make one for each request"),
            DpopError::UseNonce => {
                f.write_str("the DPoP proof needs the nonce of the DPoP-Nonce header of this response")
            }
            DpopError::OtherKey => f.write_str("the access token is bound to another key than that of the DPoP proof"),
        }
    }
}

impl std::error::Error for DpopError {}

impl DpopChecker {
    /// A checker of proofs that need a nonce. Replicas that share the secret accept each other's.
    pub(crate) fn with_nonces(mut self, secret: &[u8]) -> Self {
        self.nonces = Some(Nonces::new(secret));
        self
    }

    /// A nonce for the `DPoP-Nonce` header of a response, if proofs need one.
    pub(crate) fn nonce(&self, now: u64) -> Option<String> {
        self.nonces.as_ref().map(|nonces| nonces.issue(now))
    }

    /// Whether the proof is for this request and this token, and was not used before (RFC 9449 §4.3).
    pub(crate) fn check(&self, request: &ProvenRequest<'_>, now: u64) -> Result<(), DpopError> {
        let invalid = DpopError::Invalid;
        let jws = Jws::parse(request.proof).map_err(|error| match error {
            JwsError::TooLarge => invalid("it is longer than 16 KiB"),
            JwsError::NotCompact | JwsError::Encrypted => invalid("it is not a signed JWT"),
            JwsError::Critical => invalid("its header has crit"),
            JwsError::Malformed(part) => invalid(part),
        })?;
        if jws.header.kind.as_deref() != Some("dpop+jwt") {
            return Err(invalid("its typ is not dpop+jwt"));
        }
        let accepted = jws.header.algorithm.filter(|algorithm| self.algorithms.contains(*algorithm));
        let algorithm = accepted.ok_or(invalid("its algorithm is not one of the algs of the challenge"))?;
        let key = embedded_key(jws.header.embedded_key.as_deref())?;
        let claims =
            json::object(&jws.payload).ok_or(invalid("its payload is not a JSON object with distinct members"))?;
        let id = self.check_claims(&claims, request, now)?;
        if !key.verifies(algorithm, jws.signed()) {
            return Err(invalid("its signature is wrong"));
        }
        let thumbprint = key.thumbprint();
        if thumbprint != request.bound_to {
            return Err(DpopError::OtherKey);
        }
        // Last, so that only proofs that are good take room.
        if !self.replay.is_new(&[thumbprint.as_bytes(), id.as_bytes()], now) {
            return Err(invalid("its jti was used before"));
        }
        Ok(())
    }

    /// The `jti` of claims that are for this request.
    fn check_claims<'a>(
        &self,
        claims: &Object<'a>,
        request: &ProvenRequest<'_>,
        now: u64,
    ) -> Result<std::borrow::Cow<'a, str>, DpopError> {
        let invalid = DpopError::Invalid;
        let text = |key: &str| claims.get(key).and_then(Raw::text);
        let id = text("jti").filter(|id| (1..=MAX_ID).contains(&id.len()));
        let id = id.ok_or(invalid("its jti is not a string of 1 to 256 bytes"))?;
        if text("htm").as_deref() != Some(request.method) {
            return Err(invalid("its htm is not the method of the request"));
        }
        if !text("htu").is_some_and(|target| url::is_target(&target, request.url)) {
            return Err(invalid("its htu is not the URL of the request"));
        }
        let issued = claims.get("iat").and_then(json::date).ok_or(invalid("its iat is not a date in seconds"))?;
        if issued.abs_diff(now) > WINDOW {
            return Err(invalid("its iat is more than 5 minutes from now; compare the clocks"));
        }
        let hash = digest::digest(&digest::SHA256, request.access_token.as_bytes());
        if text("ath").as_deref() != Some(&*base64url::encode(hash.as_ref())) {
            return Err(invalid("its ath is not the hash of the access token"));
        }
        match &self.nonces {
            Some(nonces) if !text("nonce").is_some_and(|nonce| nonces.accepts(&nonce, now)) => Err(DpopError::UseNonce),
            _ => Ok(id),
        }
    }
}

fn embedded_key(text: Option<&str>) -> Result<Jwk, DpopError> {
    let object = text.and_then(json::object).ok_or(DpopError::Invalid("its header has no jwk"))?;
    // A private key is refused, too (RFC 9449 §4.2).
    Jwk::read(&object).map_err(|_| DpopError::Invalid("its jwk is not a public key that is supported"))
}
