//! The authorization of a [`Server`], whatever it is served over.

use crate::auth::access::Access;
use crate::auth::{Auth, User};
#[cfg(feature = "http")]
use crate::server::core::Core;

/// What a server knows of its callers before it is served.
#[derive(Debug, Default)]
pub(crate) struct ServerAuth {
    pub(crate) auth: Option<Auth>,
    /// The caller in a test.
    pub(crate) user: Option<User>,
}

impl ServerAuth {
    /// What the caller may do who has started the server; everything, if nothing is set.
    pub(super) fn local_access(&mut self) -> Option<Access> {
        match (&self.auth, self.user.take()) {
            (Some(auth), user) => Some(auth.local_access(user)),
            (None, Some(user)) => Some(Auth::test_access(user)),
            (None, None) => None,
        }
    }
}

#[cfg(feature = "http")]
impl Core {
    /// What a user may do whose durable task is run again.
    pub(crate) fn access_of(&self, stored: &str) -> Option<Access> {
        let user = User::from_stored(stored).map(std::sync::Arc::new)?;
        let policy = self.remote_policy.get().cloned().unwrap_or_default();
        Some(Access::new(policy, Some(user)))
    }
}
