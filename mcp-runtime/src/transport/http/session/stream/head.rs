//! The head of a request's stream in the store: which replica runs the call, and which requests it answers. Whoever
//! resumes the stream after that replica has died can tell the client which calls to make again.

use serde::{Deserialize, Serialize};

use super::id::{EventId, StreamId};
use crate::era::encode;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{self, Id};
use crate::store::EventTail;
use crate::transport::http::response::sse::{self, MESSAGE};

/// Who writes a stream, and for what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamHead {
    /// The id of the replica.
    pub(crate) replica: String,
    /// The ids of the requests, as JSON texts.
    requests: Vec<String>,
}

impl StreamHead {
    pub(crate) fn new(replica: &str, requests: &[Box<str>]) -> Self {
        StreamHead { replica: replica.to_owned(), requests: requests.iter().map(|id| id.as_ref().to_owned()).collect() }
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The head of a stream that has one.
    pub(crate) fn of(tail: &EventTail) -> Option<Self> {
        serde_json::from_str(tail.head.as_deref()?).ok()
    }

    /// The error responses to the requests that the dead replica has not answered, as events behind the last one it
    /// wrote. A client that is at a later event has got the first of them already.
    pub(crate) fn errors(&self, stream: StreamId, written: &[(u64, Vec<u8>)], at: u64) -> Vec<Vec<u8>> {
        let last = written.last().map_or(0, |(last, _)| *last);
        let answered: Vec<&str> = written.iter().filter_map(|(_, event)| answered(event)).collect();
        let open = self.requests.iter().filter(|id| !answered.contains(&id.as_str()));
        let events = (last + 1..).zip(open).filter(|(number, _)| *number > at);
        events.map(|(event, id)| death(EventId { stream, event }, id)).collect()
    }
}

/// The request that an event answers.
fn answered(event: &[u8]) -> Option<&str> {
    let (_, message) = std::str::from_utf8(event).ok()?.split_once("\ndata: ")?;
    let message = message.as_bytes();
    Some(jsonrpc::id_in_prefix(message).filter(|_| jsonrpc::prefix_is_response(message))?.as_str())
}

/// The event that tells of a replica's death.
fn death(event: EventId, request: &str) -> Vec<u8> {
    let text = "the replica that ran this call has died; call again";
    let error = RpcError::new(RpcError::INTERNAL, text).with_data(serde_json::json!({"retryable": true}));
    let (mut response, mut out) = (Vec::new(), Vec::new());
    encode::error(Id::new_unchecked(request), &error, &mut response);
    sse::write_event(&mut out, format_args!("id: {event}\n{MESSAGE}"), response.trim_ascii_end());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::session::stream::id::StreamKind;

    #[test]
    fn requests_without_an_answer_get_an_error_once() {
        let stream = StreamId { kind: StreamKind::Request, number: 5 };
        let head = StreamHead::new("a", &["1".into(), "\"two\"".into(), "3".into()]);
        let head: StreamHead = serde_json::from_str(&head.to_text()).unwrap();
        let event = |number: u64, message: &str| {
            (number, format!("id: r5_{number}\nevent: message\ndata: {message}\n\n").into_bytes())
        };
        let written = [
            event(1, r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#),
            event(2, r#"{"jsonrpc":"2.0","id":"two","result":{}}"#),
        ];
        let errors = |at| -> Vec<String> {
            head.errors(stream, &written, at).into_iter().map(|event| String::from_utf8(event).unwrap()).collect()
        };
        let both = errors(2);
        assert!(both[0].starts_with("id: r5_3\n") && both[0].contains(r#""id":1,"#), "{both:?}");
        assert!(both[1].starts_with("id: r5_4\n") && both[1].contains(r#""id":3,"#), "{both:?}");
        assert!(both[0].contains(r#""code":-32603"#) && both[0].contains(r#""data":{"retryable":true}"#), "{both:?}");
        assert_eq!(errors(3), both[1..]);
        assert!(errors(4).is_empty());
    }
}
