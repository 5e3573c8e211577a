//! What a store of tasks must do.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{Verdict, ensure, fresh, rule};
use crate::protocol::Revision;
use crate::store::{TaskOutcome, TaskQuestion, TaskRecord, TaskStatus, TaskStore};

/// Longer than any rule takes.
const LONG: Duration = Duration::from_mins(10);
/// A while, after which something is over.
const SHORT: Duration = Duration::from_millis(400);

/// Checks that a [`TaskStore`] does what it should; panics with the rule that it breaks.
pub async fn tasks<S: TaskStore>(make: impl Fn() -> S) {
    rule("what was created is there at once, as it was", created(&make())).await;
    rule("what nobody created is not there", unknown(&make())).await;
    rule("ids are told apart, by every letter", apart(&make())).await;
    rule("an update takes the place of the version before", updated(&make())).await;
    rule("an update of another version changes nothing", outdated(&make())).await;
    rule("of two updates at a time one is made", raced(Arc::new(make()))).await;
    rule("a list has the tasks of one owner, the oldest first", listed(&make())).await;
    rule("tasks of nobody are a list of their own", of_nobody(&make())).await;
    rule("a list has tasks as they are now", listed_as_they_are(&make())).await;
    rule("the count is that of all there are", counted(&make())).await;
    rule("what is over its time is gone", expired(&make())).await;
    rule("an update does not prolong", not_prolonged(&make())).await;
    rule("a sweep takes what is over its time, and nothing else", swept(&make())).await;
    rule("what is kept for very long is there", kept_for_long(&make())).await;
}

fn task() -> TaskRecord {
    TaskRecord::new(fresh(), Revision::V2026_07_28, LONG)
}

/// A task of somebody, created at this time.
fn of(owner: &str, created_ms: u64) -> TaskRecord {
    TaskRecord { owner: Some(owner.to_owned()), created_ms, ..task() }
}

/// A record with something in every place.
fn full() -> TaskRecord {
    let mut task = of("ann@example.com", 1_700_000_000_001);
    task.revision = Revision::V2025_11_25;
    (task.status, task.status_message) = (TaskStatus::InputRequired, Some("Ünïcode “quoted”".into()));
    let params = json!({"message": "Ü?", "none": null, "n": 1.5, "deep": [{"a": []}]});
    task.questions.insert("ask-1".into(), TaskQuestion::new("elicitation/create", params));
    task.answers.insert("ask.2 ü".into(), json!({"action": "accept", "content": {"x": null}}));
    task
}

/// The next version of a task, with another text.
fn next(task: &TaskRecord, text: &str) -> TaskRecord {
    TaskRecord { version: task.version + 1, status_message: Some(text.to_owned()), ..task.clone() }
}

/// That a task is there as it should be.
async fn is_there(store: &impl TaskStore, task: &TaskRecord) -> Verdict {
    let loaded = store.load(&task.id).await?;
    ensure!(loaded.as_ref() == Some(task), "{task:?} should be there, {loaded:?} is");
    Ok(())
}

async fn created(store: &impl TaskStore) -> Verdict {
    let mut done = task();
    (done.status, done.outcome) = (TaskStatus::Completed, Some(TaskOutcome::Result(json!({"content": []}))));
    let mut failed = task();
    (failed.status, failed.outcome) = (TaskStatus::Failed, Some(TaskOutcome::Error(json!({"code": -32603}))));
    for task in [task(), full(), done, failed] {
        store.create(&task, LONG).await?;
        for _ in 0..2 {
            is_there(store, &task).await?;
        }
    }
    Ok(())
}

async fn unknown(store: &impl TaskStore) -> Verdict {
    let task = task();
    for _ in 0..2 {
        ensure!(store.load(&task.id).await?.is_none(), "`load` finds it");
        ensure!(!store.update(&next(&task, "next")).await?, "`update` says that it was there");
        ensure!(!store.update(&task).await?, "`update` of version 0 says that it was there");
    }
    ensure!(store.list(Some(&fresh())).await?.is_empty(), "there are tasks of somebody who made none");
    Ok(())
}

async fn apart(store: &impl TaskStore) -> Verdict {
    let task = TaskRecord { id: format!("{}aB", &fresh()[..30]), ..task() };
    store.create(&task, LONG).await?;
    for other in [&*task.id.to_ascii_lowercase(), &task.id[..31], &format!("{}A", task.id)] {
        ensure!(store.load(other).await?.is_none(), "one was created, and found under another id like it");
    }
    Ok(())
}

async fn updated(store: &impl TaskStore) -> Verdict {
    let mut task = full();
    store.create(&task, LONG).await?;
    for text in ["half", "whole"] {
        task = next(&task, text);
        task.questions.clear();
        ensure!(store.update(&task).await?, "`update` to version {} is refused", task.version);
        is_there(store, &task).await?;
    }
    Ok(())
}

async fn outdated(store: &impl TaskStore) -> Verdict {
    let first = full();
    store.create(&first, LONG).await?;
    let second = next(&first, "second");
    store.update(&second).await?;
    let third = next(&second, "third");
    for wrong in [first.clone(), next(&first, "again"), next(&third, "too far")] {
        let version = wrong.version;
        ensure!(!store.update(&wrong).await?, "version 1 is there, and `update` to {version} is accepted");
        is_there(store, &second).await?;
    }
    ensure!(store.update(&third).await?, "the right version is refused after a wrong one");
    Ok(())
}

