//! The task store. A task is a hash of its version and its record, which expires by itself; indexes beside it say how
//! many there are, whose they are, and which is evicted next (`lua/tasks.lua`).
//!
//! All keys of tasks are in one slot of a cluster. A quota holds for all tasks, and two replicas may create one at the
//! same time, so one script checks, evicts and stores. Scripts are called with the indexes as keys, though they make up the
//! names themselves: while the slot is being moved to another node, either node refuses a script that lacks a key, instead
//! of running it on a part of the tasks.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use mcp_runtime::store::{TaskLimit, TaskQuota, TaskRecord, TaskStore};

use super::{Inner, millis};
use crate::link::{Repeat, Request};
use crate::names::hash;
use crate::script;
use crate::seal::corrupt;

/// A [`TaskStore`] in Redis. Each operation is one round trip.
///
/// Tasks created in the same millisecond are evicted in any order.
#[derive(Clone)]
pub struct RedisTasks(pub(crate) Arc<Inner>);

/// The names of a task.
struct TaskNames {
    /// What all keys of tasks begin with.
    base: String,
    id: String,
    key: String,
}

impl RedisTasks {
    fn names(&self, id: &str) -> TaskNames {
        let (base, id) = (self.0.names.tasks(), hash("task", id));
        let key = task_key(&base, &id);
        TaskNames { base, id, key }
    }

    /// A call of a script with this key and the indexes that there are as long as there is a task.
    fn call(script: &'static script::Script, key: &str, base: &str) -> script::Call {
        let mut call = script.key(key);
        call.key(format!("{base}expiry")).key(format!("{base}meta"));
        call
    }

    /// The tasks that a script returns. One that cannot be read, because it is sealed with another key for example, is left
    /// out: it must not keep the others from being listed, or taken from a replica that has died.
    async fn records(&self, base: &str, script: script::Call) -> io::Result<Vec<TaskRecord>> {
        let stored: Vec<(String, Vec<u8>)> = self.0.link.run(&Request::Script(script), Repeat::Safe).await?;
        let decode = |(id, stored): (String, Vec<u8>)| match self.0.decode(stored, &task_key(base, &id)) {
            Ok(task) => Some(task),
            Err(error) => {
                self.0.left_out(&error);
                None
            }
        };
        Ok(stored.into_iter().filter_map(decode).collect())
    }
}

/// Who holds a task, as scripts know it; empty if nobody does.
fn holder_of(task: &TaskRecord) -> String {
    task.holder().map(|holder| format!("+{holder}")).unwrap_or_default()
}

fn task_key(base: &str, id: &str) -> String {
    format!("{base}task:{id}")
}

/// The hash of an owner or an account. Nobody is another one than somebody without a name.
fn hash_of(kind: &str, name: Option<&str>) -> String {
    name.map_or_else(|| hash("nobody", kind), |name| hash(kind, name))
}

/// The place of a task in the order of eviction: spent ones, finished ones, running ones; of each the oldest first.
fn place(task: &TaskRecord) -> String {
    let class = match () {
        () if task.is_spent() => 0,
        () if task.status.is_over() => 1,
        () => 2,
    };
    format!("{class}{:015}", task.created_ms.min(999_999_999_999_999))
}

impl TaskStore for RedisTasks {
    async fn create(&self, task: &TaskRecord, ttl: Duration, quota: TaskQuota) -> io::Result<Result<(), TaskLimit>> {
        let names = self.names(&task.id);
        let mut create = Self::call(&script::TASK_CREATE, &names.key, &names.base);
        create.arg(&names.base).arg(&names.id).arg(task.version).arg(self.0.encode(task, &names.key)?);
        create.arg(place(task)).arg(hash_of("account", task.account.as_deref()));
        create.arg(hash_of("owner", task.owner.as_deref())).arg(millis(ttl)).arg(quota.total);
        let per_account = task.account.as_ref().map(|_| quota.per_account.to_string());
        create.arg(per_account.unwrap_or_default()).arg(holder_of(task));
        let created: String = self.0.link.write(&Request::Script(create), Repeat::Never).await?;
        match created.as_str() {
            "created" => Ok(Ok(())),
            "account" => Ok(Err(TaskLimit::PerAccount)),
            "total" => Ok(Err(TaskLimit::Total)),
            _ => Err(corrupt("the script that creates tasks is another one")),
        }
    }

    async fn load(&self, id: &str) -> io::Result<Option<TaskRecord>> {
        let key = self.names(id).key;
        let mut read = redis::cmd("HGET");
        read.arg(&key).arg("r");
        let stored: Option<Vec<u8>> = self.0.link.run(&Request::Command(read), Repeat::Safe).await?;
        stored.map(|stored| self.0.decode(stored, &key)).transpose()
    }

    async fn update(&self, task: &TaskRecord) -> io::Result<bool> {
        let Some(before) = task.version.checked_sub(1) else { return Ok(false) };
        let names = self.names(&task.id);
        let mut update = Self::call(&script::TASK_UPDATE, &names.key, &names.base);
        // Also what it changes after the record.
        let account = hash_of("account", task.account.as_deref());
        update.key(format!("{}ranking", names.base)).key(format!("{}account:{account}", names.base));
        update.arg(&names.base).arg(&names.id).arg(before).arg(task.version);
        update.arg(self.0.encode(task, &names.key)?).arg(place(task)).arg(holder_of(task));
        self.0.link.write(&Request::Script(update), Repeat::Never).await
    }

    async fn list(&self, owner: Option<&str>) -> io::Result<Vec<TaskRecord>> {
        let base = self.0.names.tasks();
        let owner = format!("{base}owner:{}", hash_of("owner", owner));
        let mut list = Self::call(&script::TASK_LIST, &owner, &base);
        list.arg(&base);
        let mut tasks = self.records(&base, list).await?;
        tasks.sort_by(|one, other| (one.created_ms, &one.id).cmp(&(other.created_ms, &other.id)));
        Ok(tasks)
    }

    async fn holders(&self) -> io::Result<Vec<String>> {
        let mut read = redis::cmd("SMEMBERS");
        read.arg(format!("{}holders", self.0.names.tasks()));
        let holders: Vec<String> = self.0.link.run(&Request::Command(read), Repeat::Safe).await?;
        Ok(holders.iter().filter_map(|holder| holder.strip_prefix('+')).map(str::to_owned).collect())
    }

    async fn held_by(&self, holder: &str, limit: usize) -> io::Result<Vec<TaskRecord>> {
        let (base, holder) = (self.0.names.tasks(), format!("+{holder}"));
        let mut held = Self::call(&script::TASK_HELD, &format!("{base}held:{holder}"), &base);
        held.arg(&base).arg(holder).arg(i64::try_from(limit).unwrap_or(i64::MAX));
        self.records(&base, held).await
    }
}

impl fmt::Debug for RedisTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisTasks").finish_non_exhaustive()
    }
}
