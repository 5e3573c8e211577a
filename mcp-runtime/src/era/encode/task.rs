//! Tasks as the two revisions that have them say it: names, nesting, and what counts as failed.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>

use serde_json::{Map, Value, json};

use crate::protocol::{Revision, TASKS_EXTENSION};
use crate::store::{TaskOutcome, TaskRecord, TaskStatus};

/// How often a client should ask, in milliseconds.
const POLL: u64 = 500;

/// What `_meta` calls the task something belongs to, in 2025-11-25.
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Adds to a server's capabilities that there are tasks. `listed` if callers are known, so that each can be
/// told theirs.
pub(crate) fn declare(capabilities: &mut Value, revision: Revision, listed: bool) {
    match revision {
        Revision::V2026_07_28 => capabilities["extensions"][TASKS_EXTENSION] = json!({}),
        Revision::V2025_11_25 => {
            capabilities["tasks"] = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
            if listed {
                capabilities["tasks"]["list"] = json!({});
            }
        }
        _ => {}
    }
}

/// What a call is answered that became a task.
pub(super) fn created(task: &TaskRecord) -> Value {
    if task.revision.is_modern() {
        let mut result = json!({"resultType": "task"});
        extend(&mut result, summary(task));
        return result;
    }
    json!({"task": summary(task)})
}

/// Where a task is; since 2026-07-28 with everything there is to know of it.
pub(crate) fn state(task: &TaskRecord) -> Map<String, Value> {
    let mut state = summary(task);
    if !task.revision.is_modern() {
        return state;
    }
    match (task.status, &task.outcome) {
        (TaskStatus::InputRequired, _) => {
            let asked = task.questions.iter().map(|(key, question)| (key.clone(), json!(question)));
            state.insert("inputRequests".to_owned(), asked.collect::<Map<_, _>>().into());
        }
        (_, Some(TaskOutcome::Result(result))) => drop(state.insert("result".to_owned(), result.clone())),
        (_, Some(TaskOutcome::Error(error))) => drop(state.insert("error".to_owned(), error.clone())),
        _ => {}
    }
    state
}

/// The members every account of a task has.
pub(super) fn summary(task: &TaskRecord) -> Map<String, Value> {
    let (ttl, poll) = if task.revision.is_modern() { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
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
    put(poll, json!(POLL));
    summary
}

/// To 2025-11-25 a result that is an error means that the task failed.
fn status(task: &TaskRecord) -> TaskStatus {
    match &task.outcome {
        Some(TaskOutcome::Result(result)) if !task.revision.is_modern() && result["isError"] == true => {
            TaskStatus::Failed
        }
        _ => task.status,
    }
}

fn extend(object: &mut Value, members: Map<String, Value>) {
    if let Value::Object(object) = object {
        object.extend(members);
    }
}

/// Milliseconds since 1970 in ISO 8601: the civil calendar, counted from the first of March so that a
/// leap day is the last of a year.
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
    fn times_are_those_of_the_calendar() {
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
