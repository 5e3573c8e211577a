//! The contract of a task store.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

#[cfg(feature = "http")]
use super::task_holders;
use super::task_samples::{LONG, SHORT, create, task};
use super::{Verdict, ensure, random_id, rule, task_quota};
#[cfg(feature = "http")]
use crate::protocol::LogLevel;
use crate::protocol::Revision;
#[cfg(feature = "http")]
use crate::store::{DurableCall, GivenAnswer};
use crate::store::{TaskOutcome, TaskQuestion, TaskRecord, TaskStatus, TaskStore};

/// Checks a [`TaskStore`]; panics with the first rule it breaks.
///
/// Some rules fill the store, which evicts finished tasks. Use a database that nobody else uses.
pub async fn tasks<S: TaskStore>(make: impl Fn() -> S) {
    rule("a created task is readable at once, unchanged", created(&make())).await;
    rule("an unknown task is not found", unknown(&make())).await;
    rule("ids are compared exactly, case included", exact_ids(&make())).await;
    rule("an update replaces the previous version", updated(&make())).await;
    rule("an update with a version conflict changes nothing", version_conflict(&make())).await;
    rule("of concurrent updates exactly one succeeds", concurrent_updates(Arc::new(make()))).await;
    rule("a list has the tasks of one owner, oldest first", listed(&make())).await;
    rule("tasks without an owner are listed separately", without_owner(&make())).await;
    rule("a list has the current records", listed_after_update(&make())).await;
    rule("an expired task is not found", expired(&make())).await;
    rule("an update does not extend the expiry", expiry_after_update(&make())).await;
    rule("a sweep removes expired tasks only", swept(&make())).await;
    rule("a very long ttl is accepted", long_ttl(&make())).await;
    #[cfg(feature = "http")]
    task_holders::rules(&make).await;
    task_quota::rules(&make).await;
}

/// A task of this owner, created at this time.
fn of(owner: &str, created_ms: u64) -> TaskRecord {
    TaskRecord { owner: Some(owner.to_owned()), created_ms, ..task() }
}

/// A record with a value in every field.
fn full() -> TaskRecord {
    let mut task = of("ann@example.com", 1_700_000_000_001);
    task.revision = Revision::V2025_11_25;
    (task.status, task.status_message) = (TaskStatus::InputRequired, Some("Ünïcode “quoted”".into()));
    let params = json!({"message": "Ü?", "none": null, "n": 1.5, "deep": [{"a": []}]});
    task.questions.insert("ask-1".into(), TaskQuestion::new("elicitation/create", params));
    task.answers.insert("ask.2 ü".into(), json!({"action": "accept", "content": {"x": null}}));
    #[cfg(feature = "auth")]
    task.scopes.extend(["notes:read".to_owned(), "notes:write".to_owned()]);
    #[cfg(feature = "http")]
    make_durable(&mut task);
    task
}

