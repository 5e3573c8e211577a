//! Tasks whose replica has died: whoever looks at one ends it, so that no client waits for it until it expires.

use serde_json::json;

use crate::jsonrpc::error::RpcError;
use crate::server::core::Core;
use crate::store::{Change, TaskOutcome, TaskRecord, TaskStatus, Unavailable, with_timeout};

const DIED: &str = "The replica that ran this task has died; call the tool again";

/// The task, or the task as failed if the replica that ran it has died.
pub(super) async fn checked(core: &Core, task: TaskRecord) -> Result<TaskRecord, Unavailable> {
    let Some(replica) = &core.tasks.replica else { return Ok(task) };
    let runs_elsewhere = task.replica.as_deref().filter(|id| **id != *replica.id && !task.status.is_over());
    match runs_elsewhere {
        Some(id) if replica.has_died(id, &core.limits).await => fail(core, task).await,
        _ => Ok(task),
    }
}

/// Ends a task that nobody runs. If its record has changed meanwhile, it stays as it was: whoever looks again sees why.
async fn fail(core: &Core, task: TaskRecord) -> Result<TaskRecord, Unavailable> {
    let mut failed = task.clone();
    failed.questions.clear();
    failed.answers.clear();
    failed.status = TaskStatus::Failed;
    failed.status_message = Some(DIED.to_owned());
    let error = RpcError::new(RpcError::INTERNAL, DIED).with_data(json!({"retryable": true}));
    failed.outcome = Some(TaskOutcome::Error(json!(error)));
    failed.changed();
    let update = core.tasks.store.update(&failed);
    if !with_timeout(core.limits.store_timeout, "tasks", update).await? {
        return Ok(task);
    }
    // The bus may be user code.
    crate::panic::catch(|| core.shared.publish(&Change::Task(failed.id.clone())));
    Ok(failed)
}
