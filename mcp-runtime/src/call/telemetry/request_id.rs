//! [`RequestId`]: the id of an HTTP request, by which logs are compared.

use std::fmt;
use std::sync::Arc;

/// The longest id that is taken from a request.
const LONGEST: usize = 128;

/// The id of an HTTP request, with [`HttpService::request_ids`](crate::http::HttpService::request_ids): an extension of
/// the request, beside what middleware puts there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// A new id: the number of a request of a process.
    pub(crate) fn new(process: u64, number: u64) -> Self {
        RequestId(format!("{process:016x}-{number:x}").into())
    }

    /// The id that a request was sent with, if it is well-formed: what any log and header can carry.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~:/+=@".contains(&byte);
        (1..=LONGEST).contains(&text.len()).then_some(())?;
        text.bytes().all(is_fine).then(|| RequestId(text.into()))
    }

    /// The id, to be kept.
    pub(crate) fn shared(&self) -> &Arc<str> {
        &self.0
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_short_and_plain() {
        let longest = "x".repeat(LONGEST);
        for fine in ["7", "6f1c9a52-3e0f-4b7c-9d0e-1a2b3c4d5e6f", "Root=1-67891233-abcdef", "a/b:c@d~e+f=", &longest] {
            assert_eq!(RequestId::parse(fine).unwrap().as_str(), fine);
        }
        for wrong in ["", "a b", "a,b", "a\"b", "a;b", "é", "a\nb", "<a>", "{a}", "%41", &"x".repeat(LONGEST + 1)] {
            assert_eq!(RequestId::parse(wrong), None, "{wrong:?}");
        }
        let new = RequestId::new(u64::MAX, u64::MAX);
        assert_eq!(RequestId::parse(new.as_str()), Some(new));
    }
}
