//! Where the lines of calls go that had to wait, and what they tell before: an outbox everybody
//! shares, or a stream of a request's own.

use std::sync::Arc;

use tokio::sync::mpsc;

#[cfg(feature = "http")]
use std::sync::OnceLock;

#[cfg(feature = "http")]
use http::request::Parts;

/// How many lines may wait for the client to read.
const LINES: usize = 64;

/// What is sent instead of a line to let go of the client's connection; no line is like it.
#[cfg(feature = "http")]
pub(crate) const LET_GO: &[u8] = b"\0";

/// The way of lines from calls to their client.
#[derive(Debug)]
pub(crate) enum Outbox {
    /// One for all calls of a connection, and whose it is, if somebody in front has found out.
    Shared(mpsc::Sender<Vec<u8>>, Option<Arc<str>>),
    /// One for this request, made when a call needs it.
    #[cfg(feature = "http")]
    RequestStream(RequestStream),
}

#[cfg(feature = "http")]
type Channel = (mpsc::Sender<Vec<u8>>, mpsc::Receiver<Vec<u8>>);

/// A stream of a request's own.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct RequestStream {
    channel: OnceLock<Channel>,
    /// The request without its body.
    parts: Arc<Parts>,
    /// Whether the client comes back if it is let go.
    resumable: bool,
    /// Who makes the request, if somebody in front has found out.
    principal: Option<Arc<str>>,
}

impl Outbox {
    /// The way of a connection with one stream, and its other end.
    pub(crate) fn shared() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (sender, lines) = mpsc::channel(LINES);
        (Outbox::Shared(sender, None), lines)
    }

    /// The way of one request.
    #[cfg(feature = "http")]
    pub(crate) fn own(parts: Arc<Parts>, resumable: bool) -> Self {
        Outbox::RequestStream(RequestStream { channel: OnceLock::new(), parts, resumable, principal: None })
    }

    /// Says who makes the request, or all of them.
    #[cfg(feature = "http")]
    pub(crate) fn of(mut self, who: Option<Arc<str>>) -> Self {
        match &mut self {
            Outbox::Shared(_, principal) => *principal = who,
            Outbox::RequestStream(own) => own.principal = who,
        }
        self
    }

    /// The HTTP request, where there is one.
    #[cfg(feature = "http")]
    pub(crate) fn parts(&self) -> Option<&Arc<Parts>> {
        match self {
            Outbox::Shared(..) => None,
            Outbox::RequestStream(own) => Some(&own.parts),
        }
    }

    /// Whether a call can let go of its client, which comes back for the rest.
    #[cfg(feature = "http")]
    pub(crate) fn is_resumable(&self) -> bool {
        matches!(self, Outbox::RequestStream(own) if own.resumable)
    }

    /// Whether the client can be sent a request here, and answer it.
    pub(crate) fn can_ask(&self) -> bool {
        match self {
            Outbox::Shared(..) => true,
            // In a session, of a client that takes streams.
            #[cfg(feature = "http")]
            Outbox::RequestStream(own) => own.resumable,
        }
    }

    /// Who makes the request, where that is known.
    pub(crate) fn principal(&self) -> Option<&Arc<str>> {
        match self {
            Outbox::Shared(_, principal) => principal.as_ref(),
            #[cfg(feature = "http")]
            Outbox::RequestStream(own) => own.principal.as_ref(),
        }
    }

    /// The way that is there when a request has been answered, if there is one.
    #[cfg_attr(not(feature = "http"), allow(clippy::unnecessary_wraps, reason = "only over HTTP is there none"))]
    pub(crate) fn lasting(&self) -> Option<&mpsc::Sender<Vec<u8>>> {
        match self {
            Outbox::Shared(sender, _) => Some(sender),
            #[cfg(feature = "http")]
            Outbox::RequestStream(_) => None,
        }
    }

    pub(crate) fn sender(&self) -> &mpsc::Sender<Vec<u8>> {
        match self {
            Outbox::Shared(sender, _) => sender,
            #[cfg(feature = "http")]
            Outbox::RequestStream(own) => &own.channel.get_or_init(|| mpsc::channel(LINES)).0,
        }
    }

    /// The other end of a request's own stream, if a call needed one. It is over when all of them are.
    #[cfg(feature = "http")]
    pub(crate) fn into_lines(self) -> Option<mpsc::Receiver<Vec<u8>>> {
        match self {
            Outbox::Shared(..) => None,
            Outbox::RequestStream(own) => own.channel.into_inner().map(|(_, lines)| lines),
        }
    }
}
