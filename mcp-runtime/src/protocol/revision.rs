//! The dated revisions of the protocol.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _};

use crate::jsonrpc::error::shorten;

/// A dated revision of the Model Context Protocol, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05, the first, with the HTTP+SSE transport.
    V2024_11_05,
    /// 2025-03-26, the first with Streamable HTTP, and the only one with batches.
    V2025_03_26,
    /// 2025-06-18, the first with elicitation and structured output.
    V2025_06_18,
    /// 2025-11-25, the last with an `initialize` handshake.
    V2025_11_25,
    /// 2026-07-28: stateless, every request describes itself.
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: &'static [Revision] =
        &[Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The newest revision.
    pub const LATEST: Revision = Self::V2026_07_28;
    /// The revisions negotiated by `initialize`, newest first.
    pub(crate) const LEGACY: [Revision; 4] =
        [Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];
    /// The revisions a request may declare in its `_meta`, newest first.
    pub(crate) const MODERN: [Revision; 1] = [Self::V2026_07_28];

    /// The date that names the revision on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether the revision is stateless: requests describe themselves, without a handshake.
    pub fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Revision {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(date: &str) -> Result<Self, UnknownRevision> {
        let known = Revision::ALL.iter().find(|revision| revision.as_str() == date);
        known.copied().ok_or_else(|| UnknownRevision(shorten(date).into_owned()))
    }
}

/// The error of parsing a date that is not a [`Revision`] this version of the crate supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRevision(String);

impl fmt::Display for UnknownRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let newest = Revision::LATEST;
        write!(f, "unknown revision `{}`; the newest supported one is {newest}", self.0)
    }
}

impl std::error::Error for UnknownRevision {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_parses_its_own_date() {
        for revision in Revision::ALL {
            assert_eq!(revision.to_string().parse(), Ok(*revision));
            let json = serde_json::to_value(revision).unwrap();
            assert_eq!(json, revision.as_str());
            assert_eq!(serde_json::from_value::<Revision>(json).unwrap(), *revision);
        }
        assert!(Revision::ALL.is_sorted());
        assert_eq!(Revision::ALL.last(), Some(&Revision::LATEST));
    }

    #[test]
    fn unknown_revision_names_the_newest_supported_one() {
        let error = "2019-01-01".parse::<Revision>().unwrap_err().to_string();
        assert_eq!(error, "unknown revision `2019-01-01`; the newest supported one is 2026-07-28");
        assert!("".parse::<Revision>().is_err());
        let long = "9".repeat(10_000).parse::<Revision>().unwrap_err().to_string();
        assert!(long.len() < 1000, "{} bytes", long.len());
    }
}
