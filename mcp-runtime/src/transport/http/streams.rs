//! Streams of events that outlive the connection they began on: kept for a while, so that a client
//! that was cut off can go on where it was.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

use super::body::Events;
use crate::outlet::LET_GO;

/// How many events, and bytes of them, a stream keeps for a client that may come back.
const EVENTS: usize = 256;
const BYTES: usize = 1024 * 1024;
/// How many streams a session keeps whose requests are answered.
const ANSWERED: usize = 16;
/// How long a client should wait before it comes back.
const RETRY: &str = "retry: 500\n";

/// The streams of one session.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    streams: BTreeMap<u64, Arc<Stream>>,
    last: u64,
}

/// One stream: the events of a request, or those that belong to none.
#[derive(Debug)]
pub(super) struct Stream {
    number: u64,
    /// Whether it is the session's, for what belongs to no request.
    pub(super) of_session: bool,
    state: Mutex<State>,
    /// Told when a reader has taken something, or has gone.
    taken: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The events that are kept, each under its number.
    events: VecDeque<(u64, Bytes)>,
    bytes: usize,
    /// The number of the last event there was.
    last: u64,
    /// The reader that was told to come back later, if one was.
    let_go: u64,
    over: bool,
    reader: Option<Waker>,
    /// Counts readers: a new one takes the place of the one before.
    readers: u64,
    /// The last event the newest reader has taken, while it is there.
    taken: Option<u64>,
}

impl Streams {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a stream. Of those that are over, the oldest are forgotten.
    pub(super) fn open(&self, of_session: bool) -> Arc<Stream> {
        let mut table = self.table();
        let over: Vec<u64> = table.streams.iter().filter(|(_, one)| one.state().over).map(|(at, _)| *at).collect();
        for number in over.iter().take(over.len().saturating_sub(ANSWERED)) {
            table.streams.remove(number);
        }
        table.last += 1;
        let stream = Arc::new(Stream { number: table.last, of_session, state: Mutex::default(), taken: Notify::new() });
        table.streams.insert(stream.number, Arc::clone(&stream));
        stream
    }

    /// The events after the one with this id, if its stream is known and they are still there.
    pub(super) fn resume(&self, id: &str) -> Option<Reader> {
        let (stream, event) = id.split_once('_')?;
        let (stream, event): (u64, u64) = (stream.parse().ok()?, event.parse().ok()?);
        let stream = self.table().streams.get(&stream).cloned()?;
        let state = stream.state();
        // Nothing between that event and the first that is kept may be missing.
        let kept = state.events.front().map_or(state.last, |(first, _)| first - 1);
        let known = event <= state.last && event >= kept;
        drop(state);
        known.then(|| Reader::new(stream, event, None))
    }
}

impl Stream {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds lines, an event each; nobody is waited for.
    pub(super) fn push(&self, lines: &[u8]) {
        let mut state = self.state();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            state.last += 1;
            let mut event = format!("id: {}_{}\nevent: message\ndata: ", self.number, state.last).into_bytes();
            event.extend_from_slice(line);
            event.extend_from_slice(b"\n\n");
            state.bytes += event.len();
            let number = state.last;
            state.events.push_back((number, event.into()));
        }
        // The newest is kept, however long it is: it may be the answer. So is what a reader has to take yet.
        while state.events.len() > 1
            && (state.events.len() > EVENTS || state.bytes > BYTES)
            && state.events.front().is_none_or(|(oldest, _)| state.taken.is_none_or(|taken| *oldest <= taken))
        {
            let dropped = state.events.pop_front().map_or(0, |(_, event)| event.len());
            state.bytes -= dropped;
        }
        state.wake();
    }

    /// Takes everything a request says, to its end; from who talks faster than they are listened to, as
    /// fast as they are. Who is not listened to is not held up.
    pub(super) async fn take(self: Arc<Self>, mut lines: mpsc::Receiver<Vec<u8>>) {
        while let Some(line) = lines.recv().await {
            if line == LET_GO {
                self.let_go();
            } else {
                self.room().await;
                self.push(&line);
            }
        }
        self.end();
    }

    /// Waits until nothing has to be dropped that a reader has not taken.
    async fn room(&self) {
        loop {
            let taken = self.taken.notified();
            if self.state().has_room() {
                return;
            }
            taken.await;
        }
    }

    /// Ends what there is of readers, not of the stream: they come back.
    pub(super) fn let_go(&self) {
        let mut state = self.state();
        state.let_go = state.readers;
        state.wake();
    }

    pub(super) fn end(&self) {
        let mut state = self.state();
        state.over = true;
        state.wake();
    }

    /// Reads it from the beginning; `primed` begins with an event that says where it is, so that a
    /// client which is cut off before the first real one can come back.
    pub(super) fn read(self: &Arc<Self>, primed: bool) -> Reader {
        let first = primed.then(|| format!("id: {}_0\n{RETRY}data: \n\n", self.number).into());
        Reader::new(Arc::clone(self), 0, first)
    }
}

impl State {
    /// Whether there may be one more event without a gap for who reads.
    fn has_room(&self) -> bool {
        let Some(taken) = self.taken else { return true };
        let ahead = self.events.iter().rev().take_while(|(number, _)| *number > taken);
        let (count, bytes) = ahead.fold((0, 0), |(count, bytes), (_, event)| (count + 1, bytes + event.len()));
        count < EVENTS && bytes < BYTES
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

/// A client's place in a stream.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) stream: Arc<Stream>,
    /// The last event it has.
    at: u64,
    number: u64,
    first: Option<Bytes>,
}

impl Reader {
    fn new(stream: Arc<Stream>, at: u64, first: Option<Bytes>) -> Self {
        let mut state = stream.state();
        state.readers += 1;
        let number = state.readers;
        state.taken = Some(at);
        // The one before, if it is still there, has been left.
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
            self.stream.taken.notify_waiters();
        }
    }
}

