//! Quotas: what the script evicts is what the runtime's reference evicts.

use std::collections::BTreeSet;
use std::time::Duration;

use mcp_runtime::protocol::Revision;
use mcp_runtime::store::{TaskOutcome, TaskQuota, TaskRecord, TaskStatus, TaskStore as _};

use crate::server::Server;

const TTL: Duration = Duration::from_secs(10 * 60);

/// Numbers that look random, the same in every run (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

/// A task of a random account, whose age is its own.
fn random_task(dice: &mut Dice, number: usize) -> TaskRecord {
    let mut task = TaskRecord::new(format!("{number}"), Revision::V2026_07_28, TTL);
    let account = dice.roll(4);
    task.account = (account > 0).then(|| format!("account {account}"));
    task.created_ms = (dice.roll(1000) * 1000 + number) as u64;
    task
}

/// Ends a task, or has its outcome fetched, or changes something else.
fn change(dice: &mut Dice, task: &mut TaskRecord) {
    task.version += 1;
    match dice.roll(4) {
        0 => task.status_message = Some("half".into()),
        1 => task.status = TaskStatus::Cancelled,
        2 => (task.status, task.fetched) = (TaskStatus::Failed, true),
        _ => {
            let result = serde_json::json!({"content": []});
            (task.status, task.outcome) = (TaskStatus::Completed, Some(TaskOutcome::Result(result)));
        }
    }
}

#[tokio::test]
async fn evictions_are_those_of_the_reference() {
    let server = Server::start().await;
    for seed in 1..=12_u64 {
        let redis = server.builder().prefix(format!("seed{seed}")).connect().await.unwrap();
        let (store, mut dice) = (redis.tasks(), Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let mut model: Vec<TaskRecord> = Vec::new();
        let mut evictions = 0;
        for number in 0..120 {
            if dice.roll(5) < 3 {
                let new = random_task(&mut dice, number);
                let quota = TaskQuota::new(3 + dice.roll(12), 2 + dice.roll(6));
                let expected = quota.make_room(new.account.as_deref(), &model);
                let created = store.create(&new, TTL, quota).await.unwrap();
                assert_eq!(created.err(), expected.as_ref().err().copied(), "seed {seed}, {number}: {quota:?}");
                if let Ok(evicted) = expected {
                    evictions += evicted.len();
                    model.retain(|task| !evicted.contains(&task.id));
                    model.push(new);
                }
            } else if !model.is_empty() {
                let index = dice.roll(model.len());
                change(&mut dice, &mut model[index]);
                assert!(store.update(&model[index]).await.unwrap());
            }
            let listed = store.list(None).await.unwrap();
            let ids = |tasks: &[TaskRecord]| tasks.iter().map(|task| task.id.clone()).collect::<BTreeSet<_>>();
            assert_eq!(ids(&listed), ids(&model), "seed {seed}, step {number}");
        }
        assert!(evictions > 10, "seed {seed} evicts {evictions}");
    }
}
