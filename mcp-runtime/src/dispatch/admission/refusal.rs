//! The part of a [`Connection`] that admits requests, and refuses others: messages that are malformed, too long or nested too deep, and requests that
//! are not admitted.

use crate::dispatch::connection::{Connection, Handled, Received};
use crate::era::{self, Accepted, Era, RequestParams, encode};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{self, Id, Message, Rejection, Request};
#[cfg(feature = "http")]
use crate::observe::Transport;

impl Connection {
    /// Admits a request: by the state of this connection first, then by the rules of its era.
    pub(in crate::dispatch) fn admit<'a>(
        &self,
        era: Era,
        request: &Request<'a>,
        params: Result<RequestParams<'a>, RpcError>,
    ) -> Result<Accepted<'a>, RpcError> {
        if self.control.is_closing() {
            return Err(RpcError::invalid_request("the server is shutting down; only `exit` is accepted"));
        }
        if self.control.in_flight.contains(request.id) {
            return Err(id_in_use());
        }
        era::accept(era, request, params, &self.session, &**self.view.catalog(), &())
    }

    /// Rejects a frame that is nested too deep for any decoder.
    pub(in crate::dispatch) fn refuse_deep(&mut self, frame: &[u8], out: &mut Vec<u8>) -> Received {
        if let Ok(Message::Response(response)) = jsonrpc::parse(frame) {
            self.control.pending_requests.reject_unreadable(response.id, "it is nested too deep");
        }
        let Some(rejection) = jsonrpc::refuse_deep(frame, self.core.limits.depth) else { return Received::default() };
        self.core.hooks.protocol_error(frame, &rejection.error);
        self.rejected(&rejection, frame.len(), out).received()
    }

    /// Rejects a frame that is longer than the limit. Only its beginning was read.
    pub(crate) fn refuse_oversized(&self, beginning: &[u8], out: &mut Vec<u8>) {
        let limit = self.core.limits.message_bytes;
        let error = RpcError::invalid_request(&format!("the message is longer than {limit} bytes"));
        self.core.hooks.protocol_error(&beginning[..beginning.len().min(1024)], &error);
        let id = jsonrpc::id_in_prefix(beginning);
        if jsonrpc::prefix_is_response(beginning) {
            return self.control.pending_requests.reject_unreadable(id, &format!("it is longer than {limit} bytes"));
        }
        let at = out.len();
        encode::error(id.unwrap_or(Id::NULL), &error, out);
        self.watch("", beginning.len()).refuse(&out[at..]);
    }

    /// Answers a malformed message with an error.
    pub(in crate::dispatch) fn rejected(
        &self,
        rejection: &Rejection<'_>,
        received: usize,
        out: &mut Vec<u8>,
    ) -> Handled {
        let at = out.len();
        encode::error(rejection.id, &rejection.error, out);
        #[cfg_attr(not(feature = "http"), allow(unused_mut))]
        let mut watch = self.watch("", received);
        #[cfg(feature = "http")]
        if let Some(watched) = watch.get()
            && self.control.place().transport == Transport::HttpSession
            && !self.in_batch
        {
            watched.status(400);
        }
        watch.refuse(&out[at..]);
        Handled::Rejected { at }
    }
}

/// The error of a request whose id is in flight.
pub(in crate::dispatch) fn id_in_use() -> RpcError {
    RpcError::invalid_request("a request with this id is still being answered")
}
