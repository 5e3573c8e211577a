//! The in-memory connection: the server's input and output, and the client's inbox.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, Weak, mpsc};

use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use super::notifications::{NotificationQueue, Wanted};
use super::rounds::Responder;
use crate::sync::{lock, until_some};

/// The server's input: the bytes the client sent.
pub(super) struct Input {
    bytes: mpsc::Receiver<Vec<u8>>,
    current: io::Cursor<Vec<u8>>,
}

impl Input {
    pub(super) fn new(bytes: mpsc::Receiver<Vec<u8>>) -> Self {
        Input { bytes, current: io::Cursor::default() }
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.current.read(out)?;
            if count > 0 {
                return Ok(count);
            }
            match self.bytes.recv() {
                Ok(bytes) => self.current = io::Cursor::new(bytes),
                Err(mpsc::RecvError) => return Ok(0),
            }
        }
    }
}

/// The longest line that is read.
const LONGEST_LINE: usize = 256 * 1024 * 1024;
/// The most lines that wait to be received.
const UNREAD: usize = 10_000;

/// The server's output: lines for the inbox.
pub(super) struct Output {
    inbox: Arc<Inbox>,
    line: Vec<u8>,
}

impl Output {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        Output { inbox, line: Vec::new() }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() > LONGEST_LINE {
                return Err(io::Error::other("the server sent a line that is too long"));
            }
            self.line.extend_from_slice(piece);
            if self.line.pop_if(|byte| *byte == b'\n').is_some() {
                self.inbox.deliver(String::from_utf8_lossy(&self.line).into_owned());
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

/// Routes lines from the server to pending requests, notification queues and the test.
#[derive(Default)]
pub(super) struct Inbox {
    state: Mutex<PipeState>,
    arrived: Notify,
    /// Answers the server's requests.
    responder: Arc<Responder>,
}

#[derive(Default)]
struct PipeState {
    expected: HashMap<u64, oneshot::Sender<Value>>,
    /// The queues, each with the notifications it collects.
    queues: Vec<(Wanted, Weak<NotificationQueue>)>,
    lines: VecDeque<String>,
    closed: bool,
}

impl PipeState {
    /// Adds a message to the queues that collect it. Whether there was one.
    fn enqueue(&self, message: &Value) -> bool {
        let queues = self.queues.iter().filter(|(wanted, _)| wanted.includes(message));
        let queues: Vec<Arc<NotificationQueue>> = queues.filter_map(|(_, queue)| queue.upgrade()).collect();
        for queue in &queues {
            queue.push(message.clone());
        }
        !queues.is_empty()
    }

    /// Closes some of the queues.
    fn close_queues(&self, which: impl Fn(&Wanted) -> bool) {
        let queues = self.queues.iter().filter(|(wanted, _)| which(wanted));
        queues.filter_map(|(_, queue)| queue.upgrade()).for_each(|queue| queue.close());
    }
}

impl Inbox {
    pub(super) fn new(responder: Arc<Responder>) -> Self {
        Inbox { responder, ..Inbox::default() }
    }

    fn state(&self) -> MutexGuard<'_, PipeState> {
        lock(&self.state)
    }

    /// Registers the request `id`; the receiver yields its response.
    pub(super) fn expect(&self, id: u64) -> oneshot::Receiver<Value> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        if !state.closed {
            state.expected.insert(id, sender);
        }
        receiver
    }

    /// The requests without a response.
    #[cfg(feature = "cli")]
    pub(super) fn pending(&self) -> Vec<u64> {
        self.state().expected.keys().copied().collect()
    }

    /// Collects notifications in a queue of their own, until it is dropped.
    pub(super) fn collect(&self, wanted: Wanted) -> Arc<NotificationQueue> {
        let queue = Arc::new(NotificationQueue::default());
        let mut state = self.state();
        state.queues.retain(|(_, queue)| queue.strong_count() > 0);
        state.queues.push((wanted, Arc::downgrade(&queue)));
        queue
    }

    /// Routes a line: a request is answered, a notification is queued, a response goes to its request.
    /// Other lines are left for [`TestClient::receive`](super::TestClient::receive).
    pub(super) fn deliver(&self, line: String) {
        let message: Option<Value> = serde_json::from_str(&line).ok();
        if message.as_ref().is_some_and(|message| self.responder.respond(message)) {
            return;
        }
        let mut state = self.state();
        if let Some(message) = &message
            && state.enqueue(message)
        {
            return;
        }
        let response = message.as_ref().filter(|message| message.get("method").is_none());
        let id = response.and_then(|message| message["id"].as_u64());
        let waiting = id.and_then(|id| state.expected.remove(&id));
        match (waiting, message) {
            (Some(waiting), Some(message)) => {
                // The caller may have dropped the request.
                let _ = waiting.send(message);
                // After the response: a consumer that sees the queue closed finds the response there.
                state.close_queues(|wanted| id.is_some_and(|id| wanted.ends_with(id)));
            }
            // More than a test reads; a program that is no server may print for ever.
            _ if state.lines.len() == UNREAD => {}
            _ => state.lines.push_back(line),
        }
        drop(state);
        self.arrived.notify_waiters();
    }

    /// Waits for the next line left for the test; `None` once the connection is closed.
    pub(super) async fn next_line(&self) -> Option<String> {
        until_some(&self.arrived, || {
            let mut state = self.state();
            let line = state.lines.pop_front();
            (line.is_some() || state.closed).then_some(line)
        })
        .await
    }

    /// The lines not received yet.
    pub(super) fn unread(&self) -> Vec<String> {
        self.state().lines.drain(..).collect()
    }

    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.expected.clear();
        state.close_queues(|_| true);
        drop(state);
        self.arrived.notify_waiters();
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("unread", &self.state().lines.len()).finish_non_exhaustive()
    }
}
