//! The part of a [`Context`] that knows the authorization of its caller.

use std::sync::Arc;

use super::context::Context;
use super::invocation::Invocation;
use crate::auth::User;
use crate::auth::access::{Access, Denied};
use crate::error::{Error, Result};

/// What a context knows of its caller's rights.
#[derive(Clone)]
pub(super) struct Caller {
    access: Option<Access>,
    is_remote: bool,
    /// The scopes of the handler.
    scopes: Option<Arc<[Box<str>]>>,
}

impl Caller {
    pub(super) fn of(invocation: &Invocation<'_>) -> Self {
        let channel = invocation.channel;
        let scopes = invocation.scopes.cloned();
        Caller { access: channel.access().cloned(), is_remote: channel.is_remote(), scopes }
    }

    fn permit(&self, scopes: &[Box<str>]) -> Result<(), Denied> {
        match &self.access {
            Some(access) if access.allows(scopes) => Ok(()),
            // With those of the handler: a client that asks for no more than these could not call it.
            Some(access) => Err(access.deny(&[self.scopes.as_deref().unwrap_or_default(), scopes].concat())),
            None if scopes.is_empty() || !self.is_remote => Ok(()),
            None => Err(Denied::without_authorization(scopes)),
        }
    }
}

impl Context {
    /// The authenticated caller. Requires the feature `auth`.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// /// Who calls.
    /// #[tool]
    /// fn whoami(ctx: &Context) -> Result<String> {
    ///     Ok(ctx.user()?.subject().to_owned())
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let server = Server::new("notes", "1.0.0").tools(tools![whoami]);
    /// let client = TestClient::builder(server).user("alice", ["notes:read"]).connect().await?;
    /// assert_eq!(client.call("whoami", json!({})).await?.text(), "alice");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If there is none: on stdio, over HTTP without authorization, and for callers without a token where it is
    /// [optional](crate::auth::Auth::optional).
    pub fn user(&self) -> Result<&User> {
        let user = self.caller.access.as_ref().and_then(|access| access.user.as_deref());
        user.ok_or_else(|| {
            Error::msg(
                "this call has no authenticated user: over HTTP, set up `HttpService::authorize`, and give the handler \
                 `scopes(…)` if authorization is optional; in a test, use `TestClientBuilder::user`; on stdio there is \
                 a user with `Auth::local` only",
            )
        })
    }

    /// Rejects the call unless the caller has these scopes: for what depends on arguments. Otherwise, prefer
    /// `#[tool(scopes("…"))]`, which is checked before anything runs, and known to lists. Requires the feature `auth`.
    ///
    /// Return the error as it is, with `?`. If nothing has been sent yet, the response is 403 with a challenge, and the
    /// client can ask its user for more; after a notification, it is a JSON-RPC error that names the scopes.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Read a note.
    /// #[tool(scopes("notes:read"))]
    /// fn read_note(ctx: &Context, owner: String, id: u64) -> Result<String> {
    ///     if owner != ctx.user()?.subject() {
    ///         ctx.require_scopes(["notes:all"])?;
    ///     }
    ///     Ok(format!("note {id} of {owner}"))
    /// }
    /// ```
    pub fn require_scopes(&self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Result<()> {
        let scopes: Vec<Box<str>> = scopes.into_iter().map(|scope| scope.into().into_boxed_str()).collect();
        self.caller.permit(&scopes).map_err(Error::from)
    }
}
