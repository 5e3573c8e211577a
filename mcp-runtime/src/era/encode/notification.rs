//! Notifications and requests that the server sends, each one line.

use serde::Serialize;
use serde_json::Value;

use super::SUBSCRIPTION;
use super::object_writer::{ObjectWriter, write_handler_value};
use super::task::RELATED;
use crate::protocol::{LogLevel, Revision};
use crate::store::{Change, TaskRecord};

/// A changed list or resource; `stream` is the id of the subscription it is sent on, if any.
pub(crate) fn change(change: &Change, stream: Option<&str>) -> Vec<u8> {
    let (method, uri) = match change {
        Change::ToolList => ("notifications/tools/list_changed", None),
        Change::PromptList => ("notifications/prompts/list_changed", None),
        Change::ResourceList => ("notifications/resources/list_changed", None),
        Change::ResourceUpdated(uri) => ("notifications/resources/updated", Some(uri)),
        // A task is sent by `task`, with its state; a subscription replaces `All` by what it is subscribed to. What
        // concerns sessions is for replicas.
        Change::Task(_)
        | Change::SessionEnded(_)
        | Change::SessionChanged(..)
        | Change::SessionMessage(..)
        | Change::All => return Vec::new(),
    };
    if stream.is_none() && uri.is_none() {
        return message(method, &|_| {});
    }
    notification(method, &|params| {
        if let Some(stream) = stream {
            subscription(stream, params);
        }
        params.optional("uri", uri);
    })
}

/// The state of a task, on a subscription.
pub(crate) fn task(task: &TaskRecord, stream: &str) -> Vec<u8> {
    notification("notifications/tasks", &|params| {
        subscription(stream, params);
        params.extend(&super::task::state(task));
    })
}

/// The first message of a subscription: what the server agreed to send.
pub(crate) fn acknowledged(stream: &str, filter: &impl Serialize) -> Vec<u8> {
    notification("notifications/subscriptions/acknowledged", &|params| {
        subscription(stream, params);
        params.member("notifications", filter);
    })
}

/// Appends the message after a subscription's result. The specification asks for either, depending on the page.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation>
pub(crate) fn subscription_cancelled(stream: &str, out: &mut Vec<u8>) {
    out.append(&mut notification("notifications/cancelled", &|params| {
        params.raw("requestId", stream);
        params.member("reason", "the server ends the subscription");
    }));
}

/// Names the subscription that a message is sent on. Its id is JSON as the client sent it.
fn subscription(stream: &str, params: &mut ObjectWriter<'_>) {
    params.object("_meta", |meta| meta.raw(SUBSCRIPTION, stream));
}

/// The client a notification is for, and the task it has to name, if any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotificationTo<'a> {
    pub(crate) revision: Revision,
    pub(crate) task: Option<&'a str>,
}

/// The progress of a call.
pub(crate) fn progress(
    token: &str,
    done: f64,
    total: Option<f64>,
    message: Option<&str>,
    NotificationTo { revision, task }: NotificationTo<'_>,
) -> Vec<u8> {
    notification("notifications/progress", &|params| {
        params.raw("progressToken", token);
        // `to_string` rather than serde: 3, not 3.0.
        params.raw("progress", &done.to_string());
        if let Some(total) = total.filter(|total| total.is_finite()) {
            params.raw("total", &total.to_string());
        }
        if revision.wire().progress_message {
            params.optional("message", message);
        }
        related_task(task, params);
    })
}

/// A log message.
pub(crate) fn log(level: LogLevel, logger: Option<&str>, data: &impl Serialize, task: Option<&str>) -> Vec<u8> {
    notification("notifications/message", &|params| {
        params.member("level", &level);
        params.optional("logger", logger);
        write_handler_value(params.key("data"), data);
        related_task(task, params);
    })
}

/// Names the task that a message belongs to.
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#associating-task-related-messages>
fn related_task(task: Option<&str>, params: &mut ObjectWriter<'_>) {
    if let Some(task) = task {
        params.object("_meta", |meta| meta.object(RELATED, |related| related.member("taskId", task)));
    }
}

/// A request of the server's own.
pub(crate) fn question(id: &str, method: &str, params: &Value) -> Vec<u8> {
    message(method, &|request| {
        request.member("params", params);
        request.member("id", id);
    })
}

/// Cancels a request of the server's own.
pub(crate) fn request_cancelled(id: &str) -> Vec<u8> {
    notification("notifications/cancelled", &|params| {
        params.member("requestId", id);
        params.member("reason", "the answer is no longer needed");
    })
}

/// The user has completed what the page of a URL elicitation asked for.
/// <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation>
pub(crate) fn elicitation_complete(id: &str) -> Vec<u8> {
    notification("notifications/elicitation/complete", &|params| params.member("elicitationId", id))
}

fn notification(method: &str, params: &dyn Fn(&mut ObjectWriter<'_>)) -> Vec<u8> {
    message(method, &|message| message.object("params", params))
}

/// A message of a method, with the members after it. Not generic, so that it is compiled once.
fn message(method: &str, members: &dyn Fn(&mut ObjectWriter<'_>)) -> Vec<u8> {
    let mut line = Vec::with_capacity(128);
    ObjectWriter::write(&mut line, |message| {
        message.raw("jsonrpc", r#""2.0""#);
        message.member("method", method);
        members(message);
    });
    line.push(b'\n');
    line
}
