//! The caller of a request: its principal, and its quota.

use http::request::Parts;

use super::Service;
use super::quota::{QuotaPermit, Rejected};
use crate::call::in_flight::CallKind;
use crate::panic;

impl Service {
    /// The principal of a request, as the `principal` hook names it; `None` for an anonymous caller.
    pub(super) fn principal(&self, parts: &Parts) -> Result<Option<String>, Rejected> {
        let Some(principal) = &self.options.principal else { return Ok(None) };
        panic::catch(|| principal(parts)).ok_or_else(|| {
            tracing::error!(hook = "principal", "a hook panicked");
            Rejected::Hook
        })
    }

    /// Takes one more call or stream from the caller's quota.
    pub(super) fn share(&self, principal: Option<&str>, kind: CallKind) -> Result<QuotaPermit, Rejected> {
        self.shares.permit(principal, kind)
    }
}
