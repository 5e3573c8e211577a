//! The authorization of a [`Server`], whatever it is served over.

use crate::auth::access::Access;
use crate::auth::{Auth, User};
use crate::server::Server;

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

impl Server {
    /// Sets who callers are and what they may call. Requires the feature `auth`.
    ///
    /// Over HTTP this is as [`HttpService::authorize`](crate::http::HttpService::authorize). On stdio there are no tokens:
    /// the caller has every scope, or those of [`Auth::local`]. The hierarchy of scopes and the scopes of every call
    /// hold everywhere, also for [`TestClientBuilder::user`](crate::testing::TestClientBuilder::user).
    pub fn authorize(mut self, auth: Auth) -> Self {
        self.auth.auth = Some(auth);
        self
    }
}
