//! base64url without padding, as JOSE uses it (RFC 7515 §2): padding, whitespace and stray bits are refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The bytes of a text, if it is the one encoding of them.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_encoding() {
        assert_eq!(decode("_-8").unwrap(), [0xff, 0xef]);
        assert_eq!(encode(&[0xff, 0xef]), "_-8");
        for other in ["_-8=", "/+8", "_-9", "_-8\n", " _-8", "_", "_-8.", "_-8é"] {
            assert_eq!(decode(other), None, "{other:?}");
        }
    }
}
