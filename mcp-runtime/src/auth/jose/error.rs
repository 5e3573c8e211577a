//! [`TokenError`]: why an access token is refused, in words for its `error_description`.

use std::fmt;

use super::algorithm::Algorithms;

/// Why an access token is refused: HTTP 401, `invalid_token`.
///
/// Its text is shown to whoever sent the token. It has only characters that an `error_description` may have
/// (RFC 6750 §3), says what to do, and has nothing of the token in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenError {
    TooLarge,
    NotJwt,
    Encrypted,
    /// The part that cannot be read.
    Malformed(&'static str),
    /// The algorithms that are accepted.
    Algorithm(Algorithms),
    Critical,
    WrongType,
    IdToken,
    RefreshToken,
    WrongIssuer,
    WrongAudience,
    NoExpiry,
    Expired,
    NotYetValid,
    IssuedInFuture,
    /// No key has its `kid`, or none fits: the issuer may have a new one.
    UnknownKey,
    /// The key with its `kid` is for another algorithm.
    OtherAlgorithm,
    /// It has no `kid`, and several keys fit.
    AmbiguousKey,
    /// Of a token with a `kid`.
    BadSignature,
    /// Of a token without a `kid`: the one key that fits may have been replaced.
    BadSignatureWithoutKeyId,
    /// It is bound to a key in a way that cannot be checked.
    UnknownBinding,
    /// The authorization server says that it is not valid.
    Inactive,
}

impl TokenError {
    /// Whether new keys of the issuer could change the outcome.
    pub(crate) fn may_be_solved_by_new_keys(self) -> bool {
        matches!(self, TokenError::UnknownKey | TokenError::BadSignatureWithoutKeyId)
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenError::TooLarge => {
                "the access token is longer than 16 KiB; let the authorization server put fewer claims into it"
            }
            TokenError::NotJwt => "the access token is not a signed JWT; get one from the authorization server",
            TokenError::Encrypted => {
                "the access token is encrypted; let the authorization server sign it without encryption"
            }
            TokenError::Malformed(part) => {
                return write!(f, "the access token is malformed: {part}; get a new one from the authorization server");
            }
            TokenError::Algorithm(accepted) => {
                return write!(f, "the algorithm of the access token is not accepted; use {}", accepted.names());
            }
            TokenError::Critical => {
                "the header of the access token has crit, and no extension is supported; let the authorization server \
                 issue it without"
            }
            TokenError::WrongType => {
                "the typ of this JWT is not that of an access token (at+jwt, JWT); send the access token"
            }
            TokenError::IdToken => "this is an ID token; send the access token that was issued with it",
            TokenError::RefreshToken => "this is a refresh token; send the access token that was issued with it",
            TokenError::WrongIssuer => {
                "the access token is from another issuer; get one from an authorization server of the resource metadata"
            }
            TokenError::WrongAudience => {
                "the access token is for another resource; request one with the resource of the resource metadata"
            }
            TokenError::NoExpiry => {
                "the access token has no exp; let the authorization server issue tokens that expire"
            }
            TokenError::Expired => "the access token has expired; refresh it",
            TokenError::NotYetValid => "the access token is not valid yet (nbf); compare the clocks of both servers",
            TokenError::IssuedInFuture => {
                "the access token was issued in the future (iat); compare the clocks of both servers"
            }
            TokenError::UnknownKey => {
                "the access token is signed with a key that its issuer does not publish; get a new one"
            }
            TokenError::OtherAlgorithm => {
                "the access token is signed with another algorithm than its key is for; get a new one"
            }
            TokenError::AmbiguousKey => {
                "the access token does not say which of several keys signed it; let the authorization server set kid"
            }
            TokenError::BadSignature | TokenError::BadSignatureWithoutKeyId => {
                "the signature of the access token is wrong; get a new one from the authorization server"
            }
            TokenError::UnknownBinding => {
                "the access token is bound to a key in a way that is not supported; use DPoP (jkt) or mTLS (x5t#S256)"
            }
            TokenError::Inactive => "the access token is expired, revoked or unknown; get a new one",
        })
    }
}

impl std::error::Error for TokenError {}

/// Whether a text has only the characters of an `error_description` (RFC 6750 §3).
#[cfg(test)]
pub(crate) fn is_description(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_into_an_error_description() {
        use TokenError as E;
        for error in [
            E::TooLarge,
            E::NotJwt,
            E::Encrypted,
            E::Malformed("its header is not base64url"),
            E::Algorithm(Algorithms::default()),
            E::Critical,
            E::WrongType,
            E::IdToken,
            E::RefreshToken,
            E::WrongIssuer,
            E::WrongAudience,
            E::NoExpiry,
            E::Expired,
            E::NotYetValid,
            E::IssuedInFuture,
            E::UnknownKey,
            E::OtherAlgorithm,
            E::AmbiguousKey,
            E::BadSignature,
            E::BadSignatureWithoutKeyId,
            E::UnknownBinding,
            E::Inactive,
        ] {
            assert!(is_description(&error.to_string()), "{error}");
        }
    }
}
