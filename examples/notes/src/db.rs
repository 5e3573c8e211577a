//! The store as handlers use it: on a thread of its own.
//!
//! SQLite blocks, and a connection does one thing at a time. So one thread has it, and handlers send
//! that thread what to do and await the result. Nobody holds up the reader of messages, nobody holds
//! a lock over an `.await`. (`#[tool(blocking)]` and a `Mutex<Store>` would do for tools; but here
//! completion, which has no `blocking`, and progress, which is awaited, work the same way.)

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;

use mcp_runtime::prelude::*;
use tokio::sync::{mpsc, oneshot};

use crate::store::Store;

type Job = Box<dyn FnOnce(&mut Store) + Send>;

/// The way to the store's thread, which ends with it.
pub struct Db(mpsc::Sender<Job>);

impl Db {
    pub fn open(path: &Path) -> Result<Self> {
        let mut store = Store::open(path)?;
        let (jobs, mut queue) = mpsc::channel::<Job>(64);
        thread::spawn(move || {
            while let Some(job) = queue.blocking_recv() {
                // A job that panics has failed, and no other: its transaction is rolled back.
                let _ = catch_unwind(AssertUnwindSafe(|| job(&mut store)));
            }
        });
        Ok(Db(jobs))
    }

    /// Has the store do something, when its turn comes. If the call is cancelled before that, nothing
    /// is done; if later, it is done to its end.
    pub async fn run<T, F>(&self, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Store) -> Result<T> + Send + 'static,
    {
        let (sender, result) = oneshot::channel();
        let job = move |store: &mut Store| {
            if !sender.is_closed() {
                let _ = sender.send(job(store)); // nobody may be left to want it
            }
        };
        let failed = "the notebook failed; the server's log says why";
        self.0.send(Box::new(job)).await.map_err(|_| Error::internal(failed))?;
        result.await.map_err(|_| Error::internal(failed))?
    }
}
