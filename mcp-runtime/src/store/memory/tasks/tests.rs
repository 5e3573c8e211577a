//! The indexes of the task store: its choice of what to evict, and the cost of a task.

use std::time::Instant;

use serde_json::json;

use super::*;
use crate::protocol::Revision;
use crate::store::{TaskOutcome, TaskStatus};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A generator of numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn task(id: u64, account: Option<&str>) -> TaskRecord {
    let mut task = TaskRecord::new(id.to_string(), Revision::LATEST, HOUR);
    (task.account, task.created_ms) = (account.map(ToOwned::to_owned), id);
    task
}

fn ids(tasks: &[TaskRecord]) -> Vec<&str> {
    tasks.iter().map(|task| &*task.id).collect()
}

/// The store, which has indexes, and [`TaskQuota::make_room`], which looks at all tasks, agree.
#[tokio::test]
async fn eviction_agrees_with_the_reference() {
    let (store, mut model) = (MemoryTasks::new(), Vec::<TaskRecord>::new());
    let mut numbers = Numbers(7);
    let accounts = [None, Some("a"), Some("b"), Some("c")];
    let (mut evictions, mut refusals) = (0, 0);
    for id in 0..4000 {
        let account = accounts[usize::try_from(numbers.below(4)).unwrap()];
        let quota = TaskQuota::new(12, 5);
        let (created, new) = (task(id, account), quota.make_room(account, &model));
        assert_eq!(store.create(&created, HOUR, quota).await.unwrap(), new.clone().map(|_| ()), "{id}");
        if let Ok(evicted) = &new {
            evictions += evicted.len();
            model.retain(|task| !evicted.contains(&task.id));
            model.push(created);
        }
        refusals += usize::from(new.is_err());
        // Something finishes, or is fetched.
        for _ in 0..numbers.below(3) {
            let index = usize::try_from(numbers.below(model.len() as u64)).unwrap();
            let task = &mut model[index];
            task.version += 1;
            if task.status.is_over() {
                task.fetched = true;
            } else {
                (task.status, task.outcome) = (TaskStatus::Completed, Some(TaskOutcome::Result(json!({}))));
            }
            assert!(store.update(task).await.unwrap());
        }
        let all = store.list(None).await.unwrap();
        assert_eq!(ids(&all), ids(&model), "{id}");
    }
    assert!(evictions > 1000 && refusals > 10, "{evictions} evictions, {refusals} refusals");
}

#[tokio::test]
async fn empty_store_holds_nothing() {
    let store = MemoryTasks::new();
    for id in 0..100 {
        let account = id.to_string();
        store
            .create(&task(id, Some(&account)), Duration::from_millis(id), TaskQuota::UNLIMITED)
            .await
            .unwrap()
            .unwrap();
    }
    while let Some(next) = store.sweep().await.unwrap() {
        assert!(next < Duration::from_millis(100), "{next:?}");
        tokio::time::sleep(next).await;
    }
    let table = lock(&store.0);
    assert!(table.tasks.is_empty() && table.expiry.is_empty());
    assert!(table.accounts.is_empty() && table.ranking.is_empty());
}

/// How long a create takes in a store with so many tasks, all of one account, half of them finished.
async fn cost_of_create(tasks: u64) -> Duration {
    const CREATES: u64 = 500;
    let store = MemoryTasks::new();
    for id in 0..tasks {
        let mut task = task(id, Some("one"));
        if id % 2 == 0 {
            task.status = TaskStatus::Completed;
        }
        store.create(&task, HOUR, TaskQuota::UNLIMITED).await.unwrap().unwrap();
    }
    let full = TaskQuota::new(usize::try_from(tasks).unwrap(), usize::MAX);
    let begun = Instant::now();
    for id in tasks..tasks + CREATES {
        store.create(&task(id, Some("other")), HOUR, full).await.unwrap().unwrap();
    }
    begun.elapsed()
}

/// The best of several runs, since the machine may be busy. A scan of the table would cost fifty times as much.
#[tokio::test]
async fn cost_of_a_create_does_not_grow_with_the_number_of_tasks() {
    let (mut few, mut many) = (Duration::MAX, Duration::MAX);
    for _ in 0..5 {
        few = few.min(cost_of_create(1000).await);
        many = many.min(cost_of_create(50_000).await);
    }
    assert!(many < few * 10, "{few:?} with 1000 tasks, {many:?} with 50 000");
}

#[tokio::test]
async fn results_of_finished_tasks_are_bounded_in_bytes() {
    let store = MemoryTasks::new();
    let long = "x".repeat(4 * 1024 * 1024);
    for id in 0..30 {
        let mut task = task(id, Some(if id < 20 { "a" } else { "b" }));
        assert_eq!(store.create(&task, HOUR, TaskQuota::UNLIMITED).await.unwrap(), Ok(()));
        task.outcome = Some(TaskOutcome::Result(json!({ "text": long })));
        task.status = TaskStatus::Completed;
        task.version += 1;
        assert!(store.update(&task).await.unwrap());
        assert!(store.load(&id.to_string()).await.unwrap().is_some(), "the newest is there");
        assert!(lock(&store.0).bytes <= FINISHED_BYTES);
    }
    let left = store.list(None).await.unwrap();
    assert!(left.len() >= 6 && left.iter().any(|task| task.account.as_deref() == Some("b")), "{}", left.len());
}
