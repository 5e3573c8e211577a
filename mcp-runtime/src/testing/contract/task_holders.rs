//! The contract of a task store: whose tasks there are.

use tokio::time::sleep;

use super::task_samples::{LONG, SHORT, create, task};
use super::{Verdict, ensure, random_id, rule};
use crate::store::{DurableCall, TaskRecord, TaskStatus, TaskStore};

pub(super) async fn rules<S: TaskStore>(make: &impl Fn() -> S) {
    rule("a task that a replica runs has a holder", held(&make())).await;
    rule("a task that changes hands has its new holder only", handed_over(&make())).await;
    rule("a task that is over or expired has no holder", over(&make())).await;
}

/// A durable task that this replica runs.
fn durable(replica: Option<&str>) -> TaskRecord {
    let mut task = task();
    task.replica = replica.map(str::to_owned);
    task.durable = Some(Box::new(DurableCall::new("{}", random_id())));
    task
}

/// The next version of a task, at this replica.
fn at(task: &TaskRecord, replica: Option<&str>) -> TaskRecord {
    TaskRecord { version: task.version + 1, replica: replica.map(str::to_owned), ..task.clone() }
}

/// Checks that a holder has exactly these tasks, and is known to if it has any.
async fn holds(store: &impl TaskStore, holder: &str, tasks: &[&TaskRecord]) -> Verdict {
    let mut held = store.held_by(holder, 1000).await?;
    // Those of other rules may wait for a replica, too.
    held.retain(|task| !holder.is_empty() || tasks.iter().any(|other| other.id == task.id));
    held.sort_by(|one, other| one.id.cmp(&other.id));
    let mut expected: Vec<TaskRecord> = tasks.iter().map(|task| (*task).clone()).collect();
    expected.sort_by(|one, other| one.id.cmp(&other.id));
    ensure!(held == expected, "`held_by` has {} tasks for `{holder}`, not {}, or others", held.len(), expected.len());
    let known = store.holders().await?.iter().filter(|other| *other == holder).count();
    ensure!(known <= 1 && (known == 1 || tasks.is_empty()), "`holders` has `{holder}` {known} times");
    Ok(())
}

async fn held(store: &impl TaskStore) -> Verdict {
    let (one, two) = (random_id(), random_id());
    let (first, second, third, free) = (durable(Some(&one)), durable(Some(&one)), durable(Some(&two)), durable(None));
    let (ordinary, without) = (TaskRecord { replica: Some(one.clone()), ..task() }, task());
    for task in [&first, &second, &third, &free, &ordinary, &without] {
        create(store, task, LONG).await?;
    }
    holds(store, &one, &[&first, &second, &ordinary]).await?;
    holds(store, &two, &[&third]).await?;
    holds(store, "", &[&free]).await?;
    ensure!(!store.held_by("", 1000).await?.contains(&without), "a task without a replica waits for one");
    holds(store, &random_id(), &[]).await?;
    for limit in [0, 1] {
        let held = store.held_by(&one, limit).await?.len();
        ensure!(held == limit, "`held_by` with limit {limit} returns {held}");
    }
    Ok(())
}

async fn handed_over(store: &impl TaskStore) -> Verdict {
    let (one, two) = (random_id(), random_id());
    let first = durable(Some(&one));
    create(store, &first, LONG).await?;
    let free = at(&first, None);
    ensure!(store.update(&free).await?, "`update` returns false");
    holds(store, &one, &[]).await?;
    holds(store, "", &[&free]).await?;
    let second = at(&free, Some(&two));
    ensure!(store.update(&second).await?, "`update` returns false");
    holds(store, &two, &[&second]).await?;
    ensure!(!store.held_by("", 1000).await?.iter().any(|task| task.id == first.id), "it waits for a replica still");
    // Too late: the version is an old one.
    ensure!(!store.update(&at(&first, Some(&one))).await?, "`update` ignores the version");
    holds(store, &one, &[]).await?;
    holds(store, &two, &[&second]).await
}

async fn over(store: &impl TaskStore) -> Verdict {
    let replica = random_id();
    let (ended, expired, running) = (durable(Some(&replica)), durable(Some(&replica)), durable(Some(&replica)));
    create(store, &ended, LONG).await?;
    create(store, &expired, SHORT).await?;
    create(store, &running, LONG).await?;
    let mut over = at(&ended, Some(&replica));
    over.status = TaskStatus::Completed;
    ensure!(store.update(&over).await?, "`update` returns false");
    sleep(SHORT * 2).await;
    holds(store, &replica, &[&running]).await
}
