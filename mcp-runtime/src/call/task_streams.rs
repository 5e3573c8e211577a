//! Where the tasks of a session send their notifications over HTTP: their request has been answered, so they use the
//! stream of a client that waits for the result, or else the session's own stream.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-progress-notifications>

use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::outbox::Outgoing;
use super::outbox::presence::Presence;
use crate::sync::lock;

/// The streams of one session that its tasks can use.
#[derive(Debug, Default)]
pub(crate) struct TaskStreams(Mutex<Routes>);

#[derive(Debug, Default)]
struct Routes {
    /// The session's own stream, while its client reads it.
    own: Option<mpsc::Sender<Outgoing>>,
    /// The requests that wait for the result of a task.
    waiting: Vec<Waiting>,
    last: u64,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    task: Box<str>,
    queue: mpsc::Sender<Outgoing>,
    presence: Presence,
}

impl TaskStreams {
    /// Sets the queue of the session's own stream. It is not used any more when its receiver is gone.
    #[cfg(feature = "http")]
    pub(crate) fn set_own(&self, queue: mpsc::Sender<Outgoing>) {
        lock(&self.0).own = Some(queue);
    }

    /// The queue for the notifications of a task: of the newest request that waits for it and whose client reads,
    /// otherwise of the session's own stream.
    pub(super) fn queue(&self, task: &str) -> Option<mpsc::Sender<Outgoing>> {
        let routes = lock(&self.0);
        let waiting = routes.waiting.iter().rev().filter(|waiting| *waiting.task == *task);
        let reads = waiting.clone().find(|waiting| waiting.presence.is_present());
        let own = routes.own.as_ref().filter(|own| !own.is_closed());
        // A client that has left may resume the stream.
        reads.map(|waiting| &waiting.queue).or(own).or_else(|| waiting.map(|waiting| &waiting.queue).next()).cloned()
    }
}

/// A request that waits for the result of a task, while it waits.
#[derive(Debug)]
pub(crate) struct WaitingStream {
    streams: Arc<TaskStreams>,
    number: u64,
}

impl WaitingStream {
    pub(crate) fn enter(
        streams: &Arc<TaskStreams>,
        task: &str,
        queue: mpsc::Sender<Outgoing>,
        presence: Presence,
    ) -> Self {
        let mut routes = lock(&streams.0);
        routes.last += 1;
        let number = routes.last;
        routes.waiting.push(Waiting { number, task: task.into(), queue, presence });
        WaitingStream { streams: Arc::clone(streams), number }
    }
}

impl Drop for WaitingStream {
    fn drop(&mut self) {
        lock(&self.streams.0).waiting.retain(|waiting| waiting.number != self.number);
    }
}
