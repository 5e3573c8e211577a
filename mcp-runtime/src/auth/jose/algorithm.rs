//! [`Algorithm`]: the signatures that are verified, and [`Algorithms`], those that are accepted. All are asymmetric.

use ring::signature::{
    self, EcdsaVerificationAlgorithm, EdDSAParameters, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};

/// A signature algorithm of JOSE (RFC 7518 §3.1, RFC 8037).
///
/// There is no `none`, and none with a shared secret: what can verify such a signature can forge it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSA (PKCS #1 v1.5) with SHA-256.
    Rs256,
    /// RSA (PKCS #1 v1.5) with SHA-384.
    Rs384,
    /// RSA (PKCS #1 v1.5) with SHA-512.
    Rs512,
    /// RSA (PSS) with SHA-256.
    Ps256,
    /// RSA (PSS) with SHA-384.
    Ps384,
    /// RSA (PSS) with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519; also called `Ed25519` (RFC 9864).
    EdDsa,
}

impl Algorithm {
    pub(crate) const ALL: [Algorithm; 9] = [
        Algorithm::Rs256,
        Algorithm::Ps256,
        Algorithm::Es256,
        Algorithm::EdDsa,
        Algorithm::Rs384,
        Algorithm::Ps384,
        Algorithm::Es384,
        Algorithm::Rs512,
        Algorithm::Ps512,
    ];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let name = if name == "Ed25519" { "EdDSA" } else { name };
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Rs384 => "RS384",
            Algorithm::Rs512 => "RS512",
            Algorithm::Ps256 => "PS256",
            Algorithm::Ps384 => "PS384",
            Algorithm::Ps512 => "PS512",
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
            Algorithm::EdDsa => "EdDSA",
        }
    }
}

/// A public key in the form that ring takes. Which algorithms it verifies follows from its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PublicKey {
    /// Big-endian, without leading zeros.
    Rsa {
        n: Box<[u8]>,
        e: Box<[u8]>,
    },
    /// An uncompressed point: 4, x, y.
    P256(Box<[u8]>),
    P384(Box<[u8]>),
    Ed25519(Box<[u8]>),
}

impl PublicKey {
    /// Whether a signature of this algorithm can be verified with the key.
    pub(crate) fn fits(&self, algorithm: Algorithm) -> bool {
        match self {
            PublicKey::Rsa { .. } => rsa(algorithm).is_some(),
            PublicKey::P256(_) => algorithm == Algorithm::Es256,
            PublicKey::P384(_) => algorithm == Algorithm::Es384,
            PublicKey::Ed25519(_) => algorithm == Algorithm::EdDsa,
        }
    }

    /// Whether the signature is this key's. False for an algorithm that does not fit.
    pub(crate) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        static P256: &EcdsaVerificationAlgorithm = &signature::ECDSA_P256_SHA256_FIXED;
        static P384: &EcdsaVerificationAlgorithm = &signature::ECDSA_P384_SHA384_FIXED;
        static ED25519: &EdDSAParameters = &signature::ED25519;
        if !self.fits(algorithm) {
            return false;
        }
        let result = match self {
            PublicKey::Rsa { n, e } => match rsa(algorithm) {
                Some(parameters) => RsaPublicKeyComponents { n, e }.verify(parameters, message, signature),
                None => return false,
            },
            PublicKey::P256(point) => UnparsedPublicKey::new(P256, point).verify(message, signature),
            PublicKey::P384(point) => UnparsedPublicKey::new(P384, point).verify(message, signature),
            PublicKey::Ed25519(point) => UnparsedPublicKey::new(ED25519, point).verify(message, signature),
        };
        result.is_ok()
    }
}

fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => return None,
    })
}

/// The algorithms that are accepted; by default RS256, PS256, ES256 and `EdDSA`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Algorithms(u16);

impl Default for Algorithms {
    fn default() -> Self {
        Self::of([Algorithm::Rs256, Algorithm::Ps256, Algorithm::Es256, Algorithm::EdDsa])
    }
}

impl Algorithms {
    pub(crate) fn of(list: impl IntoIterator<Item = Algorithm>) -> Self {
        Algorithms(list.into_iter().fold(0, |bits, algorithm| bits | bit(algorithm)))
    }

    pub(crate) fn contains(self, algorithm: Algorithm) -> bool {
        self.0 & bit(algorithm) != 0
    }

    /// Their names.
    pub(crate) fn list(self) -> Vec<&'static str> {
        let accepted = Algorithm::ALL.into_iter().filter(|algorithm| self.contains(*algorithm));
        accepted.map(Algorithm::name).collect()
    }

    /// Their names, between spaces: the `algs` of a challenge.
    pub(crate) fn names(self) -> String {
        self.list().join(" ")
    }
}

fn bit(algorithm: Algorithm) -> u16 {
    1 << algorithm as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_asymmetric_algorithms_have_names() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
        }
        assert_eq!(Algorithm::from_name("Ed25519"), Some(Algorithm::EdDsa));
        for other in ["none", "None", "HS256", "HS512", "rs256", "ES512", "ES256K", "RSA-OAEP", ""] {
            assert_eq!(Algorithm::from_name(other), None, "{other}");
        }
    }

    #[test]
    fn long_variants_are_on_request() {
        assert_eq!(Algorithms::default().names(), "RS256 PS256 ES256 EdDSA");
        assert!(!Algorithms::default().contains(Algorithm::Es384));
        assert_eq!(Algorithms::of([Algorithm::Es384]).names(), "ES384");
    }
}
