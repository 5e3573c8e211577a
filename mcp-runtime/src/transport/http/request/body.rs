//! Reads the message in the body of a POST, within the limits of size, memory, time and rate.
//!
//! Most bodies have arrived with their head. Those that have not are counted apart from requests being served
//! ([`Arrivals`]), so that slow senders take no place from others, and must keep up a rate.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
#[cfg(feature = "auth")]
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::Body;

use super::arrivals::{Arrivals, Incomplete};
use super::headers::{Field, Headers};
use crate::jsonrpc::error::RpcError;
use crate::limits::Limits;
use crate::server::memory::{Charge, FREE};
use crate::transport::http::response;

const JSON: &[u8] = b"application/json";

/// The response to a request whose message is rejected unread. Boxed: a response is larger than what is read otherwise.
type Refusal = Box<Response<response::body::Body>>;

/// Reads the message of a POST. If it is long, `charge` makes what it takes of the memory budget.
pub(crate) async fn read<B: Body>(
    body: B,
    headers: &Headers<'_>,
    limits: &Limits,
    arrivals: &Arrivals,
    charge: impl Fn() -> Charge,
    restart: impl FnOnce(),
) -> Result<(Bytes, Option<Charge>), Refusal> {
    check_content_type(headers)?;
    // Rejected by its announced length, before any of it is read.
    if body.size_hint().lower() > limits.message_bytes as u64 {
        return Err(incomplete(Incomplete::TooLong, limits.message_bytes));
    }
    let received = AtomicUsize::new(0);
    let mut gathering = std::pin::pin!(gather(body, limits.message_bytes, charge, &received));
    let at_once = poll_fn(|cx| match gathering.as_mut().poll(cx) {
        Poll::Ready(gathered) => Poll::Ready(Some(gathered)),
        Poll::Pending => Poll::Ready(None),
    });
    let gathered = match at_once.await {
        Some(gathered) => gathered,
        None => {
            restart();
            // Boxed, so that requests without a timer do not carry its size.
            Box::pin(arrivals.paced(gathering, &received, limits.request_timeout)).await
        }
    };
    gathered.map_err(|why| incomplete(why, limits.message_bytes))
}

/// The longest message of a refused request that is waited for, and for how long. What begins a conversation is shorter.
#[cfg(feature = "auth")]
const DISCARDED: usize = 64 * 1024;
#[cfg(feature = "auth")]
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits for the message of a request that is refused whatever it says, and drops it. With a response before it has
/// arrived, the connection ends, and a client that keeps it for its next request fails. It is not counted among the
/// [`Arrivals`]: whoever has no token takes no place from others.
#[cfg(feature = "auth")]
pub(crate) async fn discard<B: Body>(body: B, limit: Duration) {
    let mut body = std::pin::pin!(body);
    if body.size_hint().lower() > DISCARDED as u64 {
        return;
    }
    let arrival = async {
        let mut length = 0;
        while let Some(Ok(frame)) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await
            && length <= DISCARDED
        {
            length += frame.data_ref().map_or(0, Buf::remaining);
        }
    };
    let _ = tokio::time::timeout(limit.min(PATIENCE), arrival).await;
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
        return Err(Box::new(response::refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, RpcError::INVALID_REQUEST, text)));
    }
    Ok(())
}

/// The response to a body that could not be read.
fn incomplete(why: Incomplete, limit: usize) -> Refusal {
    Box::new(match why {
        Incomplete::NoRoom => {
            response::later(StatusCode::SERVICE_UNAVAILABLE, "too many long messages at a time; retry later")
        }
        Incomplete::TooMany => {
            response::later(StatusCode::SERVICE_UNAVAILABLE, "too many messages arrive slowly; retry later")
        }
        Incomplete::TooSlow => {
            let text = "the message took too long to arrive";
            response::refuse(StatusCode::REQUEST_TIMEOUT, RpcError::INVALID_REQUEST, text)
        }
        Incomplete::TooLong => {
            let text = format!("the message is longer than {limit} bytes");
            response::refuse(StatusCode::PAYLOAD_TOO_LARGE, RpcError::INVALID_REQUEST, &text)
        }
        Incomplete::Broken => {
            let text = "the message is incomplete: its body ended early";
            response::refuse(StatusCode::BAD_REQUEST, RpcError::INVALID_REQUEST, text)
        }
    })
}

/// Reads a whole body. One that arrives in one piece is not copied. A long one is charged twice: a call that waits has
/// decoded it, too.
async fn gather<B: Body>(
    body: B,
    limit: usize,
    charge: impl Fn() -> Charge,
    received: &AtomicUsize,
) -> Result<(Bytes, Option<Charge>), Incomplete> {
    let mut charged: Option<Charge> = None;
    let mut body = std::pin::pin!(body);
    let (mut whole, mut pieces) = (Bytes::new(), Vec::new());
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        // Trailers do not belong to the message.
        let Ok(mut data) = frame.map_err(|_| Incomplete::Broken)?.into_data() else { continue };
        let length = data.remaining();
        if length > limit - whole.len() - pieces.len() {
            return Err(Incomplete::TooLong);
        }
        let sum = whole.len() + pieces.len() + length;
        received.store(sum, Ordering::Relaxed);
        if sum > FREE && !charged.get_or_insert_with(&charge).set(2 * sum) {
            return Err(Incomplete::NoRoom);
        }
        if whole.is_empty() && pieces.is_empty() {
            whole = data.copy_to_bytes(length);
            continue;
        }
        pieces.extend_from_slice(&std::mem::take(&mut whole));
        pieces.put(data);
    }
    Ok((if pieces.is_empty() { whole } else { pieces.into() }, charged))
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http_body::Frame;

    use super::*;
    use crate::server::memory::{MemoryBudget, Owner};

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
        let budget = std::sync::Arc::new(MemoryBudget::new(&Limits::default()));
        let received = AtomicUsize::new(0);
        let gathered = async |pieces: &[Result<&'static [u8], ()>]| {
            gather(Pieces(pieces.to_vec()), 6, || budget.open(Owner::Unknown), &received).await.map(|(bytes, _)| bytes)
        };
        assert_eq!(gathered(&[]).await, Ok(Bytes::new()));
        assert_eq!(gathered(&[Ok(b"abcdef")]).await, Ok("abcdef".into()));
        assert_eq!(gathered(&[Ok(b""), Ok(b"ab"), Ok(b""), Ok(b"cd"), Ok(b"ef")]).await, Ok("abcdef".into()));
        assert_eq!(gathered(&[Ok(b"abcdefg")]).await, Err(Incomplete::TooLong));
        assert_eq!(gathered(&[Ok(b"ab"), Ok(b"cd"), Ok(b"efg")]).await, Err(Incomplete::TooLong));
        assert_eq!(gathered(&[Ok(b"ab"), Err(())]).await, Err(Incomplete::Broken));
    }
}
