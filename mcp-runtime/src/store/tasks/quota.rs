//! How many tasks there may be, and which go when there are too many.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::store::TaskRecord;

/// How many tasks a [`TaskStore`](crate::store::TaskStore) may hold: in total, and per
/// [account](TaskRecord::account).
///
/// A task that is still running is never evicted. Finished tasks make room for new ones in this order:
///
/// 1. If the account of the new task is at its limit, only its own tasks are candidates. At the total limit, the tasks
///    of all accounts are.
/// 2. Tasks that are [spent](TaskRecord::is_spent) go before those whose outcome nobody has fetched.
/// 3. Of several accounts, the one with the most tasks loses one.
/// 4. The oldest task goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskQuota {
    /// The tasks of all accounts.
    pub total: usize,
    /// The tasks of one account. Tasks without an account have no such limit.
    pub per_account: usize,
}

/// The limit that leaves no room for another task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskLimit {
    /// The tasks of all accounts.
    Total,
    /// The tasks of one account.
    PerAccount,
}

impl TaskQuota {
    /// A quota without limits.
    pub const UNLIMITED: Self = TaskQuota::new(usize::MAX, usize::MAX);

    /// So many tasks in total, and so many per account.
    pub const fn new(total: usize, per_account: usize) -> Self {
        TaskQuota { total, per_account }
    }

    /// The ids of the tasks to evict for one more task of `account`, given the tasks there are; or the limit that
    /// leaves no room for it. Looks at all tasks: for stores that can afford to read them, and as the reference for
    /// those that cannot.
    pub fn make_room(&self, account: Option<&str>, tasks: &[TaskRecord]) -> Result<Vec<String>, TaskLimit> {
        let mut counts: HashMap<Option<&str>, usize> = HashMap::new();
        for task in tasks {
            *counts.entry(task.account.as_deref()).or_default() += 1;
        }
        let (mut total, mut left) =
            (tasks.len(), tasks.iter().filter(|task| task.status.is_over()).collect::<Vec<_>>());
        let mut evicted = Vec::new();
        loop {
            let own = counts.get(&account).copied().unwrap_or_default();
            let limit = match () {
                () if account.is_some() && own >= self.per_account => TaskLimit::PerAccount,
                () if total >= self.total => TaskLimit::Total,
                () => return Ok(evicted),
            };
            let candidates = left
                .iter()
                .enumerate()
                .filter(|(_, task)| limit == TaskLimit::Total || task.account.as_deref() == account);
            let next = candidates.max_by_key(|(_, task)| {
                let count = counts.get(&task.account.as_deref()).copied();
                (task.is_spent(), count, Reverse((task.created_ms, &task.id)))
            });
            let Some((index, _)) = next else { return Err(limit) };
            let task = left.swap_remove(index);
            counts.entry(task.account.as_deref()).and_modify(|count| *count -= 1);
            total -= 1;
            evicted.push(task.id.clone());
        }
    }
}
