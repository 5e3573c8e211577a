//! [`MapErrors`]: other errors for clients and models than those of handlers.

use std::fmt;

use super::{Call, CallError, Layer, Next, Outcome};
use crate::error::Error;

type Map = Box<dyn Fn(&CallError) -> Option<Error> + Send + Sync>;

/// Replaces errors: gives them codes, texts that a model can act on, or texts that tell less.
///
/// ```
/// use mcp_runtime::ErrorCode;
/// use mcp_runtime::layers::{ErrorKind, MapErrors};
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
///
/// /// Read a report.
/// #[tool(read_only)]
/// fn report(name: String) -> Result<String> {
///     Ok(std::fs::read_to_string(format!("/var/lib/reports/{name}"))?)
/// }
///
/// fn mapped() -> MapErrors {
///     MapErrors::new(|error| match error.downcast_ref::<std::io::Error>() {
///         Some(missing) if missing.kind() == std::io::ErrorKind::NotFound => {
///             Some(Error::msg("there is no such report; `list_reports` has their names"))
///         }
///         // A path or a host name is nobody's business.
///         _ if error.kind() == ErrorKind::Handler => {
///             tracing::error!(%error, "a handler failed");
///             Some(Error::application(ErrorCode::new(1), "the report cannot be read now"))
///         }
///         _ => None,
///     })
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let client = TestClient::connect(Server::new("reports", "1.0.0").tools(tools![report]).layer(mapped())).await?;
/// let failed = client.call("report", json!({"name": "q3"})).await?;
/// assert_eq!(failed.text(), "there is no such report; `list_reports` has their names");
/// # Ok(())
/// # }
/// ```
///
/// A tool's result with `isError` is a result. A layer of your own can replace it: see [`Outcome::is_error`].
pub struct MapErrors(Map);

impl MapErrors {
    /// Replaces each error by what `map` returns; with `None`, it stays as it is.
    pub fn new(map: impl Fn(&CallError) -> Option<Error> + Send + Sync + 'static) -> Self {
        MapErrors(Box::new(map))
    }
}

impl Layer for MapErrors {
    async fn call(&self, call: Call, next: Next) -> Outcome {
        let outcome = next.run(call).await;
        match outcome.error().and_then(&self.0) {
            Some(error) => error.into(),
            None => outcome,
        }
    }
}

impl fmt::Debug for MapErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MapErrors")
    }
}
