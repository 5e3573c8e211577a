//! What a handler can know of the call it serves.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::era::Envelope;
use crate::jsonrpc::{Id, Object};
use crate::protocol::{Implementation, Revision};

/// The call a handler serves: who asks, in which revision, with which metadata.
///
/// A handler that wants it takes it by reference:
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// /// Greet the client by its name.
/// #[tool]
/// fn whoami(ctx: &Context) -> String {
///     format!("you are {}", ctx.client_name().unwrap_or("nobody I know"))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Context {
    request_id: Box<str>,
    revision: Revision,
    client: Arc<Client>,
    meta: Option<Box<RawValue>>,
}

/// What a client said of itself.
#[derive(Debug, Default)]
pub(crate) struct Client {
    pub(crate) info: Option<Implementation>,
}

impl Context {
    /// The JSON text of the request's id.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The revision the client speaks.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The client's name for itself. A label, not an identity.
    pub fn client_name(&self) -> Option<&str> {
        self.client.info.as_ref().map(|info| &*info.name)
    }

    /// The client's version.
    pub fn client_version(&self) -> Option<&str> {
        self.client.info.as_ref().map(|info| &*info.version)
    }

    /// The JSON text of one entry of the request's `_meta`.
    pub fn meta(&self, key: &str) -> Option<&str> {
        let object: Object<'_> = serde_json::from_str(self.meta.as_ref()?.get()).ok()?;
        object.get(key).map(RawValue::get)
    }
}

/// A call as the dispatcher sees it: borrowed from the frame, so that a handler which asks for no
/// [`Context`] pays for none.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) envelope: &'a Envelope<'a>,
    /// What `resources/read` asks for.
    pub(crate) uri: &'a str,
}

/// What a handler takes by reference.
pub fn provide<T: FromServer>(caller: &Caller<'_>) -> T {
    T::from_server(caller)
}

/// What a handler can take by reference.
#[diagnostic::on_unimplemented(
    message = "a handler cannot borrow a `{Self}`",
    label = "not provided by the server",
    note = "take `{Self}` by value: arguments come from the caller's JSON; only `&self` and `&Context` are borrowed"
)]
pub trait FromServer {
    #[doc(hidden)]
    fn from_server(caller: &Caller<'_>) -> Self;
}

impl FromServer for Context {
    fn from_server(caller: &Caller<'_>) -> Self {
        Context {
            request_id: caller.id.as_str().into(),
            revision: caller.envelope.revision,
            client: caller.envelope.client(),
            meta: caller.envelope.meta.map(ToOwned::to_owned),
        }
    }
}
