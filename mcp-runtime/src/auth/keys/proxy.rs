//! [`MetadataProxy`]: the metadata of an issuer, for clients that look for it at this server. In 2025-03-26 a server is its
//! own authorization server, as far as clients can tell.
//! <https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization>

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::discovery::discover;
use crate::auth::fetch::Fetch;

/// Where such clients look.
pub(crate) const PATH: &str = "/.well-known/oauth-authorization-server";

/// How long a document is fresh. After that, it is served on while the issuer cannot be reached.
const TTL: Duration = Duration::from_secs(60 * 60);
/// How long the issuer is left alone after a failure: everybody may ask for the document.
const PAUSE: Duration = Duration::from_secs(5);

/// The document of one issuer, fetched when it is asked for.
pub(crate) struct MetadataProxy {
    issuer: Box<str>,
    fetch: Arc<dyn Fetch>,
    /// Held during a fetch, so that there is one at a time.
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    document: Option<Arc<str>>,
    /// When to fetch it again.
    next: Option<Instant>,
}

impl MetadataProxy {
    pub(crate) fn new(issuer: impl Into<Box<str>>, fetch: Arc<dyn Fetch>) -> Self {
        MetadataProxy { issuer: issuer.into(), fetch, kept: Mutex::default() }
    }

    /// The document, as the issuer wrote it. Without one, how long to wait before the next try.
    pub(crate) async fn document(&self) -> Result<Arc<str>, Duration> {
        let mut kept = self.kept.lock().await;
        if kept.next.is_none_or(|next| next <= Instant::now()) {
            let pause = match discover(&*self.fetch, &self.issuer).await {
                Ok(metadata) => {
                    kept.document = Some(metadata.document.into());
                    TTL
                }
                Err(why) => {
                    tracing::warn!("the metadata of an issuer cannot be passed on to clients: {why}");
                    PAUSE
                }
            };
            kept.next = Some(Instant::now() + pause);
        }
        kept.document.clone().ok_or(PAUSE)
    }
}

impl fmt::Debug for MetadataProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetadataProxy").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}
