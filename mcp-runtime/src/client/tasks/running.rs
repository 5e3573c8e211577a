//! [`RunningTasks`]: the tasks whose results a client waits for.

use std::sync::Mutex;

use crate::sync::lock;

/// The ids of the tasks whose results are waited for.
#[derive(Debug, Default)]
pub(crate) struct RunningTasks(Mutex<Vec<String>>);

/// Ends with the wait.
#[derive(Debug)]
pub(crate) struct RunningTask<'a> {
    all: &'a RunningTasks,
    id: &'a str,
}

impl RunningTasks {
    pub(crate) fn begin<'a>(&'a self, id: &'a str) -> RunningTask<'a> {
        lock(&self.0).push(id.to_owned());
        RunningTask { all: self, id }
    }

    #[cfg(feature = "cli")]
    pub(crate) fn ids(&self) -> Vec<String> {
        lock(&self.0).clone()
    }
}

impl Drop for RunningTask<'_> {
    fn drop(&mut self) {
        lock(&self.all.0).retain(|id| id != self.id);
    }
}
