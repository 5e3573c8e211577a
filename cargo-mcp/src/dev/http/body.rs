//! Bodies of responses, and server-sent events on their way through.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use tokio::sync::mpsc;

/// The longest body that is read.
pub(super) const BODY_BYTES: usize = 64 << 20;

/// The body of a response.
#[derive(Debug)]
pub(super) enum Outgoing {
    Whole(Option<Bytes>),
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Outgoing::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Outgoing::Stream(receiver) => receiver.poll_recv(context).map(|bytes| Some(Ok(Frame::data(bytes?)))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Outgoing::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Outgoing::Stream(_) => SizeHint::default(),
        }
    }
}

/// Reads a body up to the limit.
pub(super) async fn read(body: Incoming) -> Result<Bytes, String> {
    let body = Limited::new(body, BODY_BYTES).collect().await.map_err(|error| error.to_string())?;
    Ok(body.to_bytes())
}

/// A response of the supervisor.
pub(super) fn json(status: StatusCode, text: String) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::Whole(Some(text.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A stream of events, with the head of the server's own.
pub(super) fn stream(headers: &HeaderMap, events: mpsc::Receiver<Bytes>) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::Stream(events));
    *response.headers_mut() = end_to_end(headers);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

/// The headers that are not about one connection.
pub(super) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    const HOPS: [HeaderName; 5] = [
        http::header::CONNECTION,
        http::header::TRANSFER_ENCODING,
        http::header::UPGRADE,
        http::header::TE,
        CONTENT_LENGTH,
    ];
    let mut headers = headers.clone();
    for name in HOPS {
        headers.remove(name);
    }
    headers
}

/// An event as text, for a message of the supervisor.
pub(super) fn event(message: &str) -> Bytes {
    format!("data: {message}\n\n").into()
}

/// The blocks of an event stream: events and comments.
pub(super) struct Blocks {
    body: Incoming,
    buffer: BytesMut,
}

/// What is between two empty lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Lines that are no data.
    lines: Vec<String>,
    /// The message, if there is one.
    pub(super) data: Option<String>,
}

impl Blocks {
    pub(super) fn new(body: Incoming) -> Self {
        Blocks { body, buffer: BytesMut::new() }
    }

    /// The next block; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<Block>, String> {
        loop {
            if let Some(block) = take_block(&mut self.buffer) {
                return Ok(Some(block));
            }
            if self.buffer.len() > BODY_BYTES {
                return Err("an event of the server is too long".to_owned());
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => return Err(error.to_string()),
                None => return Ok(None),
            }
        }
    }
}

fn take_block(buffer: &mut BytesMut) -> Option<Block> {
    let ends = [(&b"\n\n"[..], 2), (&b"\r\n\r\n"[..], 4)];
    let find = |(end, bytes): (&[u8], usize)| {
        buffer.windows(bytes).position(|window| window == end).map(|start| start + bytes)
    };
    let end = ends.into_iter().filter_map(find).min()?;
    let block = buffer.split_to(end);
    Some(Block::parse(&String::from_utf8_lossy(&block)))
}

impl Block {
    fn parse(text: &str) -> Self {
        let mut block = Block { lines: Vec::new(), data: None };
        for line in text.lines().filter(|line| !line.is_empty()) {
            match line.strip_prefix("data:") {
                Some(data) => {
                    let data = data.strip_prefix(' ').unwrap_or(data);
                    match &mut block.data {
                        Some(before) => {
                            before.push('\n');
                            before.push_str(data);
                        }
                        None => block.data = Some(data.to_owned()),
                    }
                }
                None => block.lines.push(line.to_owned()),
            }
        }
        block
    }

    /// The block with another message. Event ids name the version of the server that can replay them.
    pub(super) fn write(&self, data: Option<&str>, generation: u64) -> Bytes {
        let mut text = String::new();
        for line in &self.lines {
            match line.strip_prefix("id:") {
                Some(id) => text.extend(["id: ", &generation.to_string(), ".", id.trim_start()]),
                None => text.push_str(line),
            }
            text.push('\n');
        }
        for line in data.into_iter().flat_map(|data| data.split('\n')) {
            text.push_str("data: ");
            text.push_str(line);
            text.push('\n');
        }
        text.push('\n');
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_and_written() {
        let mut buffer =
            BytesMut::from("id: 3_0\nretry: 20\ndata:\n\n: ping\r\n\r\ndata: {\"a\":\ndata: 1}\n\ndata: cut");
        let block = take_block(&mut buffer).unwrap();
        assert_eq!(block.data.as_deref(), Some(""));
        assert_eq!(block.write(block.data.as_deref(), 2), "id: 2.3_0\nretry: 20\ndata: \n\n");
        assert_eq!(take_block(&mut buffer).unwrap().write(None, 2), ": ping\n\n");
        assert_eq!(take_block(&mut buffer).unwrap().data.as_deref(), Some("{\"a\":\n1}"));
        assert_eq!(take_block(&mut buffer), None);
    }
}
