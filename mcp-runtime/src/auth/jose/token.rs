//! [`UnverifiedToken`]: an access token as it was sent, and its verification.

use super::claims::{self, TokenPolicy, VerifiedToken};
use super::error::TokenError;
use super::json;
use super::jws::{Jws, JwsError};
use super::key_set::KeySet;
use crate::jsonrpc::raw::Raw;

/// A JWT access token that was taken apart. Nothing in it is known to be true.
#[derive(Debug)]
pub(crate) struct UnverifiedToken<'a> {
    jws: Jws<'a>,
}

impl<'a> UnverifiedToken<'a> {
    pub(crate) fn parse(token: &'a str) -> Result<Self, TokenError> {
        let jws = Jws::parse(token).map_err(|error| match error {
            JwsError::TooLarge => TokenError::TooLarge,
            JwsError::NotCompact => TokenError::NotJwt,
            JwsError::Encrypted => TokenError::Encrypted,
            JwsError::Critical => TokenError::Critical,
            JwsError::Malformed(part) => TokenError::Malformed(part),
        })?;
        Ok(UnverifiedToken { jws })
    }

    /// The issuer it names: which of several policies to verify it with.
    pub(crate) fn issuer(&self) -> Option<String> {
        let claims = json::object(&self.jws.payload)?;
        claims.get("iss").and_then(Raw::text).map(std::borrow::Cow::into_owned)
    }

    /// What it says, if the policy accepts it at `now` (seconds since 1970) and one of the keys has signed it.
    pub(crate) fn verify(&self, keys: &KeySet, policy: &TokenPolicy, now: u64) -> Result<VerifiedToken, TokenError> {
        let header = &self.jws.header;
        let unaccepted = TokenError::Algorithm(policy.algorithms);
        let algorithm =
            header.algorithm.filter(|algorithm| policy.algorithms.contains(*algorithm)).ok_or(unaccepted)?;
        let is_profiled = match header.kind.as_deref() {
            Some("at+jwt") => true,
            Some("jwt") | None => false,
            Some(_) => return Err(TokenError::WrongType),
        };
        let mut verified = claims::check(&self.jws.payload, is_profiled, policy, now)?;
        let key = keys.verify(algorithm, header.key_id.as_deref(), self.jws.signed())?;
        verified.key = Some(key.trust.clone());
        Ok(verified)
    }
}
