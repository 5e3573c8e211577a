//! A dialogue whose task is durable: it shares its id and the results of `once` blocks with the other runs of the task.

use std::sync::Arc;

use super::Dialogue;
use crate::task::Job;
use crate::task::durable::Durable;

impl Dialogue {
    /// What the task of the call remembers, if it is, or may become, a durable one.
    pub(super) fn durable(&self) -> Option<&Durable> {
        self.job.get()?.durable()
    }

    /// Takes over what a durable task remembers, and lets it remember what earlier rounds have left.
    pub(super) fn join(&self, job: &Arc<Job>) {
        if let Some(durable) = job.durable() {
            let id = durable.join(self.id.get().map(String::as_str), &mut self.state().once_results);
            let _ = self.id.set(id);
        }
    }
}
