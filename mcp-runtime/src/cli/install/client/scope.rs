//! [`Scope`]: who sees a server.

use std::fmt::{self, Display};

/// Who sees a server that is configured in a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user, in every project.
    User,
    /// Everybody who works on the project in the current directory.
    Project,
    /// The user, in the project in the current directory: only Claude Code has it, and it is only read.
    Local,
}

impl Scope {
    /// `user`, `project` or `local`.
    pub fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::Local => "local",
        }
    }
}

impl Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