impl Events for Reader {
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let first = self.first.take();
        let stream = Arc::clone(&self.stream);
        let mut state = stream.state();
        let mut out: Vec<u8> = first.map(Vec::from).unwrap_or_default();
        let at = self.at;
        for (number, event) in state.events.iter().filter(|(number, _)| *number > at) {
            out.extend_from_slice(event);
            self.at = *number;
        }
        if state.readers == self.number && state.taken != Some(self.at) {
            state.taken = Some(self.at);
            stream.taken.notify_waiters();
        }
        if !out.is_empty() {
            return Poll::Ready(Some(out.into()));
        }
        if state.over || state.let_go >= self.number || state.readers > self.number {
            return Poll::Ready(None);
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(reader: &mut Reader) -> (String, bool) {
        let mut text = String::new();
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match Pin::new(&mut *reader).poll_next(&mut cx) {
                Poll::Ready(Some(bytes)) => text.push_str(std::str::from_utf8(&bytes).unwrap()),
                Poll::Ready(None) => return (text, true),
                Poll::Pending => return (text, false),
            }
        }
    }

    #[test]
    fn who_comes_back_goes_on_where_they_were() {
        let streams = Streams::default();
        let stream = streams.open(false);
        let mut first = stream.read(true);
        stream.push(b"one\ntwo\n");
        let (text, over) = all(&mut first);
        assert_eq!(
            text,
            "id: 1_0\nretry: 500\ndata: \n\nid: 1_1\nevent: message\ndata: one\n\nid: 1_2\nevent: message\ndata: two\n\n"
        );
        assert!(!over);
        stream.push(b"three\n");
        stream.end();
        let mut second = streams.resume("1_1").unwrap();
        assert_eq!(
            all(&mut second),
            ("id: 1_2\nevent: message\ndata: two\n\nid: 1_3\nevent: message\ndata: three\n\n".into(), true)
        );
        let (rest, over) = all(&mut first);
        assert!(over && rest.contains("three"), "what was there is given, and then it is over");
    }

    /// Whether a future comes to its end, given some time.
    async fn ends(task: &mut tokio::task::JoinHandle<()>) -> bool {
        tokio::time::timeout(std::time::Duration::from_millis(50), task).await.is_ok()
    }

    /// A call that has much to say on a stream.
    fn talk(stream: &Arc<Stream>, line: &'static [u8]) -> tokio::task::JoinHandle<()> {
        let (sender, lines) = mpsc::channel(4);
        tokio::spawn(async move {
            for _ in 0..1000 {
                let _ = sender.send(line.to_vec()).await;
            }
        });
        tokio::spawn(Arc::clone(stream).take(lines))
    }

    #[tokio::test]
    async fn who_reads_is_waited_for_and_misses_nothing() {
        let long: &[u8] = vec![b'x'; 8 * 1024].leak();
        for line in [b"x", long] {
            let stream = Streams::default().open(false);
            let mut reader = stream.read(false);
            let mut task = talk(&stream, line);
            assert!(!ends(&mut task).await);
            let (kept, bytes) = {
                let state = stream.state();
                (state.events.len(), state.bytes)
            };
            assert!(kept <= EVENTS && bytes <= BYTES + 2 * line.len(), "{kept} events, {bytes} bytes");
            let mut text = String::new();
            loop {
                let (more, over) = all(&mut reader);
                text.push_str(&more);
                if over {
                    break;
                }
                tokio::task::yield_now().await;
            }
            let numbers = text.lines().filter_map(|line| line.strip_prefix("id: 1_")?.parse::<u64>().ok());
            assert!(numbers.eq(1..=1000), "none is missing");
        }
    }

    #[tokio::test]
    async fn who_has_gone_is_not_waited_for() {
        let stream = Streams::default().open(false);
        let reader = stream.read(false);
        let mut task = talk(&stream, b"x");
        assert!(!ends(&mut task).await);
        drop(reader);
        assert!(ends(&mut task).await);
        let state = stream.state();
        assert_eq!((state.events.len(), state.last), (EVENTS, 1000), "the newest are kept");
    }

    #[tokio::test]
    async fn who_comes_back_takes_the_place_of_who_was_there() {
        let streams = Streams::default();
        let stream = streams.open(false);
        let first = stream.read(false);
        let mut task = talk(&stream, b"x");
        assert!(!ends(&mut task).await);
        let second = streams.resume("1_0").unwrap();
        drop(first);
        assert!(!ends(&mut task).await, "there is somebody who reads");
        drop(second);
        assert!(ends(&mut task).await);
    }

    #[test]
    fn what_is_not_there_cannot_be_resumed() {
        let streams = Streams::default();
        let stream = streams.open(false);
        for _ in 0..1000 {
            stream.push(b"x\n");
        }
        assert!(streams.resume("1_5").is_none(), "forgotten");
        assert!(streams.resume("1_1000").is_some() && streams.resume("1_1001").is_none());
        for id in ["", "1", "2_0", "x_1", "1_x", "1_-1", "99999999999999999999_1"] {
            assert!(streams.resume(id).is_none(), "{id}");
        }
    }

    #[test]
    fn answered_streams_are_forgotten_in_time() {
        let streams = Streams::default();
        for _ in 0..1000 {
            streams.open(false).end();
        }
        assert!(streams.table().streams.len() <= ANSWERED + 1);
    }
}
