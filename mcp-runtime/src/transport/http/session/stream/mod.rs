//! One event stream: a bounded replay buffer, written by a call or a session, and read by a client that may reconnect.
//!
//! While a client reads, it applies backpressure to the call, and no event is dropped before it was read; a client
//! that stops reading is disconnected (`write_timeout`). Without a reader the call does not wait, and the newest
//! events are kept for replay.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

pub(super) mod claim;
pub(super) mod head;
pub(crate) mod id;
pub(super) mod log;
pub(super) mod replay_budget;
pub(super) mod table;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

use self::id::{EventId, StreamId};
use self::replay_budget::ReplayBudget;
use crate::call::outbox::Outgoing;
use crate::call::outbox::presence::Presence;
use crate::era::encode;
use crate::jsonrpc;
use crate::store::EventTail;
use crate::sync::{lock, until};
use crate::transport::http::response;
use crate::transport::http::response::body::Events;
use crate::transport::http::response::sse::{self, MESSAGE};

/// The most events a stream buffers for replay.
pub(crate) const EVENTS: usize = 256;
/// The most bytes a stream buffers for replay.
pub(crate) const BYTES: usize = 1024 * 1024;
/// Events up to this length together are written as one.
const GATHERED: usize = 8 * 1024;
/// More than the events that another replica may have, and not have written to the store.
const ADOPTION_GAP: u64 = 4 * EVENTS as u64;
/// How long a client should wait before it reconnects, in milliseconds.
const RETRY: &str = "retry: 500\n";

/// One stream: the events of a request, or those of the session that belong to no request.
#[derive(Debug)]
pub(crate) struct EventStream {
    pub(crate) id: StreamId,
    state: Mutex<StreamState>,
    budget: ReplayBudget,
    /// Notified of new events and of the end, for the task that copies the stream to the store.
    news: Notify,
    /// Notified when a reader has taken events, or has disconnected.
    taken: Notify,
}

#[derive(Debug, Default)]
struct StreamState {
    /// The buffered events, by number.
    events: VecDeque<(u64, Bytes)>,
    bytes: usize,
    /// The number of the last event.
    last: u64,
    /// The number of the last event that was dropped, or came before this replica wrote the stream.
    dropped: u64,
    /// The next event has a higher number than this.
    floor: u64,
    /// Whether another replica writes the stream from now on.
    abandoned: bool,
    /// The newest reader that was detached.
    detached: u64,
    /// Whether the stream has ended.
    over: bool,
    reader: Option<Waker>,
    /// Counts readers: a new one replaces the previous one.
    readers: u64,
    /// The last event the current reader has taken. `None` without a reader.
    taken: Option<u64>,
    /// Told whether there is a reader.
    presence: Option<Presence>,
}

/// The events after a given one.
#[derive(Debug)]
pub(crate) struct News {
    pub(crate) events: Vec<(u64, Bytes)>,
    /// The number of the oldest buffered event.
    pub(crate) oldest: u64,
    pub(crate) over: bool,
    /// Whether another replica writes the stream from now on.
    pub(crate) abandoned: bool,
}

impl EventStream {
    pub(crate) fn new(id: StreamId, budget: ReplayBudget) -> Self {
        EventStream { id, state: Mutex::default(), budget, news: Notify::new(), taken: Notify::new() }
    }

