//! [`SeenRequest`]: the HTTP request of a call, as its handler sees it.

use std::sync::Arc;
#[cfg(feature = "auth")]
use std::sync::OnceLock;

use http::Extensions;
#[cfg(feature = "auth")]
use http::header::{AUTHORIZATION, HeaderName};
use http::request::Parts;

use super::Outbox;

/// The header with the proof for a token that is bound to a key.
#[cfg(feature = "auth")]
const DPOP: HeaderName = HeaderName::from_static("dpop");

/// The HTTP request of a call, without its token: a server must not pass that on. Where no token is verified, the header is
/// the user's own business, and stays.
#[derive(Clone)]
pub(crate) struct SeenRequest {
    sent: Option<Arc<Parts>>,
    #[cfg(feature = "auth")]
    hides_token: bool,
    /// A copy without the token, made for a handler that looks: few do.
    #[cfg(feature = "auth")]
    without_token: OnceLock<Arc<Parts>>,
}

impl SeenRequest {
    pub(crate) fn of(outbox: &Outbox) -> Self {
        SeenRequest {
            sent: outbox.parts().cloned(),
            #[cfg(feature = "auth")]
            hides_token: outbox.access().is_some(),
            #[cfg(feature = "auth")]
            without_token: OnceLock::new(),
        }
    }

    pub(crate) fn parts(&self) -> Option<&Parts> {
        let sent = self.sent.as_deref()?;
        #[cfg(feature = "auth")]
        if self.hides_token {
            return Some(self.without_token.get_or_init(|| {
                let mut seen = sent.clone();
                seen.headers.remove(AUTHORIZATION);
                seen.headers.remove(DPOP);
                Arc::new(seen)
            }));
        }
        Some(sent)
    }

    pub(crate) fn extensions(&self) -> Option<&Extensions> {
        self.sent.as_deref().map(|parts| &parts.extensions)
    }
}
