//! Signed tokens (JWS, JWT): read, verified, and turned into a [`VerifiedToken`](claims::VerifiedToken).
//!
//! Signatures are verified by `ring::signature` directly. `jsonwebtoken` 11 does not fit a library: its cryptography is
//! one provider per process (`CryptoProvider::install_default`, without a way to pass one to a call), the first to be
//! installed wins, and its own two are C (`aws-lc-rs`) or 61 crates (`rust_crypto`). A provider on ring, installed here,
//! would replace that of the application, whose calls to `encode` would then panic; one installed by the application
//! would verify our tokens. It ignores `crit` besides. What it would save is little: ring takes the numbers of a JWK as
//! they are. What is dangerous in JOSE is the negotiation, so there is none: the key decides about the algorithm, nothing
//! in a token names a key but `kid`, and what is not understood is refused.
//!
//! A token is refused for its claims before its signature is verified: a refusal is the same either way, and only tokens
//! that would be accepted cost a signature, or a request to the issuer for a new key.

pub(crate) mod algorithm;
pub(crate) mod audience;
pub(crate) mod base64url;
pub(crate) mod claims;
pub(crate) mod dpop;
pub(crate) mod error;
pub(crate) mod json;
pub(crate) mod jwk;
pub(crate) mod jws;
pub(crate) mod key_set;
pub(crate) mod token;

#[cfg(test)]
pub(crate) mod tests;
