//! Logging: the severity levels of log messages.
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging>

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The severity of a log message, least severe first. These are the levels of syslog (RFC 5424).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// Ordinary events.
    Info,
    /// Ordinary but significant events.
    Notice,
    /// Conditions that may become a problem.
    Warning,
    /// Failures of an operation.
    Error,
    /// Failures of a component.
    Critical,
    /// Conditions that need immediate action.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LogLevel {
    /// Every level, least severe first.
    pub const ALL: &'static [LogLevel] = &[
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The level's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LogLevel {
    type Err = UnknownLogLevel;

    fn from_str(name: &str) -> Result<Self, UnknownLogLevel> {
        Self::ALL.iter().find(|level| level.as_str() == name).copied().ok_or(UnknownLogLevel)
    }
}

/// The error of parsing an unknown [`LogLevel`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownLogLevel;

impl fmt::Display for UnknownLogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown log level; use debug, info, notice, warning, error, critical, alert or emergency")
    }
}

impl std::error::Error for UnknownLogLevel {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_level_parses_its_own_name() {
        for level in LogLevel::ALL {
            assert_eq!(level.to_string().parse(), Ok(*level));
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
        }
        assert!(LogLevel::ALL.is_sorted());
    }

    #[test]
    fn unknown_log_level_lists_the_known_ones() {
        for name in ["", "Info", "warn", "info "] {
            assert_eq!(name.parse::<LogLevel>(), Err(UnknownLogLevel), "{name}");
        }
        let error = UnknownLogLevel.to_string();
        assert!(LogLevel::ALL.iter().all(|level| error.contains(level.as_str())), "{error}");
    }
}
