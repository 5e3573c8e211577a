//! The contract of a task store about its limits: when it refuses a task, and what it evicts for one.

use std::sync::Arc;

use serde_json::json;
use tokio::time::sleep;

use super::task_samples::{LONG, SHORT, create, task};
use super::{Verdict, ensure, random_id, rule};
use crate::store::{TaskLimit, TaskOutcome, TaskQuota, TaskRecord, TaskStatus, TaskStore};

/// Checks the rules about limits; panics with the first that is broken.
pub(super) async fn rules<S: TaskStore>(make: &impl Fn() -> S) {
    rule("a task beyond the limit of its account is refused", per_account(&make())).await;
    rule("a task beyond the total limit is refused", total(&make())).await;
    rule("of concurrent tasks no more than the limit are created", concurrent_creates(Arc::new(make()))).await;
    rule("an expired task does not count", expired(&make())).await;
    rule("a finished task makes room, a running one does not", finished(&make())).await;
    rule("fetched tasks are evicted first, then the oldest", order(&make())).await;
    rule("the account with the most tasks loses one", greediest(&make())).await;
}

fn per(account: usize) -> TaskQuota {
    TaskQuota::new(usize::MAX, account)
}

/// A running task that counts against this account.
fn of(account: &str, created_ms: u64) -> TaskRecord {
    TaskRecord { account: Some(account.to_owned()), created_ms, ..task() }
}

/// The same task with a result, in the next version.
fn done(task: &TaskRecord, fetched: bool) -> TaskRecord {
    let outcome = Some(TaskOutcome::Result(json!({"content": []})));
    TaskRecord { version: task.version + 1, status: TaskStatus::Completed, outcome, fetched, ..task.clone() }
}

/// Creates a task and has it finish.
async fn create_done(store: &impl TaskStore, task: &TaskRecord, fetched: bool) -> Verdict {
    create(store, task, LONG).await?;
    let finished = done(task, false);
    ensure!(store.update(&finished).await?, "`update` returns false");
    ensure!(!fetched || store.update(&done(&finished, true)).await?, "`update` returns false");
    Ok(())
}

/// Checks which of these tasks are left.
async fn left(store: &impl TaskStore, tasks: &[&TaskRecord], expected: &[bool]) -> Verdict {
    let mut found = Vec::new();
    for task in tasks {
        found.push(store.load(&task.id).await?.is_some());
    }
    ensure!(found == expected, "expected {expected:?} of the tasks to be left, found {found:?}");
    Ok(())
}

async fn admits(store: &impl TaskStore, task: &TaskRecord, quota: TaskQuota) -> Verdict {
    let created = store.create(task, LONG, quota).await?;
    ensure!(created.is_ok(), "within {quota:?}, `create` returns {created:?}");
    left(store, &[task], &[true]).await
}

async fn refuses(store: &impl TaskStore, task: &TaskRecord, quota: TaskQuota, limit: TaskLimit) -> Verdict {
    let created = store.create(task, LONG, quota).await?;
    ensure!(created == Err(limit), "beyond {quota:?}, `create` returns {created:?}");
    left(store, &[task], &[false]).await
}

async fn per_account(store: &impl TaskStore) -> Verdict {
    let (ann, bob) = (random_id(), random_id());
    for number in 0..2 {
        admits(store, &of(&ann, number), per(2)).await?;
    }
    refuses(store, &of(&ann, 2), per(2), TaskLimit::PerAccount).await?;
    admits(store, &of(&bob, 3), per(2)).await?;
    admits(store, &of(&ann, 4), per(3)).await?;
    // Tasks without an account have no such limit.
    for _ in 0..3 {
        admits(store, &task(), per(1)).await?;
    }
    Ok(())
}

/// Fills the store with running tasks, and returns how many it has.
async fn fill(store: &impl TaskStore) -> Result<usize, super::Broken> {
    for total in 1.. {
        if store.create(&of(&random_id(), 1), LONG, TaskQuota::new(total, usize::MAX)).await?.is_ok() {
            return Ok(total);
        }
    }
    unreachable!("a range without an end")
}

async fn total(store: &impl TaskStore) -> Verdict {
    let full = TaskQuota::new(fill(store).await?, usize::MAX);
    for refused in [task(), of(&random_id(), 1)] {
        refuses(store, &refused, full, TaskLimit::Total).await?;
    }
    admits(store, &task(), TaskQuota::new(full.total + 1, 1)).await
}

async fn concurrent_creates(store: Arc<impl TaskStore>) -> Verdict {
    let account = random_id();
    let tries = (0..8).map(|number| {
        let (store, task) = (Arc::clone(&store), of(&account, number));
        tokio::spawn(async move { store.create(&task, LONG, per(3)).await })
    });
    let tries: Vec<_> = tries.collect();
    let mut created = 0;
    for one in tries {
        created += usize::from(one.await.map_err(std::io::Error::other)??.is_ok());
    }
    ensure!(created == 3, "of 8 tasks {created} are created, and 3 are allowed");
    Ok(())
}

async fn expired(store: &impl TaskStore) -> Verdict {
    let account = random_id();
    create(store, &of(&account, 1), SHORT).await?;
    sleep(SHORT * 2).await;
    admits(store, &of(&account, 2), per(1)).await
}

async fn finished(store: &impl TaskStore) -> Verdict {
    let account = random_id();
    let (running, ended) = (of(&account, 1), of(&account, 2));
    create(store, &running, LONG).await?;
    create_done(store, &ended, false).await?;
    let new = of(&account, 3);
    admits(store, &new, per(2)).await?;
    left(store, &[&running, &ended], &[true, false]).await?;
    refuses(store, &of(&account, 4), per(2), TaskLimit::PerAccount).await?;
    left(store, &[&running, &new], &[true, true]).await
}

async fn order(store: &impl TaskStore) -> Verdict {
    let account = random_id();
    // Not created in the order of their age.
    let [oldest, old, fetched, newest] = [2, 3, 4, 5].map(|created| of(&account, created));
    let tasks = [&oldest, &old, &fetched, &newest];
    for task in [&newest, &oldest, &fetched, &old] {
        create_done(store, task, task.id == fetched.id).await?;
    }
    for expected in [[true, true, false, true], [false, true, false, true], [false, false, false, true]] {
        admits(store, &of(&account, 9), per(4)).await?;
        left(store, &tasks, &expected).await?;
    }
    Ok(())
}

async fn greediest(store: &impl TaskStore) -> Verdict {
    let before = fill(store).await?;
    let (greedy, modest) = (random_id(), random_id());
    let [one, two, three] = [10, 11, 12].map(|created| of(&greedy, created));
    let (lone, spent) = (of(&modest, 1), of(&random_id(), 13));
    for task in [&one, &two, &three, &lone] {
        create_done(store, task, false).await?;
    }
    create_done(store, &spent, true).await?;
    let full = TaskQuota::new(before + 5, usize::MAX);
    let tasks = [&one, &two, &three, &lone, &spent];
    for expected in
        [[true, true, true, true, false], [false, true, true, true, false], [false, false, true, true, false]]
    {
        admits(store, &of(&random_id(), 20), full).await?;
        left(store, &tasks, &expected).await?;
    }
    Ok(())
}
