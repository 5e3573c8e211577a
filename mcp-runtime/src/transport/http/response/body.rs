//! What a response carries: one JSON text, or events as they happen.
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html>

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use crate::call::outbox::Outgoing;
use crate::transport::http::request::body_budget::BodyPermit;

/// How long a stream may be silent before it says that it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The body of a response.
pub struct Body(BodyKind);

enum BodyKind {
    Full(Option<Bytes>),
    Events { source: Pin<Box<dyn Events>>, silence: Pin<Box<Sleep>>, kept: Vec<Box<dyn Send>> },
}

/// Where the events of a stream come from.
pub(crate) trait Events: Send {
    /// What to write next, already in the form of events; nothing when the stream is over.
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
            kept: Vec::new(),
        })
    }

    /// Gives a stream what it has until it is over, like its place among the requests; anything else is
    /// done already.
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
            BodyKind::Events { source, silence, .. } => {
                let next = match source.as_mut().poll_next(cx) {
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Ready(Some(bytes)) => bytes,
                    Poll::Pending if silence.as_mut().poll(cx).is_ready() => Bytes::from_static(b": still here\n\n"),
                    Poll::Pending => return Poll::Pending,
                };
                silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
                // Registered for the next time, whether or not the connection asks at once.
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

/// Why the body of a request is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incomplete {
    TooLong,
    /// There is too much in memory already.
    NoRoom,
    Broken,
}

/// The whole body of a request, and what it takes. One that came in a piece is not copied.
pub(crate) async fn gather<B: HttpBody>(
    body: B,
    limit: usize,
    mut charge: BodyPermit<'_>,
) -> Result<(Bytes, BodyPermit<'_>), Incomplete> {
    let mut body = std::pin::pin!(body);
    let (mut whole, mut pieces) = (Bytes::new(), Vec::new());
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        // Trailers are no part of the message.
        let Ok(mut data) = frame.map_err(|_| Incomplete::Broken)?.into_data() else { continue };
        let length = data.remaining();
        if length > limit - whole.len() - pieces.len() {
            return Err(Incomplete::TooLong);
        }
        if !charge.grow(whole.len() + pieces.len() + length) {
            return Err(Incomplete::NoRoom);
        }
        if whole.is_empty() && pieces.is_empty() {
            whole = data.copy_to_bytes(length);
            continue;
        }
        pieces.extend_from_slice(&std::mem::take(&mut whole));
        pieces.put(data);
    }
    Ok((if pieces.is_empty() { whole } else { pieces.into() }, charge))
}

/// Lines as they come, as events behind a first one, for as long as there can be any. What they come
/// from lasts as long as they do.
pub(crate) struct LineEvents<T> {
    pub(crate) first: Option<Bytes>,
    pub(crate) lines: mpsc::Receiver<Outgoing>,
    /// How lines become events.
    pub(crate) form: fn(&[u8]) -> Vec<u8>,
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
                Some(Outgoing::Answer(lines) | Outgoing::Notification(lines)) => {
                    return Poll::Ready(Some(form(&lines).into()));
                }
                // This stream cannot be resumed, so it stays open.
                Some(Outgoing::Detach) => {}
                Some(Outgoing::End) | None => return Poll::Ready(None),
            }
        }
    }
}

/// Lines as events, one each.
pub(crate) fn events(lines: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(lines.len() + 16);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.extend_from_slice(b"\n\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::request::body_budget::BodyBudget;

    /// A body that comes in these pieces, and perhaps breaks off.
    struct Pieces(Vec<Result<&'static [u8], ()>>);

    impl HttpBody for Pieces {
        type Data = Bytes;
        type Error = ();

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ()>>> {
            let next = (!self.0.is_empty()).then(|| self.0.remove(0));
            Poll::Ready(next.map(|piece| piece.map(|bytes| Frame::data(Bytes::from_static(bytes)))))
        }
    }

    #[tokio::test]
    async fn a_body_is_gathered_up_to_the_limit() {
        let budget = BodyBudget::new(&crate::Limits::default());
        let gathered = async |pieces: &[Result<&'static [u8], ()>]| {
            gather(Pieces(pieces.to_vec()), 6, budget.charge()).await.map(|(bytes, _)| bytes)
        };
        assert_eq!(gathered(&[]).await, Ok(Bytes::new()));
        assert_eq!(gathered(&[Ok(b"abcdef")]).await, Ok("abcdef".into()));
        assert_eq!(gathered(&[Ok(b""), Ok(b"ab"), Ok(b""), Ok(b"cd"), Ok(b"ef")]).await, Ok("abcdef".into()));
        assert_eq!(gathered(&[Ok(b"abcdefg")]).await, Err(Incomplete::TooLong));
        assert_eq!(gathered(&[Ok(b"ab"), Ok(b"cd"), Ok(b"efg")]).await, Err(Incomplete::TooLong));
        assert_eq!(gathered(&[Ok(b"ab"), Err(())]).await, Err(Incomplete::Broken));
    }
}
