//! The part of a [`Context`] that knows the authorization of its caller.

use super::context::Context;
use crate::auth::User;
use crate::error::{Error, Result};

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
    /// If there is none: on a server without authorization, and for callers without a token where it is
    /// [optional](crate::auth::Auth::optional). On stdio, with authorization, the user is `local`.
    pub fn user(&self) -> Result<&User> {
        let user = self.rights.access.as_ref().and_then(|access| access.user.as_deref());
        user.ok_or_else(|| {
            Error::msg(
                "this call has no authenticated user: over HTTP, set up `HttpService::authorize`, and give the handler \
                 `scopes(…)` if authorization is optional; in a test, use `TestClientBuilder::user`; on stdio, \
                 set up `Server::authorize`",
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
        self.rights.permit(&scopes).map_err(Error::from)
    }
}
