//! Logging: the levels of messages a client can ask for.
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging>

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How grave a log message is, from the least to the most; the levels of syslog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// What happens.
    Info,
    /// What happens and matters.
    Notice,
    /// What may become a problem.
    Warning,
    /// What went wrong.
    Error,
    /// A part is out of order.
    Critical,
    /// Something must be done at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// Every level, from the least to the most grave.
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

/// A name that is none of the log levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownLogLevel;

impl fmt::Display for UnknownLogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a log level; they are debug, info, notice, warning, error, critical, alert and emergency")
    }
}

impl std::error::Error for UnknownLogLevel {}
