//! Batches: several messages in one frame, in 2025-03-26.
//! <https://modelcontextprotocol.io/specification/2025-03-26/basic#batching>

use crate::era;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::raw::Raw;
use crate::jsonrpc::{self, Id, Message, Rejection};

/// Splits a batch into its messages, at most `limit`.
pub(crate) fn elements(frame: &[u8], limit: usize) -> Result<Vec<Raw<'_>>, Rejection<'static>> {
    let reject = |error| Rejection { id: Id::NULL, error };
    let text = std::str::from_utf8(frame).map_err(|_| reject(RpcError::parse("the message is not UTF-8")))?;
    let elements: Vec<Raw<'_>> = serde_json::from_str(text)
        .map_err(|error| reject(RpcError::parse(&format!("the message is not valid JSON: {error}"))))?;
    if elements.is_empty() {
        return Err(reject(RpcError::invalid_request("a batch has at least one message")));
    }
    if elements.len() > limit {
        return Err(reject(RpcError::invalid_request(&format!("a batch has at most {limit} messages"))));
    }
    Ok(elements)
}

/// Reads one message of a batch. Messages that open or close a connection cannot be part of one.
pub(crate) fn element(raw: Raw<'_>) -> Result<Message<'_>, Rejection<'_>> {
    if raw.get().starts_with('[') {
        return Err(Rejection { id: Id::NULL, error: RpcError::invalid_request("a message is a JSON object") });
    }
    match jsonrpc::parse(raw.get().as_bytes())? {
        Message::Request(request) if matches!(&*request.method, "initialize" | "shutdown") => {
            let error = RpcError::invalid_request(&format!("`{}` cannot be part of a batch", request.method));
            Err(Rejection { id: request.id, error })
        }
        // A subscription never ends on its own, and would hold up the other responses.
        Message::Request(request) if era::is_modern(&request) => {
            let error = RpcError::invalid_request("a request of 2026-07-28 cannot be part of a batch");
            Err(Rejection { id: request.id, error })
        }
        message => Ok(message),
    }
}

/// The responses to a batch, collected until all are there.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    list: Vec<u8>,
}

impl Batch {
    /// Adds a response line; an empty one is ignored, since notifications have no response.
    pub(crate) fn add(&mut self, line: &[u8]) {
        if !line.is_empty() {
            self.list.push(if self.list.is_empty() { b'[' } else { b',' });
            self.list.extend_from_slice(line.trim_ascii_end());
        }
    }

    /// The responses as one line; empty if there are none.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if !self.list.is_empty() {
            self.list.extend_from_slice(b"]\n");
        }
        self.list
    }
}
