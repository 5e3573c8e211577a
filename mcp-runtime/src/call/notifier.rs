//! The notifications of one call: sent before its answer, never after it.
//!
//! During the first poll they are held, because the answer may be written together with them. Once the
//! call is pending they go through the outbox, as its answer will. A call that keeps sending during its
//! first poll is made to yield.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};

use super::outbox::Outgoing;
use super::task_streams::TaskStreams;
use crate::sync::{lock, until};

/// The way from one call to its client.
#[derive(Debug)]
pub(crate) struct Notifier {
    state: Mutex<NotifierState>,
    /// Notified when the state is no longer `Held`, or holds less.
    room: Notify,
    begun: Instant,
    outbox: Destination,
    logs: Mutex<LogWindow>,
    log_rate: u32,
}

/// Where notifications go.
#[derive(Debug)]
enum Destination {
    Queue(mpsc::Sender<Outgoing>),
    /// Wherever the client of a session reads the messages of this task at the time.
    Task {
        streams: Weak<TaskStreams>,
        id: Box<str>,
    },
}

impl Destination {
    /// The queue, if the client reads anything.
    fn queue(&self) -> Option<Cow<'_, mpsc::Sender<Outgoing>>> {
        match self {
            Destination::Queue(queue) => Some(Cow::Borrowed(queue)),
            Destination::Task { streams, id } => streams.upgrade()?.queue(id).map(Cow::Owned),
        }
    }
}

/// How many messages were logged in the second that began then.
#[derive(Debug)]
struct LogWindow {
    begun: Instant,
    messages: u32,
}

#[derive(Debug)]
enum NotifierState {
    /// The first poll: lines to be written before anything else of this call.
    Held(Held),
    Live,
    /// Answered or cancelled.
    Closed,
}

#[derive(Debug, Default)]
struct Held {
    lines: Vec<u8>,
    /// Whether the stream closes behind them.
    detach: bool,
}

/// A call that has more than this held waits until it is live.
const HELD_BYTES: usize = 64 * 1024;
/// A call that sends later than this in its first poll waits, too: progress should be seen while it is made.
const HELD_TIME: Duration = Duration::from_millis(10);

impl Notifier {
    /// A notifier that holds what is sent until the first poll is over.
    pub(crate) fn new(outbox: mpsc::Sender<Outgoing>, log_rate: u32) -> Self {
        Self::with_state(NotifierState::Held(Held::default()), Destination::Queue(outbox), log_rate)
    }

    /// A notifier that holds nothing.
    pub(crate) fn live(outbox: mpsc::Sender<Outgoing>, log_rate: u32) -> Self {
        Self::with_state(NotifierState::Live, Destination::Queue(outbox), log_rate)
    }

    /// A notifier of a task whose session has no queue that outlives a request.
    pub(crate) fn of_task(streams: &Arc<TaskStreams>, id: &str, log_rate: u32) -> Self {
        let outbox = Destination::Task { streams: Arc::downgrade(streams), id: id.into() };
        Self::with_state(NotifierState::Live, outbox, log_rate)
    }

    /// The queue of the call's connection or request, if it has one.
    pub(crate) fn own_queue(&self) -> Option<&mpsc::Sender<Outgoing>> {
        match &self.outbox {
            Destination::Queue(queue) => Some(queue),
            Destination::Task { .. } => None,
        }
    }

    fn with_state(state: NotifierState, outbox: Destination, log_rate: u32) -> Self {
        let begun = Instant::now();
        let logs = Mutex::new(LogWindow { begun, messages: 0 });
        Notifier { state: Mutex::new(state), room: Notify::new(), begun, outbox, logs, log_rate }
    }

