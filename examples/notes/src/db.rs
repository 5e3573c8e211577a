//! Runs the store on its own thread, for handlers to await.
//!
//! SQLite blocks, and a connection serves one query at a time. So one thread owns it; handlers send it
//! jobs and await the results. No handler blocks the runtime, and none holds a lock across an `.await`.
//! (`#[tool(blocking)]` with a `Mutex<Store>` would do for tools, but not for completion, which has no
//! `blocking`, nor for progress, which is awaited.)

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;

use mcp_runtime::prelude::*;
use tokio::sync::{mpsc, oneshot};

use crate::store::Store;

type Job = Box<dyn FnOnce(&mut Store) + Send>;

/// A handle to the store's thread. The thread ends when the handle is dropped.
pub struct Db(mpsc::Sender<Job>);

impl Db {
    pub fn open(path: &Path) -> Result<Self> {
        let mut store = Store::open(path)?;
        let (jobs, mut queue) = mpsc::channel::<Job>(64);
        thread::spawn(move || {
            while let Some(job) = queue.blocking_recv() {
                // A panic fails only its own job: the transaction is rolled back.
                let _ = catch_unwind(AssertUnwindSafe(|| job(&mut store)));
            }
        });
        Ok(Db(jobs))
    }

    /// Queues a job and awaits its result. If the call is cancelled before the job starts, the job is
    /// skipped; once started, it runs to its end.
    pub async fn run<T, F>(&self, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Store) -> Result<T> + Send + 'static,
    {
        let (sender, result) = oneshot::channel();
        let job = move |store: &mut Store| {
            if !sender.is_closed() {
                let _ = sender.send(job(store)); // the caller may have been cancelled
            }
        };
        let failed = "the notebook failed; the server's log says why";
        self.0.send(Box::new(job)).await.map_err(|_| Error::internal(failed))?;
        result.await.map_err(|_| Error::internal(failed))?
    }
}