#[cfg(feature = "http")]
fn make_durable(task: &mut TaskRecord) {
    let mut durable = DurableCall::new(r#"{"name":"ü","arguments":{"a":[1.5,null]}}"#, "dialogue");
    durable.initialize_params.insert("capabilities".into(), json!({"elicitation": {}}));
    (durable.log_level, durable.run, durable.deaths) = (Some(LogLevel::Warning), u64::MAX, 3);
    durable.once.insert("step ü".into(), json!({"deep": [null, 1.25]}));
    for (key, answer) in [("in time", Some(json!({"action": "decline"}))), ("late", None)] {
        durable.answered.insert(key.into(), GivenAnswer { question: u64::MAX, answer });
    }
    (task.replica, task.durable) = (Some("replica".into()), Some(Box::new(durable)));
}

/// The next version of a task, with this status message.
fn next(task: &TaskRecord, text: &str) -> TaskRecord {
    TaskRecord { version: task.version + 1, status_message: Some(text.to_owned()), ..task.clone() }
}

/// Checks that `load` returns this record.
async fn loads(store: &impl TaskStore, task: &TaskRecord) -> Verdict {
    let loaded = store.load(&task.id).await?;
    ensure!(loaded.as_ref() == Some(task), "expected {}, loaded {}", json!(task), json!(loaded));
    Ok(())
}

async fn created(store: &impl TaskStore) -> Verdict {
    let mut done = task();
    (done.status, done.outcome) = (TaskStatus::Completed, Some(TaskOutcome::Result(json!({"content": []}))));
    let mut failed = task();
    (failed.status, failed.outcome) = (TaskStatus::Failed, Some(TaskOutcome::Error(json!({"code": -32603}))));
    for task in [task(), full(), done, failed] {
        create(store, &task, LONG).await?;
        for _ in 0..2 {
            loads(store, &task).await?;
        }
    }
    Ok(())
}

async fn unknown(store: &impl TaskStore) -> Verdict {
    let task = task();
    for _ in 0..2 {
        ensure!(store.load(&task.id).await?.is_none(), "`load` finds it");
        ensure!(!store.update(&next(&task, "next")).await?, "`update` returns true");
        ensure!(!store.update(&task).await?, "`update` to version 0 returns true");
    }
    ensure!(store.list(Some(&random_id())).await?.is_empty(), "`list` has tasks of an owner without any");
    Ok(())
}

async fn exact_ids(store: &impl TaskStore) -> Verdict {
    let task = TaskRecord { id: format!("{}aB", &random_id()[..30]), ..task() };
    create(store, &task, LONG).await?;
    for other in [&*task.id.to_ascii_lowercase(), &task.id[..31], &format!("{}A", task.id)] {
        ensure!(store.load(other).await?.is_none(), "`load` finds a task under a similar id");
    }
    Ok(())
}

async fn updated(store: &impl TaskStore) -> Verdict {
    let mut task = full();
    create(store, &task, LONG).await?;
    for text in ["half", "whole"] {
        task = next(&task, text);
        task.questions.clear();
        ensure!(store.update(&task).await?, "`update` to version {} returns false", task.version);
        loads(store, &task).await?;
    }
    Ok(())
}

async fn version_conflict(store: &impl TaskStore) -> Verdict {
    let first = full();
    create(store, &first, LONG).await?;
    let second = next(&first, "second");
    store.update(&second).await?;
    let third = next(&second, "third");
    for conflicting in [first.clone(), next(&first, "again"), next(&third, "too far")] {
        let version = conflicting.version;
        ensure!(!store.update(&conflicting).await?, "version 1 is stored, and `update` to {version} returns true");
        loads(store, &second).await?;
    }
    ensure!(store.update(&third).await?, "the correct version is rejected after a conflict");
    Ok(())
}

async fn concurrent_updates(store: Arc<impl TaskStore>) -> Verdict {
    const CONCURRENT: usize = 8;
    let mut last = task();
    create(&*store, &last, LONG).await?;
    for _ in 0..8 {
        let tries = (0..CONCURRENT).map(|number| {
            let (store, next) = (Arc::clone(&store), next(&last, &number.to_string()));
            tokio::spawn(async move { store.update(&next).await.map(|made| made.then_some(next)) })
        });
        let tries: Vec<_> = tries.collect();
        let mut made = Vec::new();
        for one in tries {
            made.extend(one.await.map_err(std::io::Error::other)??);
        }
        ensure!(made.len() == 1, "{} of {CONCURRENT} updates succeed", made.len());
        last = made.remove(0);
        loads(&*store, &last).await?;
    }
    Ok(())
}

async fn listed(store: &impl TaskStore) -> Verdict {
    let (ann, bob) = (format!("{}x", random_id()), random_id());
    let tasks = [of(&ann, 3000), of(&bob, 2500), of(&ann, 1000), of(&ann, 20_000), of(&ann, 2000)];
    for task in &tasks {
        create(store, task, LONG).await?;
    }
    let anns: Vec<_> = [2, 4, 0, 3].into_iter().map(|index| tasks[index].clone()).collect();
    let listed = store.list(Some(&ann)).await?;
    ensure!(listed == anns, "expected {}, listed {}", json!(anns), json!(listed));
    let listed = store.list(Some(&bob)).await?;
    ensure!(listed == tasks[1..2], "an owner with one task has {} listed", json!(listed));
    let similar = &ann[..ann.len() - 1];
    ensure!(store.list(Some(similar)).await?.is_empty(), "tasks are listed for an owner with a similar name");
    Ok(())
}

async fn without_owner(store: &impl TaskStore) -> Verdict {
    let (unowned, owned) = (task(), of("", 1));
    for task in [&unowned, &owned] {
        create(store, task, LONG).await?;
    }
    let has = |tasks: &[TaskRecord], task: &TaskRecord| tasks.iter().any(|other| other.id == task.id);
    let listed = store.list(None).await?;
    ensure!(has(&listed, &unowned), "a task without an owner is not listed");
    ensure!(!has(&listed, &owned), "a task of the owner `\"\"` is listed without an owner");
    ensure!(!has(&store.list(Some("")).await?, &unowned), "a task without an owner is listed for the owner `\"\"`");
    Ok(())
}

async fn listed_after_update(store: &impl TaskStore) -> Verdict {
    let task = of(&random_id(), 1000);
    create(store, &task, LONG).await?;
    let mut last = next(&task, "done");
    last.status = TaskStatus::Completed;
    store.update(&last).await?;
    let listed = store.list(task.owner.as_deref()).await?;
    ensure!(listed == [last], "after an update, listed {}", json!(listed));
    Ok(())
}

async fn expired(store: &impl TaskStore) -> Verdict {
    let (task, other) = (of(&random_id(), 1), of(&random_id(), 2));
    create(store, &task, SHORT).await?;
    create(store, &other, LONG).await?;
    loads(store, &task).await?;
    sleep(SHORT * 2).await;
    ensure!(store.load(&task.id).await?.is_none(), "`load` finds it");
    ensure!(store.list(task.owner.as_deref()).await?.is_empty(), "`list` has it");
    ensure!(!store.update(&next(&task, "next")).await?, "`update` restores it");
    ensure!(store.load(&task.id).await?.is_none(), "`load` finds it after a rejected update");
    loads(store, &other).await
}

async fn expiry_after_update(store: &impl TaskStore) -> Verdict {
    let mut task = task();
    create(store, &task, SHORT).await?;
    for _ in 0..2 {
        task = next(&task, "more");
        ensure!(store.update(&task).await?, "it expires too early");
        sleep(SHORT / 4).await;
    }
    sleep(SHORT).await;
    ensure!(store.load(&task.id).await?.is_none(), "`load` finds it after its expiry");
    Ok(())
}

async fn swept(store: &impl TaskStore) -> Verdict {
    let owner = random_id();
    let live = of(&owner, 100);
    create(store, &live, LONG).await?;
    let expiring: Vec<_> = (1..=16).map(|created| of(&owner, created)).collect();
    for task in &expiring {
        create(store, task, SHORT).await?;
    }
    store.sweep().await?;
    loads(store, &expiring[0]).await?;
    sleep(SHORT * 2).await;
    let next = store.sweep().await?;
    ensure!(next.is_none_or(|next| next > Duration::ZERO), "after a sweep, the next task has expired already");
    ensure!(store.list(Some(&owner)).await? == [live.clone()], "`list` does not have exactly the tasks left");
    loads(store, &live).await
}

async fn long_ttl(store: &impl TaskStore) -> Verdict {
    let task = task();
    create(store, &task, Duration::from_secs(100 * 365 * 24 * 60 * 60)).await?;
    ensure!(store.update(&next(&task, "next")).await?, "`update` does not find it");
    loads(store, &next(&task, "next")).await
}
