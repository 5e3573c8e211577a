//! Tasks in the formats of the two revisions that have them.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>

use serde_json::{Map, Value, json};

use super::TaskFormat;
use crate::jsonrpc::raw::constant;
use crate::protocol::{Revision, TASKS_EXTENSION};
use crate::store::{TaskOutcome, TaskQuestion, TaskRecord, TaskStatus};

/// The interval at which a client should poll a task, in milliseconds.
const POLL_INTERVAL: u64 = 500;

/// The key of the task in the `_meta` of its messages, in 2025-11-25.
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Adds tasks to a server's capabilities. `listed` if callers are authenticated, so that each can list its own.
pub(crate) fn declare(capabilities: &mut Value, revision: Revision, listed: bool) {
    match revision.wire().tasks {
        TaskFormat::Extension => capabilities["extensions"][TASKS_EXTENSION] = json!({}),
        TaskFormat::Capability => {
            capabilities["tasks"] = constant(r#"{"cancel":{},"requests":{"tools":{"call":{}}}}"#);
            if listed {
                capabilities["tasks"]["list"] = json!({});
            }
        }
        TaskFormat::None => {}
    }
}

/// The result of a call that became a task.
pub(super) fn created(task: &TaskRecord) -> Map<String, Value> {
    let mut result = Map::new();
    if is_extension(task) {
        result.insert("resultType".to_owned(), json!("task"));
        result.extend(summary(task));
    } else {
        result.insert("task".to_owned(), summary(task).into());
    }
    result
}

fn asked_question(question: &TaskQuestion) -> Value {
    let mut asked = Map::new();
    asked.insert("method".to_owned(), question.method.clone().into());
    asked.insert("params".to_owned(), question.params.clone());
    Value::Object(asked)
}

/// The state of a task; as an extension with its open questions or its outcome.
pub(super) fn state(task: &TaskRecord) -> Map<String, Value> {
    let mut state = summary(task);
    if !is_extension(task) {
        return state;
    }
    let (name, value) = match (task.status, &task.outcome) {
        (TaskStatus::InputRequired, _) => {
            let asked = task.questions.iter().map(|(key, question)| (key.clone(), asked_question(question)));
            ("inputRequests", asked.collect())
        }
        (_, Some(TaskOutcome::Result(result))) => ("result", result.clone()),
        (_, Some(TaskOutcome::Error(error))) => ("error", error.clone()),
        _ => return state,
    };
    state.insert(name.to_owned(), value);
    state
}

/// The members that every description of a task has.
pub(super) fn summary(task: &TaskRecord) -> Map<String, Value> {
    let (ttl, poll_interval) = if is_extension(task) { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
    let mut summary = Map::new();
    let mut put = |name: &str, value: Value| summary.insert(name.to_owned(), value);
    put("taskId", json!(task.id));
    put("status", json!(status(task)));
    if let Some(message) = &task.status_message {
        put("statusMessage", json!(message));
    }
    put("createdAt", json!(timestamp(task.created_ms)));
    put("lastUpdatedAt", json!(timestamp(task.updated_ms)));
    put(ttl, json!(task.ttl));
    put(poll_interval, json!(POLL_INTERVAL));
    summary
}

/// In 2025-11-25 a task has failed if its result is an error.
fn status(task: &TaskRecord) -> TaskStatus {
    match &task.outcome {
        Some(TaskOutcome::Result(result)) if !is_extension(task) && result["isError"] == true => TaskStatus::Failed,
        _ => task.status,
    }
}

fn is_extension(task: &TaskRecord) -> bool {
    task.revision.wire().tasks == TaskFormat::Extension
}

/// Milliseconds since the Unix epoch in ISO 8601. Years begin on the first of March here, so that a leap day is the
/// last day of its year.
fn timestamp(millis: u64) -> String {
    let (days, rest) = (millis / 86_400_000, millis % 86_400_000);
    let since_march = days + 719_468;
    let (era, day) = (since_march / 146_097, since_march % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (seconds, millis) = (rest / 1000, rest % 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_follow_the_civil_calendar() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_785_196_800_123, "2026-07-28T00:00:00.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(millis), text);
        }
    }
}
