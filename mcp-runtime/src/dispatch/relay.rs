//! Messages about calls of other replicas: which of a client's messages they are, and what comes of those that other
//! replicas received. Only cancellations and responses are: a notification with a handler of the server's own runs it
//! once, where it arrived.

use super::client_notifications::cancelled_id;
use crate::call::control::ConnectionControl;
use crate::jsonrpc::{self, Message, depth};

/// Whether a message is about a call or a question that this connection does not have, and another replica may.
pub(crate) fn is_for_another(control: &ConnectionControl, message: &Message<'_>) -> bool {
    match message {
        Message::Notification(notification) if notification.method == "notifications/cancelled" => {
            cancelled_id(notification).is_some_and(|id| !control.in_flight.contains(id))
        }
        Message::Request(_) | Message::Notification(_) => false,
        Message::Response(response) => response.id.is_some_and(|id| control.pending_requests.is_of_another(id)),
    }
}

/// Applies a message that another replica received. What it is about may be unknown here, too: then it is ignored, and
/// goes no further. An `outdated` message is about a call before those of this connection.
pub(crate) fn apply(control: &ConnectionControl, frame: &[u8], max_depth: usize, outdated: bool) {
    match jsonrpc::parse(frame) {
        Ok(Message::Notification(notification)) if notification.method == "notifications/cancelled" && !outdated => {
            let cancelled = cancelled_id(&notification).is_some_and(|id| control.in_flight.cancel(id));
            tracing::debug!(cancelled, "cancellation, received by another replica");
        }
        Ok(Message::Response(response)) if depth::exceeds(frame, max_depth) => {
            control.pending_requests.reject_unreadable(response.id, "it is nested too deep");
        }
        Ok(Message::Response(response)) => {
            let answered = control.pending_requests.answered(&response);
            tracing::debug!(answered, "response, received by another replica");
        }
        _ => {}
    }
}
