//! What a handler tells its client while it runs: notifications that belong to one request.
//!
//! They go out before the answer and never after it. While a call is in its first step they are
//! held, because its answer may be written with them; once it waits they go through the outbox, as
//! its answer will. A call that goes on talking in its first step is made to wait.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};

use crate::sync::{lock, until};

/// The way from one call to its client.
#[derive(Debug)]
pub(crate) struct Notifier {
    state: Mutex<NotifierState>,
    /// Told when lines are held no longer.
    room: Notify,
    begun: Instant,
    outbox: mpsc::Sender<Vec<u8>>,
    logs: Mutex<LogWindow>,
    log_rate: u32,
}

/// What was logged in the second that began then.
#[derive(Debug)]
struct LogWindow {
    begun: Instant,
    messages: u32,
}

#[derive(Debug)]
enum NotifierState {
    /// The first step: lines to be written before anything else of this call.
    Held(Vec<u8>),
    Live,
    /// Answered or cancelled.
    Closed,
}

/// Whoever has more than this held has to wait.
const HELD_BYTES: usize = 64 * 1024;
/// So does whoever says something later than this: the client should hear of progress while it is made.
const HELD_TIME: Duration = Duration::from_millis(10);

impl Notifier {
    pub(crate) fn new(outbox: mpsc::Sender<Vec<u8>>, log_rate: u32) -> Self {
        let begun = Instant::now();
        let logs = Mutex::new(LogWindow { begun, messages: 0 });
        Notifier {
            state: Mutex::new(NotifierState::Held(Vec::new())),
            room: Notify::new(),
            begun,
            outbox,
            logs,
            log_rate,
        }
    }

    /// One that holds nothing back.
    pub(crate) fn live(outbox: mpsc::Sender<Vec<u8>>, log_rate: u32) -> Self {
        Notifier { state: Mutex::new(NotifierState::Live), ..Self::new(outbox, log_rate) }
    }

    fn state(&self) -> MutexGuard<'_, NotifierState> {
        lock(&self.state)
    }

    /// Whether one more log message is not too many.
    pub(crate) fn may_log(&self) -> bool {
        let mut logs = lock(&self.logs);
        if logs.begun.elapsed() >= Duration::from_secs(1) {
            *logs = LogWindow { begun: Instant::now(), messages: 0 };
        }
        logs.messages = logs.messages.saturating_add(1);
        logs.messages <= self.log_rate
    }

    /// Sends one line if there is room for it now; otherwise it is lost.
    pub(crate) fn try_send(&self, line: Vec<u8>) {
        match &mut *self.state() {
            NotifierState::Held(lines) if lines.len() < HELD_BYTES => lines.extend_from_slice(&line),
            NotifierState::Live => drop(self.outbox.try_send(line)),
            NotifierState::Held(_) | NotifierState::Closed => {}
        }
    }

    /// Sends one line, when the client has room for it.
    pub(crate) async fn send(&self, line: Vec<u8>) {
        // If this is the call's own first poll, it ends here, and with it the time of holding.
        until(&self.room, || !self.is_full()).await;
        let heard = match &mut *self.state() {
            NotifierState::Held(lines) => return lines.extend_from_slice(&line),
            NotifierState::Live => true,
            NotifierState::Closed => false,
        };
        // The outbox is closed when the client is gone; nobody is left to tell.
        if heard && let Ok(place) = self.outbox.reserve().await {
            // The call may have been answered meanwhile. The answer comes after it was closed, so what
            // is sent before that is before the answer.
            if let NotifierState::Live = &*self.state() {
                place.send(line);
            }
        }
        // There may always be room, or nobody left: whoever only ever talks could not be stopped.
        tokio::task::yield_now().await;
    }

    /// Whether the call is over.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(&*self.state(), NotifierState::Closed)
    }

    fn is_full(&self) -> bool {
        let late = self.begun.elapsed() >= HELD_TIME;
        matches!(&*self.state(), NotifierState::Held(lines) if late || lines.len() >= HELD_BYTES)
    }

    /// The call was answered in its first step: what it said, to be written before the answer.
    pub(crate) fn take(&self) -> Vec<u8> {
        let before = std::mem::replace(&mut *self.state(), NotifierState::Closed);
        self.room.notify_waiters();
        match before {
            NotifierState::Held(lines) => lines,
            NotifierState::Live | NotifierState::Closed => Vec::new(),
        }
    }

    /// The call waits: sends what its first step said, and then nothing is held any more.
    pub(crate) async fn go_live(&self) {
        while let Some(lines) = self.next_held() {
            let _ = self.outbox.send(lines).await;
        }
    }

    fn next_held(&self) -> Option<Vec<u8>> {
        let mut state = self.state();
        let NotifierState::Held(lines) = &mut *state else { return None };
        if lines.is_empty() {
            *state = NotifierState::Live;
            self.room.notify_waiters();
            return None;
        }
        let lines = std::mem::take(lines);
        self.room.notify_waiters();
        Some(lines)
    }

    /// The call is over: what is said from now on belongs to nobody.
    pub(crate) fn close(&self) {
        *self.state() = NotifierState::Closed;
        self.room.notify_waiters();
    }
}

/// Closes a call's way to its client when the call is over, however it ends.
#[derive(Debug)]
pub(crate) struct CloseOnDrop(pub(crate) Option<Arc<Notifier>>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(notifier) = &self.0 {
            notifier.close();
        }
    }
}