    fn state(&self) -> MutexGuard<'_, NotifierState> {
        lock(&self.state)
    }

    /// Counts a log message; false if it is over the rate.
    pub(crate) fn may_log(&self) -> bool {
        let mut logs = lock(&self.logs);
        if logs.begun.elapsed() >= Duration::from_secs(1) {
            *logs = LogWindow { begun: Instant::now(), messages: 0 };
        }
        logs.messages = logs.messages.saturating_add(1);
        logs.messages <= self.log_rate
    }

    /// Sends one line if there is room now; otherwise drops it.
    pub(crate) fn try_send(&self, line: Vec<u8>) {
        match &mut *self.state() {
            NotifierState::Held(held) if held.lines.len() < HELD_BYTES => held.lines.extend_from_slice(&line),
            // A full outbox loses the line, as documented on `try_log` and `try_progress`.
            NotifierState::Live => {
                drop(self.outbox.queue().map(|queue| queue.try_send(Outgoing::Notification(line))));
            }
            NotifierState::Held(_) | NotifierState::Closed => {}
        }
    }

    /// Sends a heartbeat if there is room now; otherwise drops it.
    pub(crate) fn beat(&self, line: Vec<u8>) {
        if let NotifierState::Live = &*self.state() {
            drop(self.outbox.queue().map(|queue| queue.try_send(Outgoing::Heartbeat(line))));
        }
    }

    /// Waits for room for one line, and has `send` send it, or not.
    pub(crate) async fn send_with(&self, send: impl FnOnce(&mut dyn FnMut(Vec<u8>)) + Send) {
        until(&self.room, || !self.is_full()).await;
        if matches!(&*self.state(), NotifierState::Held(_)) {
            return send(&mut |line| self.try_send(line));
        }
        if !self.is_closed()
            && let Some(queue) = self.outbox.queue()
            && let Ok(place) = queue.reserve().await
        {
            let mut place = Some(place);
            // As in `send_live`.
            send(&mut |line| {
                if let NotifierState::Live = &*self.state()
                    && let Some(place) = place.take()
                {
                    place.send(Outgoing::Notification(line));
                }
            });
        }
        tokio::task::yield_now().await;
    }

    /// Sends one line, waiting for room.
    pub(crate) async fn send(&self, line: Vec<u8>) {
        // In the call's own first poll the wait ends the poll, and with it the time of holding.
        until(&self.room, || !self.is_full()).await;
        if let NotifierState::Held(held) = &mut *self.state() {
            return held.lines.extend_from_slice(&line);
        }
        self.send_live(Outgoing::Notification(line)).await;
    }

    /// Closes the HTTP stream of the call, behind what was sent.
    #[cfg(feature = "http")]
    pub(crate) async fn detach(&self) {
        if let NotifierState::Held(held) = &mut *self.state() {
            held.detach = true;
            return;
        }
        self.send_live(Outgoing::Detach).await;
    }

    async fn send_live(&self, message: Outgoing) {
        // The outbox is closed when the client is gone.
        if !self.is_closed()
            && let Some(queue) = self.outbox.queue()
            && let Ok(place) = queue.reserve().await
        {
            // The call may have been answered meanwhile. Its answer is sent after the state is `Closed`, so
            // what is sent before that precedes the answer.
            if let NotifierState::Live = &*self.state() {
                place.send(message);
            }
        }
        // There may always be room: a call that only ever sends could otherwise not be cancelled.
        tokio::task::yield_now().await;
    }

    /// Whether the call is over.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(&*self.state(), NotifierState::Closed)
    }

    fn is_full(&self) -> bool {
        let late = self.begun.elapsed() >= HELD_TIME;
        matches!(&*self.state(), NotifierState::Held(held) if late || held.lines.len() >= HELD_BYTES)
    }

    /// Closes after a first poll that was the last; returns the lines to be written before the answer.
    pub(crate) fn take(&self) -> Vec<u8> {
        let before = std::mem::replace(&mut *self.state(), NotifierState::Closed);
        self.room.notify_waiters();
        match before {
            NotifierState::Held(held) => held.lines,
            NotifierState::Live | NotifierState::Closed => Vec::new(),
        }
    }

    /// Sends what the first poll held; afterwards nothing is held.
    pub(crate) async fn go_live(&self) {
        while let Some(message) = self.next_held() {
            if let Some(queue) = self.outbox.queue() {
                let _ = queue.send(message).await;
            }
        }
    }

    /// The next held message. Becomes live when none is left, in the same step, so that none is overtaken.
    fn next_held(&self) -> Option<Outgoing> {
        let mut state = self.state();
        let NotifierState::Held(held) = &mut *state else { return None };
        let next = if !held.lines.is_empty() {
            Some(Outgoing::Notification(std::mem::take(&mut held.lines)))
        } else if std::mem::take(&mut held.detach) {
            Some(Outgoing::Detach)
        } else {
            *state = NotifierState::Live;
            None
        };
        self.room.notify_waiters();
        next
    }

    /// The call is over: later notifications are dropped.
    pub(crate) fn close(&self) {
        *self.state() = NotifierState::Closed;
        self.room.notify_waiters();
    }
}

/// Closes a call's notifier when the call is over, however it ends.
#[derive(Debug)]
pub(crate) struct CloseOnDrop(pub(crate) Option<Arc<Notifier>>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(notifier) = &self.0 {
            notifier.close();
        }
    }
}
