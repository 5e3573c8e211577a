//! The body of a response: one JSON text, or events as they happen.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use crate::call::outbox::Outgoing;
use crate::server::memory::{Charge, FREE, MemoryBudget, Owner};

/// How long a stream may be silent before a keep-alive comment is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The body of a response: one JSON text, or a stream of server-sent events.
pub struct Body(BodyKind);

enum BodyKind {
    Full(Option<Bytes>),
    Events {
        source: Pin<Box<dyn Events>>,
        silence: Pin<Box<Sleep>>,
        /// When the stream ends, whatever its source.
        #[cfg(feature = "auth")]
        end: Option<Pin<Box<Sleep>>>,
        kept: Vec<Box<dyn Send>>,
    },
}

/// A source of events.
pub(crate) trait Events: Send {
    /// The next bytes of the stream, already framed as events; `None` at its end.
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

impl Body {
    pub(crate) fn empty() -> Self {
        Body(BodyKind::Full(None))
    }

    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Body(BodyKind::Full(Some(bytes.into())))
    }

    pub(crate) fn events(source: impl Events + 'static) -> Self {
        Body(BodyKind::Events {
            source: Box::pin(source),
            silence: Box::pin(tokio::time::sleep(KEEP_ALIVE)),
            #[cfg(feature = "auth")]
            end: None,
            kept: Vec::new(),
        })
    }

    /// Ends a stream after this time.
    #[cfg(feature = "auth")]
    pub(crate) fn end_after(&mut self, time: Duration) {
        if let BodyKind::Events { end, .. } = &mut self.0 {
            *end = Some(Box::pin(tokio::time::sleep(time)));
        }
    }

    /// The length of the text. A stream has none yet.
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            BodyKind::Full(bytes) => bytes.as_ref().map_or(0, Bytes::len),
            BodyKind::Events { .. } => 0,
        }
    }

    /// Charges a long text to its reader until it has been sent. False if there is no room for it; then it is gone.
    #[inline]
    pub(crate) fn charge(&mut self, memory: &Arc<MemoryBudget>, owner: impl FnOnce() -> Owner) -> bool {
        match &mut self.0 {
            BodyKind::Full(Some(bytes)) if bytes.len() > FREE => charge_long(bytes, memory, owner()),
            _ => true,
        }
    }

    /// Holds a permit or a guard until the stream has ended. A body without a stream drops it at once: its
    /// request is done.
    #[inline]
    pub(crate) fn keep(&mut self, what: impl Send + 'static) {
        if let BodyKind::Events { kept, .. } = &mut self.0 {
            kept.push(Box::new(what));
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match &mut self.0 {
            BodyKind::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            BodyKind::Events {
                source,
                silence,
                #[cfg(feature = "auth")]
                end,
                ..
            } => {
                #[cfg(feature = "auth")]
                if end.as_mut().is_some_and(|end| end.as_mut().poll(cx).is_ready()) {
                    return Poll::Ready(None);
                }
                let next = match source.as_mut().poll_next(cx) {
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Ready(Some(bytes)) => bytes,
                    Poll::Pending if silence.as_mut().poll(cx).is_ready() => Bytes::from_static(b": keep-alive\n\n"),
                    Poll::Pending => return Poll::Pending,
                };
                silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
                // Registers the waker for the next comment: the connection may not poll again before that.
                let _ = silence.as_mut().poll(cx);
                Poll::Ready(Some(Ok(Frame::data(next))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, BodyKind::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            BodyKind::Events { .. } => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            BodyKind::Full(bytes) => f.debug_tuple("Full").field(bytes).finish(),
            BodyKind::Events { .. } => f.write_str("Events"),
        }
    }
}

fn charge_long(bytes: &mut Bytes, memory: &Arc<MemoryBudget>, owner: Owner) -> bool {
    let charge = memory.charge(owner, bytes.len());
    *bytes = charge.map_or_else(Bytes::new, |charge| charged(std::mem::take(bytes), charge));
    !bytes.is_empty()
}

/// Bytes that hold a charge for as long as they exist.
pub(crate) fn charged(bytes: Bytes, charge: Charge) -> Bytes {
    struct Charged(Bytes, #[expect(dead_code, reason = "returns its bytes when it is dropped")] Charge);
    impl AsRef<[u8]> for Charged {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Charged(bytes, charge))
}

/// The lines of a channel as events, until the channel is closed.
pub(crate) struct LineEvents<T> {
    /// Sent before the lines.
    pub(crate) first: Option<Bytes>,
    pub(crate) lines: mpsc::Receiver<Outgoing>,
    /// Frames lines as events.
    pub(crate) form: fn(&[u8]) -> Vec<u8>,
    /// Dropped with the stream: a connection, or a guard.
    pub(crate) _source: T,
}

impl<T: Send + Unpin> Events for LineEvents<T> {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let form = self.form;
        loop {
            match std::task::ready!(self.lines.poll_recv(cx)) {
                Some(Outgoing::Answer(lines) | Outgoing::Notification(lines) | Outgoing::Heartbeat(lines)) => {
                    return Poll::Ready(Some(form(&lines).into()));
                }
                // The head of the stream has been sent: the error says the rest.
                Some(Outgoing::Refused(refused)) => return Poll::Ready(Some(form(&refused.into_line()).into())),
                // This stream cannot be resumed, so it stays open.
                Some(Outgoing::Detach) => {}
                Some(Outgoing::End) | None => return Poll::Ready(None),
            }
        }
    }
}
