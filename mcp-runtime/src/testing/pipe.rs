//! The two ends of a connection in memory: what the server reads and where its lines go.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, Weak, mpsc};

use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use super::notifications::{ObservedLog, Wanted};
use super::rounds::Responder;
use crate::sync::{lock, until_some};

/// The server's input: what the client sent.
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

/// What the server said and nobody has read.
#[derive(Default)]
pub(super) struct Inbox {
    state: Mutex<PipeState>,
    arrived: Notify,
    /// Answers what the server asks.
    responder: Arc<Responder>,
}

#[derive(Default)]
struct PipeState {
    expected: HashMap<u64, oneshot::Sender<Value>>,
    /// Who keeps which notifications.
    keepers: Vec<(Wanted, Weak<ObservedLog>)>,
    lines: VecDeque<String>,
    closed: bool,
}

impl PipeState {
    /// Whether somebody keeps such messages, and now has this one.
    fn handed_out(&self, message: &Value) -> bool {
        let keepers = self.keepers.iter().filter(|(wanted, _)| wanted.includes(message));
        let keepers: Vec<Arc<ObservedLog>> = keepers.filter_map(|(_, kept)| kept.upgrade()).collect();
        for kept in &keepers {
            kept.push(message.clone());
        }
        !keepers.is_empty()
    }

    /// Tells some keepers that nothing can come any more.
    fn end(&self, which: impl Fn(&Wanted) -> bool) {
        let keepers = self.keepers.iter().filter(|(wanted, _)| which(wanted));
        keepers.filter_map(|(_, kept)| kept.upgrade()).for_each(|kept| kept.end());
    }
}

impl Inbox {
    pub(super) fn new(responder: Arc<Responder>) -> Self {
        Inbox { responder, ..Inbox::default() }
    }

    fn state(&self) -> MutexGuard<'_, PipeState> {
        lock(&self.state)
    }

    /// The answer to the request `id`, when it comes.
    pub(super) fn expect(&self, id: u64) -> oneshot::Receiver<Value> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        if !state.closed {
            state.expected.insert(id, sender);
        }
        receiver
    }

    /// Keeps notifications apart, until the keeper is dropped.
    pub(super) fn keep(&self, wanted: Wanted) -> Arc<ObservedLog> {
        let kept = Arc::new(ObservedLog::default());
        let mut state = self.state();
        state.keepers.retain(|(_, kept)| kept.strong_count() > 0);
        state.keepers.push((wanted, Arc::downgrade(&kept)));
        kept
    }

    /// Answers a line if it asks, or hands it to the request it answers or to who keeps such lines,
    /// or keeps it.
    pub(super) fn deliver(&self, line: String) {
        let message: Option<Value> = serde_json::from_str(&line).ok();
        if message.as_ref().is_some_and(|message| self.responder.answered(message)) {
            return;
        }
        let mut state = self.state();
        if let Some(message) = &message
            && state.handed_out(message)
        {
            return;
        }
        let response = message.as_ref().filter(|message| message.get("method").is_none());
        let id = response.and_then(|message| message["id"].as_u64());
        let waiting = id.and_then(|id| state.expected.remove(&id));
        match (waiting, message) {
            (Some(waiting), Some(message)) => {
                // A request that was given up does not want its answer any more.
                let _ = waiting.send(message);
                // When they see this, the answer is there.
                state.end(|wanted| id.is_some_and(|id| wanted.ends_with(id)));
            }
            _ => state.lines.push_back(line),
        }
        drop(state);
        self.arrived.notify_waiters();
    }

    /// The next line that answers none of the expected requests.
    pub(super) async fn next_line(&self) -> Option<String> {
        until_some(&self.arrived, || {
            let mut state = self.state();
            let line = state.lines.pop_front();
            (line.is_some() || state.closed).then_some(line)
        })
        .await
    }

    /// The lines nobody has read.
    pub(super) fn unread(&self) -> Vec<String> {
        self.state().lines.drain(..).collect()
    }

    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.expected.clear();
        state.end(|_| true);
        drop(state);
        self.arrived.notify_waiters();
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("unread", &self.state().lines.len()).finish_non_exhaustive()
    }
}
