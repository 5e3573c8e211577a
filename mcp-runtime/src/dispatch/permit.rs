//! Whether a caller has the scopes of what they call. Without the feature `auth`, every caller does.
//!
//! A handler that the caller lacks scopes for is not unknown: the refusal names the scopes, so that the client can ask
//! its user for more. Lists leave it out.

use super::router::Router;
#[cfg(feature = "auth")]
use crate::auth::access::Denied;
use crate::call::outbox::Outbox;
use crate::handler::builder::Handler;
use crate::outcome::{Failure, Outcome};

#[cfg(feature = "auth")]
impl Router<'_> {
    /// Lets the caller call a handler, or says all that is missing.
    #[inline]
    pub(super) fn permit(&self, handler: &Handler) -> Result<(), Failure> {
        let (channel, scopes) = (self.invocation.channel, handler.scopes.all());
        match channel.access() {
            Some(access) => access.permit(scopes).map_err(Failure::Forbidden),
            None if scopes.is_empty() || !channel.is_remote() => Ok(()),
            None => Err(Failure::Forbidden(Box::new(Denied::without_authorization(scopes)))),
        }
    }

    /// Lets the caller follow the resource at `uri`, if there is one.
    pub(super) fn permit_uri(&self, uri: &str) -> Result<(), Failure> {
        let mut denied = Ok(());
        for handler in self.handlers_at(uri) {
            denied = self.permit(handler);
            if denied.is_ok() {
                break;
            }
        }
        denied
    }

    /// Whether lists show the caller a handler.
    pub(super) fn lists(&self, handler: &Handler) -> bool {
        self.sees(handler) && (!self.is_scoped(handler) || self.permit(handler).is_ok())
    }

    /// Whether lists show a handler to callers with its scopes only.
    pub(super) fn is_scoped(&self, handler: &Handler) -> bool {
        let shows_all = self.invocation.channel.access().is_some_and(|access| access.policy.shows_all);
        !shows_all && !handler.scopes.is_empty()
    }

    /// Whether nothing is for everybody, so that no answer may be shared between callers.
    pub(super) fn is_protected(&self) -> bool {
        self.invocation.channel.access().is_some_and(|access| !access.policy.optional)
    }
}

#[cfg(not(feature = "auth"))]
#[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with the feature `auth`")]
impl Router<'_> {
    #[inline]
    pub(super) fn permit(&self, _: &Handler) -> Result<(), Failure> {
        Ok(())
    }

    pub(super) fn permit_uri(&self, _: &str) -> Result<(), Failure> {
        Ok(())
    }

    pub(super) fn lists(&self, handler: &Handler) -> bool {
        self.sees(handler)
    }

    pub(super) fn is_scoped(&self, handler: &Handler) -> bool {
        !handler.scopes.is_empty()
    }

    pub(super) fn is_protected(&self) -> bool {
        false
    }
}

/// Tells the transport that a caller lacks scopes: over HTTP, the status says so.
#[inline]
pub(super) fn note_denial(outbox: &Outbox, outcome: &Outcome) {
    #[cfg(feature = "auth")]
    if let Err(Failure::Forbidden(denied)) = outcome {
        outbox.deny(denied);
    }
    #[cfg(not(feature = "auth"))]
    let _ = (outbox, outcome);
}