    /// A session's own stream, taken over from another replica; `tail` is what came after `event`.
    pub(crate) fn adopted(id: StreamId, event: u64, tail: EventTail, budget: ReplayBudget) -> Self {
        let events: VecDeque<_> = tail.events.into_iter().map(|(number, event)| (number, Bytes::from(event))).collect();
        let bytes = events.iter().map(|(_, event)| event.len()).sum();
        let last = events.back().map_or(event, |(last, _)| *last);
        budget.take_anyway(bytes);
        // What the other replica writes until it knows has lower numbers than what is written here.
        let floor = last + ADOPTION_GAP;
        let state =
            StreamState { events, bytes, last, dropped: event, floor, over: tail.closed, ..StreamState::default() };
        EventStream { id, state: Mutex::new(state), budget, news: Notify::new(), taken: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, StreamState> {
        lock(&self.state)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().over
    }

    /// The number of buffered events, and of their bytes.
    #[cfg(test)]
    pub(crate) fn buffered(&self) -> (usize, usize) {
        let state = self.state();
        (state.events.len(), state.bytes)
    }

    /// The number of the last event.
    pub(crate) fn last(&self) -> u64 {
        self.state().last
    }

    /// Whether the event exists, and all events after it are buffered.
    pub(crate) fn has_all_after(&self, event: u64) -> bool {
        let state = self.state();
        event <= state.last && event >= state.dropped
    }

    fn event(&self, number: u64, message: &[u8]) -> Vec<u8> {
        let id = EventId { stream: self.id, event: number };
        let mut event = Vec::with_capacity(message.len() + 64);
        sse::write_event(&mut event, format_args!("id: {id}\n{MESSAGE}"), message);
        event
    }

    /// The event of a message, within the budget. Without memory for it, older events make room for an answer; if that
    /// is not enough, its event says why it is not there. Another message is dropped.
    fn admitted(&self, state: &mut StreamState, message: &[u8]) -> Option<Vec<u8>> {
        let event = self.event(state.next(), message);
        if self.budget.take(event.len()) {
            return Some(event);
        }
        let id = jsonrpc::id_in_prefix(message).filter(|_| jsonrpc::prefix_is_response(message))?;
        while state.oldest_is_taken() && self.drop_oldest(state) {
            if self.budget.take(event.len()) {
                return Some(event);
            }
        }
        let mut error = Vec::new();
        encode::error(id, &response::no_memory(), &mut error);
        let event = self.event(state.next(), error.trim_ascii_end());
        self.budget.take_anyway(event.len());
        Some(event)
    }

    /// Drops the oldest event; false if there is none.
    fn drop_oldest(&self, state: &mut StreamState) -> bool {
        let Some((number, event)) = state.events.pop_front() else { return false };
        state.dropped = number;
        state.bytes -= event.len();
        self.budget.give_back(event.len());
        true
    }

    /// Appends an event for each line, without waiting for the reader.
    pub(crate) fn push(&self, lines: &[u8]) {
        let mut state = self.state();
        for message in sse::messages(lines) {
            let Some(event) = self.admitted(&mut state, message) else { continue };
            let number = state.next();
            state.last = number;
            state.bytes += event.len();
            state.events.push_back((number, event.into()));
        }
        // The newest event is kept, however long: it may be the answer. So are events the reader has not taken yet.
        while state.events.len() > 1
            && (state.events.len() > EVENTS || state.bytes > BYTES || self.budget.is_spent())
            && state.oldest_is_taken()
            && self.drop_oldest(&mut state)
        {}
        state.wake();
        self.news.notify_one();
    }

    /// Waits for events after `at`, or for the end of the stream. For the task that copies the stream to the store.
    pub(crate) async fn news(&self, at: u64) -> News {
        loop {
            {
                let state = self.state();
                if state.over || state.abandoned || state.last > at {
                    let events = state.events.iter().filter(|(number, _)| *number > at).cloned().collect();
                    let (oldest, over, abandoned) = (state.dropped + 1, state.over, state.abandoned);
                    return News { events, oldest, over, abandoned };
                }
            }
            self.news.notified().await;
        }
    }

    /// Writes the messages of a request to the stream, to the end. A slow reader applies backpressure to the call;
    /// without a reader nothing waits.
    pub(crate) async fn consume(self: Arc<Self>, mut messages: mpsc::Receiver<Outgoing>) {
        while let Some(message) = messages.recv().await {
            match message {
                Outgoing::Answer(line) | Outgoing::Notification(line) => {
                    self.room().await;
                    self.push(&line);
                }
                // Kept for nobody, it would push out what a client that comes back needs.
                Outgoing::Heartbeat(line) => {
                    if self.state().taken.is_some() {
                        self.room().await;
                        self.push(&line);
                    }
                }
                Outgoing::Refused(refused) => self.push(&refused.into_line()),
                Outgoing::Detach => self.detach_readers(),
                Outgoing::End => break,
            }
        }
        self.end();
    }

    /// Tells whether there is a reader, from now on.
    pub(crate) fn tell(&self, presence: Presence) {
        let mut state = self.state();
        presence.set(state.taken.is_some());
        state.presence = Some(presence);
    }

    /// Waits until an event fits without dropping one that the reader has not taken.
    async fn room(&self) {
        until(&self.taken, || self.state().has_room(&self.budget)).await;
    }

    /// Closes the connections of all readers, not the stream: they reconnect.
    pub(crate) fn detach_readers(&self) {
        let mut state = self.state();
        state.detached = state.readers;
        state.wake();
    }

    /// Ends what this replica has of a stream that another one writes from now on. It is not over.
    fn abandon(&self) {
        let mut state = self.state();
        state.abandoned = true;
        state.detached = state.readers;
        state.wake();
        self.news.notify_one();
    }

    /// Ends the stream: readers get the rest of the events, and then its end.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.over = true;
        state.wake();
        self.news.notify_one();
    }

    /// Reads the stream from the beginning. If `primed`, an empty event with an id goes first, so that a client which
    /// loses its connection before the first real event can resume.
    pub(crate) fn read(self: &Arc<Self>, primed: bool) -> Reader {
        let first = primed.then(|| {
            let mut event = Vec::new();
            let id = EventId { stream: self.id, event: 0 };
            sse::write_event(&mut event, format_args!("id: {id}\n{RETRY}"), b"");
            event.into()
        });
        Reader::new(Arc::clone(self), 0, first)
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let bytes = self.state().bytes;
        self.budget.give_back(bytes);
    }
}

impl StreamState {
    /// The number of the next event.
    fn next(&self) -> u64 {
        self.last.max(self.floor) + 1
    }

