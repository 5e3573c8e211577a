//! What the server tells without being asked, as lines.

use serde::Serialize;
use serde_json::{Value, json};

use super::task::RELATED;
use super::{SUBSCRIPTION, write_json, write_raw_json};
use crate::protocol::{LogLevel, Revision};
use crate::store::{Change, TaskRecord};

/// A line that tells of a change; on a stream, of which.
pub(crate) fn change(change: &Change, stream: Option<&str>) -> Vec<u8> {
    let (method, uri) = match change {
        Change::ToolList => ("notifications/tools/list_changed", None),
        Change::PromptList => ("notifications/prompts/list_changed", None),
        Change::ResourceList => ("notifications/resources/list_changed", None),
        Change::ResourceUpdated(uri) => ("notifications/resources/updated", Some(uri)),
        // Told with everything there is to know of it.
        Change::Task(_) => return Vec::new(),
    };
    if stream.is_none() && uri.is_none() {
        return format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}\n").into_bytes();
    }
    let mut out = on_stream(method, stream);
    if let Some(uri) = uri {
        out.extend_from_slice(br#""uri":"#);
        write_json(&mut out, uri);
    }
    out.pop_if(|last| *last == b',');
    out.extend_from_slice(b"}}\n");
    out
}

/// A line that tells where a task is.
pub(crate) fn task(task: &TaskRecord, stream: &str) -> Vec<u8> {
    let mut out = on_stream("notifications/tasks", Some(stream));
    for (name, value) in super::task::state(task) {
        write_json(&mut out, &name);
        out.push(b':');
        write_json(&mut out, &value);
        out.push(b',');
    }
    out.pop_if(|last| *last == b',');
    out.extend_from_slice(b"}}\n");
    out
}

/// The first line of a stream: what it will tell.
pub(crate) fn acknowledged(stream: &str, filter: &impl Serialize) -> Vec<u8> {
    let mut out = on_stream("notifications/subscriptions/acknowledged", Some(stream));
    out.extend_from_slice(br#""notifications":"#);
    write_json(&mut out, filter);
    out.extend_from_slice(b"}}\n");
    out
}

/// The line after a stream's last word. The specification asks for either, depending on the page.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation>
pub(crate) fn torn_down(stream: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&notification("notifications/cancelled"));
    out.extend_from_slice(
        format!("{{\"requestId\":{stream},\"reason\":\"the server ends the subscription\"}}}}\n").as_bytes(),
    );
}

/// The beginning of a notification up to the members after `_meta`, which says the stream it is on.
fn on_stream(method: &str, stream: Option<&str>) -> Vec<u8> {
    let mut out = notification(method);
    out.push(b'{');
    if let Some(stream) = stream {
        out.extend_from_slice(format!("\"_meta\":{{\"{SUBSCRIPTION}\":{stream}}},").as_bytes());
    }
    out
}

/// Who is told, and by which task, if it is one that has to say so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotificationTo<'a> {
    pub(crate) revision: Revision,
    pub(crate) task: Option<&'a str>,
}

/// A line that tells how far a call has come.
pub(crate) fn progress(
    token: &str,
    done: f64,
    total: Option<f64>,
    message: Option<&str>,
    NotificationTo { revision, task }: NotificationTo<'_>,
) -> Vec<u8> {
    let mut out = notification("notifications/progress");
    out.extend_from_slice(br#"{"progressToken":"#);
    out.extend_from_slice(token.as_bytes());
    out.extend_from_slice(br#","progress":"#);
    number(done, &mut out);
    if let Some(total) = total.filter(|total| total.is_finite()) {
        out.extend_from_slice(br#","total":"#);
        number(total, &mut out);
    }
    if let Some(message) = message.filter(|_| revision >= Revision::V2025_03_26) {
        out.extend_from_slice(br#","message":"#);
        write_json(&mut out, message);
    }
    related(task, &mut out);
    out.extend_from_slice(b"}}\n");
    out
}

/// A line with a log message.
pub(crate) fn log(level: LogLevel, logger: Option<&str>, data: &impl Serialize, task: Option<&str>) -> Vec<u8> {
    let mut out = notification("notifications/message");
    out.extend_from_slice(br#"{"level":"#);
    write_json(&mut out, &level);
    if let Some(logger) = logger {
        out.extend_from_slice(br#","logger":"#);
        write_json(&mut out, logger);
    }
    out.extend_from_slice(br#","data":"#);
    let start = out.len();
    write_json(&mut out, data);
    if out[start..].contains(&b'\n') {
        let text = String::from_utf8_lossy(&out.split_off(start)).into_owned();
        write_raw_json(&text, &mut out);
    }
    related(task, &mut out);
    out.extend_from_slice(b"}}\n");
    out
}

/// Says which task it is that talks.
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#associating-task-related-messages>
fn related(task: Option<&str>, out: &mut Vec<u8>) {
    if let Some(task) = task {
        out.extend_from_slice(br#","_meta":"#);
        write_json(out, &json!({RELATED: {"taskId": task}}));
    }
}

/// A request of the server's own. Its id comes last: what begins with one is an answer.
pub(crate) fn question(id: &str, method: &str, params: &Value) -> Vec<u8> {
    let mut out = notification(method);
    write_json(&mut out, params);
    out.extend_from_slice(br#","id":"#);
    write_json(&mut out, id);
    out.extend_from_slice(b"}\n");
    out
}

/// The line that takes such a request back.
pub(crate) fn withdrawn(id: &str) -> Vec<u8> {
    let mut out = notification("notifications/cancelled");
    write_json(&mut out, &json!({"requestId": id, "reason": "the answer is not needed any more"}));
    out.extend_from_slice(b"}\n");
    out
}

/// The line that tells that a page was visited and what had to be done there is done.
/// <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation>
pub(crate) fn visited(id: &str) -> Vec<u8> {
    let mut out = notification("notifications/elicitation/complete");
    write_json(&mut out, &json!({"elicitationId": id}));
    out.extend_from_slice(b"}\n");
    out
}

fn notification(method: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":"#).into_bytes()
}

/// A number as a person would write it: no `.0` behind a whole one.
fn number(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
}
