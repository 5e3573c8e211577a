//! [`Jws`]: the compact form of a signed message (RFC 7515 §7.1), taken apart and not yet verified.

use std::borrow::Cow;
use std::fmt;

use super::algorithm::Algorithm;
use super::{base64url, json};

/// Tokens of real issuers have one to two KiB; with many groups, up to eight.
pub(crate) const MAX_BYTES: usize = 16 * 1024;

/// A signed message: what it says about itself, and what has to be verified.
pub(crate) struct Jws<'a> {
    pub(crate) header: Header,
    /// The text of the payload; JSON in everything that is read here.
    pub(crate) payload: String,
    signing_input: &'a str,
    signature: Vec<u8>,
}

/// Without the message: it is a credential.
impl fmt::Debug for Jws<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jws").field("header", &self.header).finish_non_exhaustive()
    }
}

/// The members of a header that mean something here. `jku`, `x5u`, `x5c` and the like do not: a message does not choose
/// who is trusted.
pub(crate) struct Header {
    /// `None` if it is not supported.
    pub(crate) algorithm: Option<Algorithm>,
    /// In lower case, without `application/` (RFC 7515 §4.1.9).
    pub(crate) kind: Option<String>,
    pub(crate) key_id: Option<Box<str>>,
    /// The text of `jwk`, which a `DPoP` proof has and a token must not be verified with.
    pub(crate) embedded_key: Option<Box<str>>,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { algorithm, kind, key_id, .. } = self;
        f.debug_struct("Header").field("alg", algorithm).field("typ", kind).field("kid", key_id).finish_non_exhaustive()
    }
}

/// Why a text is no message that could be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JwsError {
    TooLarge,
    /// It has not three segments.
    NotCompact,
    /// It has five: it is encrypted (RFC 7516).
    Encrypted,
    /// It has extensions that must be understood, and none is.
    Critical,
    /// Which part cannot be read.
    Malformed(&'static str),
}

impl<'a> Jws<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, JwsError> {
        if text.len() > MAX_BYTES {
            return Err(JwsError::TooLarge);
        }
        let dots = memchr::memchr_iter(b'.', text.as_bytes()).count();
        let split =
            text.rsplit_once('.').and_then(|(input, signature)| Some((input, input.split_once('.')?, signature)));
        let (signing_input, (header, payload), signature) = match split {
            Some(split) if dots == 2 => split,
            _ if dots == 4 => return Err(JwsError::Encrypted),
            _ => return Err(JwsError::NotCompact),
        };
        let header = Header::read(&decode_text(header, "its header is not base64url")?)?;
        let payload = decode_text(payload, "its payload is not base64url")?;
        let signature = base64url::decode(signature).ok_or(JwsError::Malformed("its signature is not base64url"))?;
        Ok(Jws { header, payload, signing_input, signature })
    }

    /// What was signed, and the signature.
    pub(crate) fn signed(&self) -> (&[u8], &[u8]) {
        (self.signing_input.as_bytes(), &self.signature)
    }
}

fn decode_text(segment: &str, otherwise: &'static str) -> Result<String, JwsError> {
    base64url::decode(segment).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(JwsError::Malformed(otherwise))
}

impl Header {
    fn read(text: &str) -> Result<Self, JwsError> {
        const UNREADABLE: JwsError = JwsError::Malformed("its header is not a JSON object with distinct members");
        let object = json::object(text).ok_or(UNREADABLE)?;
        if object.get("crit").is_some() {
            return Err(JwsError::Critical);
        }
        let text = |key| json::optional_text(&object, key).map_err(|_| UNREADABLE);
        Ok(Header {
            algorithm: text("alg")?.and_then(|name| Algorithm::from_name(&name)),
            kind: text("typ")?.as_deref().map(media_type),
            key_id: text("kid")?.map(Cow::into_owned).map(Into::into),
            embedded_key: object.get("jwk").map(|raw| raw.get().into()),
        })
    }
}

fn media_type(typ: &str) -> String {
    let mut lower = typ.to_ascii_lowercase();
    if let Some(short) = lower.strip_prefix("application/") {
        lower = short.to_owned();
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(header: &str, payload: &str) -> Result<String, JwsError> {
        let text = format!("{}.{}.c2ln", base64url::encode(header.as_bytes()), base64url::encode(payload.as_bytes()));
        Jws::parse(&text).map(|jws| format!("{:?}", jws.header))
    }

    #[test]
    fn three_segments_are_a_message() {
        let header = parse(r#"{"alg":"ES256","typ":"application/AT+jwt","kid":"1"}"#, "{}").unwrap();
        assert_eq!(header, r#"Header { alg: Some(Es256), typ: Some("at+jwt"), kid: Some("1"), .. }"#);
        for (text, error) in [
            ("", JwsError::NotCompact),
            ("opaque", JwsError::NotCompact),
            ("e30.e30", JwsError::NotCompact),
            ("e30.e30.c2ln.", JwsError::NotCompact),
            ("...", JwsError::NotCompact),
            ("e30.e30.e30.e30.e30", JwsError::Encrypted),
            ("e30=.e30.c2ln", JwsError::Malformed("its header is not base64url")),
            ("e30.e31.c2ln", JwsError::Malformed("its payload is not base64url")),
            ("e30.e30.c2ln\n", JwsError::Malformed("its signature is not base64url")),
            ("..", JwsError::Malformed("its header is not a JSON object with distinct members")),
        ] {
            assert_eq!(Jws::parse(text).unwrap_err(), error, "{text:?}");
        }
        assert_eq!(Jws::parse(&"a".repeat(MAX_BYTES + 1)).unwrap_err(), JwsError::TooLarge);
    }

    #[test]
    fn headers_are_understood_or_refused() {
        assert_eq!(parse(r#"{"alg":"ES256","crit":[]}"#, "{}").unwrap_err(), JwsError::Critical);
        assert_eq!(parse(r#"{"alg":"none"}"#, "{}").unwrap(), "Header { alg: None, typ: None, kid: None, .. }");
        for header in
            [r#"{"alg":["ES256"]}"#, r#"{"alg":"ES256","kid":1}"#, r#"{"alg":"none","alg":"ES256"}"#, "[]", "null"]
        {
            assert!(matches!(parse(header, "{}"), Err(JwsError::Malformed(_))), "{header}");
        }
    }

    #[test]
    fn debug_shows_no_credential() {
        let text =
            format!("{}.{}.c2ln", base64url::encode(br#"{"alg":"ES256"}"#), base64url::encode(br#"{"sub":"me"}"#));
        let shown = format!("{:?}", Jws::parse(&text).unwrap());
        assert!(!shown.contains("me\"") && !shown.contains("c2ln"), "{shown}");
    }
}
