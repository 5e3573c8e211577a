//! Reads the message in the body of a POST, within the limits of size, memory and time.

use std::future::poll_fn;
use std::task::Poll;

use bytes::{Buf, BufMut, Bytes};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::Body;

use super::body_budget::{BodyBudget, BodyPermit};
use super::headers::{Field, Headers};
use crate::jsonrpc::error::RpcError;
use crate::limits::Limits;
use crate::transport::http::response;

const JSON: &[u8] = b"application/json";

/// The response to a request whose message is rejected unread.
type Refusal = Response<response::body::Body>;

/// Reads the message of a POST. The permit is its part of the budget for long messages, until it is dropped.
pub(crate) async fn read<'a, B: Body>(
    body: B,
    headers: &Headers<'_>,
    limits: &Limits,
    budget: &'a BodyBudget,
) -> Result<(Bytes, BodyPermit<'a>), Refusal> {
    check_content_type(headers)?;
    // Rejected by its announced length, before any of it is read.
    if body.size_hint().lower() > limits.message_bytes as u64 {
        return Err(incomplete(Incomplete::TooLong, limits.message_bytes));
    }
    let mut gathering = std::pin::pin!(gather(body, limits.message_bytes, budget.charge()));
    // Most bodies have arrived already; only the others need a timer.
    let at_once = poll_fn(|cx| match gathering.as_mut().poll(cx) {
        Poll::Ready(gathered) => Poll::Ready(Some(gathered)),
        Poll::Pending => Poll::Ready(None),
    });
    let gathered = match at_once.await {
        Some(gathered) => Ok(gathered),
        // Boxed, so that requests without a timer do not carry its size.
        None => Box::pin(tokio::time::timeout(limits.request_timeout, gathering)).await,
    };
    match gathered {
        Ok(Ok(gathered)) => Ok(gathered),
        Ok(Err(why)) => Err(incomplete(why, limits.message_bytes)),
        Err(_) => {
            let text = "the message took too long to arrive";
            Err(response::refuse(StatusCode::REQUEST_TIMEOUT, RpcError::INVALID_REQUEST, text))
        }
    }
}

fn check_content_type(headers: &Headers<'_>) -> Result<(), Refusal> {
    let kind = match headers.content_type {
        Field::Absent => None,
        Field::Once(kind) => Some(kind),
        Field::Twice => headers.every(CONTENT_TYPE).next(),
    };
    let kind = kind.map_or(&b""[..], HeaderValue::as_bytes);
    let essence = || kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if kind != JSON && !essence().eq_ignore_ascii_case(JSON) {
        let text = "send messages as `Content-Type: application/json`";
        return Err(response::refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, RpcError::INVALID_REQUEST, text));
    }
    Ok(())
}

/// The response to a body that could not be read.
fn incomplete(why: Incomplete, limit: usize) -> Refusal {
    match why {
        Incomplete::NoRoom => {
            response::later(StatusCode::SERVICE_UNAVAILABLE, "too many long messages at a time; retry later")
        }
        Incomplete::TooLong => {
            let text = format!("the message is longer than {limit} bytes");
            response::refuse(StatusCode::PAYLOAD_TOO_LARGE, RpcError::INVALID_REQUEST, &text)
        }
        Incomplete::Broken => {
            let text = "the message is incomplete: its body ended early";
            response::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text)
        }
    }
}

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Incomplete {
    TooLong,
    /// The budget for long messages is used up.
    NoRoom,
    /// The connection failed before the end.
    Broken,
}

/// Reads a whole body, and charges it to the budget. A body that arrives in one piece is not copied.
async fn gather<B: Body>(
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