    /// Whether one more event fits without a gap for the reader.
    fn has_room(&self, budget: &ReplayBudget) -> bool {
        let Some(taken) = self.taken else { return true };
        let ahead = self.events.iter().rev().take_while(|(number, _)| *number > taken);
        let (count, bytes) = ahead.fold((0, 0), |(count, bytes), (_, event)| (count + 1, bytes + event.len()));
        count == 0 || (count < EVENTS && bytes < BYTES && !budget.is_spent())
    }

    /// Whether the reader has taken the oldest event, or there is no reader.
    fn oldest_is_taken(&self) -> bool {
        let oldest = self.events.front().map_or(0, |(oldest, _)| *oldest);
        self.taken.is_none_or(|taken| oldest <= taken)
    }

    fn tell_presence(&self) {
        if let Some(presence) = &self.presence {
            presence.set(self.taken.is_some());
        }
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

/// A client's position in a stream.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) stream: Arc<EventStream>,
    /// The last event the client has.
    at: u64,
    number: u64,
    /// The priming event, until it is sent.
    first: Option<Bytes>,
}

impl Reader {
    pub(crate) fn new(stream: Arc<EventStream>, at: u64, first: Option<Bytes>) -> Self {
        let mut state = stream.state();
        state.readers += 1;
        let number = state.readers;
        state.taken = Some(at);
        state.tell_presence();
        // Wakes the previous reader, which ends: it has been replaced.
        state.wake();
        drop(state);
        Reader { stream, at, number, first }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.stream.state();
        if state.readers == self.number {
            state.taken = None;
            state.tell_presence();
            self.stream.taken.notify_waiters();
        }
    }
}

impl Events for Reader {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let first = self.first.take();
        let stream = Arc::clone(&self.stream);
        let mut state = stream.state();
        let mut out: Bytes = first.unwrap_or_default();
        let at = self.at;
        for (number, event) in state.events.iter().filter(|(number, _)| *number > at) {
            // Short events are written together, long ones are not copied.
            if out.is_empty() {
                out = event.clone();
            } else if out.len() + event.len() <= GATHERED {
                out = [&*out, event].concat().into();
            } else {
                break;
            }
            self.at = *number;
        }
        if state.readers == self.number && state.taken != Some(self.at) {
            state.taken = Some(self.at);
            stream.taken.notify_waiters();
        }
        if !out.is_empty() {
            return Poll::Ready(Some(out));
        }
        if state.over || state.detached >= self.number || state.readers > self.number {
            return Poll::Ready(None);
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}