async fn raced(store: Arc<impl TaskStore>) -> Verdict {
    const AT_A_TIME: usize = 8;
    let mut last = task();
    store.create(&last, LONG).await?;
    for _ in 0..8 {
        let tries = (0..AT_A_TIME).map(|number| {
            let (store, next) = (Arc::clone(&store), next(&last, &number.to_string()));
            tokio::spawn(async move { store.update(&next).await.map(|made| made.then_some(next)) })
        });
        let tries: Vec<_> = tries.collect();
        let mut made = Vec::new();
        for one in tries {
            made.extend(one.await.map_err(std::io::Error::other)??);
        }
        ensure!(made.len() == 1, "{} of {AT_A_TIME} were made", made.len());
        last = made.remove(0);
        is_there(&*store, &last).await?;
    }
    Ok(())
}

async fn listed(store: &impl TaskStore) -> Verdict {
    let (ann, bob) = (format!("{}x", fresh()), fresh());
    let tasks = [of(&ann, 3000), of(&bob, 2500), of(&ann, 1000), of(&ann, 20_000), of(&ann, 2000)];
    for task in &tasks {
        store.create(task, LONG).await?;
    }
    let anns: Vec<_> = [2, 4, 0, 3].into_iter().map(|index| tasks[index].clone()).collect();
    let listed = store.list(Some(&ann)).await?;
    ensure!(listed == anns, "{anns:?} should be listed, {listed:?} is");
    let listed = store.list(Some(&bob)).await?;
    ensure!(listed == tasks[1..2], "of somebody with one task {listed:?} is listed");
    let like = &ann[..ann.len() - 1];
    ensure!(store.list(Some(like)).await?.is_empty(), "tasks are listed for somebody with a name like it");
    Ok(())
}

async fn of_nobody(store: &impl TaskStore) -> Verdict {
    let (nobodys, somebodys) = (task(), of("", 1));
    for task in [&nobodys, &somebodys] {
        store.create(task, LONG).await?;
    }
    let has = |tasks: &[TaskRecord], task: &TaskRecord| tasks.iter().any(|other| other.id == task.id);
    let listed = store.list(None).await?;
    ensure!(has(&listed, &nobodys), "a task of nobody is not listed");
    ensure!(!has(&listed, &somebodys), "a task of somebody with an empty name is one of nobody");
    ensure!(!has(&store.list(Some("")).await?, &nobodys), "a task of nobody is one of somebody with an empty name");
    Ok(())
}

async fn listed_as_they_are(store: &impl TaskStore) -> Verdict {
    let task = of(&fresh(), 1000);
    store.create(&task, LONG).await?;
    let mut last = next(&task, "done");
    last.status = TaskStatus::Completed;
    store.update(&last).await?;
    let listed = store.list(task.owner.as_deref()).await?;
    ensure!(listed == [last], "after an update {listed:?} is listed");
    Ok(())
}

/// Others may use the store, so how many there are is known only roughly: those made here are in.
async fn counted(store: &impl TaskStore) -> Verdict {
    ensure!(store.count().await? < usize::MAX / 2, "there are too many to be true");
    let owner = fresh();
    for made in 1..=3 {
        store.create(&of(&owner, made), LONG).await?;
        store.create(&task(), LONG).await?;
    }
    let count = store.count().await?;
    ensure!(count >= 6, "six were made, and there are {count}");
    Ok(())
}

async fn expired(store: &impl TaskStore) -> Verdict {
    let (task, other) = (of(&fresh(), 1), of(&fresh(), 2));
    store.create(&task, SHORT).await?;
    store.create(&other, LONG).await?;
    is_there(store, &task).await?;
    sleep(SHORT * 2).await;
    ensure!(store.load(&task.id).await?.is_none(), "`load` finds it");
    ensure!(store.list(task.owner.as_deref()).await?.is_empty(), "`list` has it");
    ensure!(!store.update(&next(&task, "next")).await?, "`update` brings it back");
    ensure!(store.load(&task.id).await?.is_none(), "`load` finds it after an update that was refused");
    is_there(store, &other).await
}

async fn not_prolonged(store: &impl TaskStore) -> Verdict {
    let mut task = task();
    store.create(&task, SHORT).await?;
    for _ in 0..2 {
        task = next(&task, "more");
        ensure!(store.update(&task).await?, "it is gone before its time");
        sleep(SHORT / 4).await;
    }
    sleep(SHORT).await;
    ensure!(store.load(&task.id).await?.is_none(), "`load` finds it after its time");
    Ok(())
}

async fn swept(store: &impl TaskStore) -> Verdict {
    let owner = fresh();
    let there = of(&owner, 100);
    store.create(&there, LONG).await?;
    let over: Vec<_> = (1..=16).map(|created| of(&owner, created)).collect();
    for task in &over {
        store.create(task, SHORT).await?;
    }
    store.sweep().await?;
    is_there(store, &over[0]).await?;
    let before = store.count().await?;
    sleep(SHORT * 2).await;
    // How many it takes is its own affair: it may have done it already.
    store.sweep().await?;
    let after = store.count().await?;
    ensure!(after < before, "of {before} tasks {} are over their time, and {after} are left", over.len());
    ensure!(store.list(Some(&owner)).await? == [there.clone()], "`list` has something else than what is left");
    is_there(store, &there).await
}

async fn kept_for_long(store: &impl TaskStore) -> Verdict {
    let task = task();
    store.create(&task, Duration::from_hours(24 * 365 * 100)).await?;
    ensure!(store.update(&next(&task, "next")).await?, "it is gone");
    is_there(store, &next(&task, "next")).await
}
