//! Reads the body of a request, within the limits.

use std::future::poll_fn;

use bytes::{Buf, BufMut, Bytes};
use http_body::Body;

use super::body_budget::BodyPermit;

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incomplete {
    TooLong,
    /// The budget for long messages is used up.
    NoRoom,
    /// The connection failed before the end.
    Broken,
}

/// Reads a whole body, and charges it to the budget. A body that arrives in one piece is not copied.
pub(crate) async fn gather<B: Body>(
    body: B,
    limit: usize,
    mut charge: BodyPermit<'_>,
) -> Result<(Bytes, BodyPermit<'_>), Incomplete> {
    let mut body = std::pin::pin!(body);
    let (mut whole, mut pieces) = (Bytes::new(), Vec::new());
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        // Trailers do not belong to the message.
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

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http_body::Frame;

    use super::*;
    use crate::transport::http::request::body_budget::BodyBudget;

    /// A body that arrives in these pieces, or fails.
    struct Pieces(Vec<Result<&'static [u8], ()>>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = ();

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ()>>> {
            let next = (!self.0.is_empty()).then(|| self.0.remove(0));
            Poll::Ready(next.map(|piece| piece.map(|bytes| Frame::data(Bytes::from_static(bytes)))))
        }
    }

    #[tokio::test]
    async fn body_is_read_up_to_the_limit() {
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
