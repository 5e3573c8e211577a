//! The streams of a session: the open ones, and some that have ended, for a client that reconnects.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use super::id::{EventId, StreamId, StreamKind};
use super::replay_budget::ReplayBudget;
use super::{EventStream, Reader};
use crate::store::EventTail;
use crate::sync::lock;

/// How many streams of answered requests a session keeps for replay.
const ANSWERED: usize = 16;

/// The streams of one session.
#[derive(Debug, Default)]
pub(crate) struct Streams(Mutex<StreamTable>);

#[derive(Debug, Default)]
struct StreamTable {
    /// In the order they were opened.
    streams: BTreeMap<u64, Arc<EventStream>>,
    last: u64,
    /// The bytes of events all streams keep; made with the first stream.
    budget: Option<ReplayBudget>,
}

impl Streams {
    fn table(&self) -> MutexGuard<'_, StreamTable> {
        lock(&self.0)
    }

    /// Opens a stream under the next number. `budget` makes what all streams may keep, besides the newest event of each.
    pub(crate) fn open(&self, kind: StreamKind, budget: impl FnOnce() -> ReplayBudget) -> Arc<EventStream> {
        self.table().insert(budget, |number, budget| EventStream::new(StreamId { kind, number }, budget)).0
    }

    /// Opens a stream under an id of its own, and returns the ids of those that were dropped for it.
    pub(crate) fn open_as(
        &self,
        id: StreamId,
        budget: impl FnOnce() -> ReplayBudget,
    ) -> (Arc<EventStream>, Vec<StreamId>) {
        self.table().insert(budget, |_, budget| EventStream::new(id, budget))
    }

    /// Takes over a stream from another replica; `tail` is what came after the event.
    pub(crate) fn adopt(&self, id: EventId, tail: EventTail, budget: impl FnOnce() -> ReplayBudget) -> Reader {
        let EventId { stream: id, event } = id;
        let mut table = self.table();
        table.abandon(id);
        let (stream, _) = table.insert(budget, |_, budget| EventStream::adopted(id, event, tail, budget));
        Reader::new(stream, event, None)
    }

    /// Gives up a stream that another replica writes from now on.
    pub(crate) fn abandon(&self, id: StreamId) {
        self.table().abandon(id);
    }

    /// The number of the last event of a stream, if the stream is known.
    pub(crate) fn last(&self, id: StreamId) -> Option<u64> {
        self.table().find(id).map(|stream| stream.last())
    }

    /// Forgets all streams, and returns their ids.
    pub(crate) fn forget(&self) -> Vec<StreamId> {
        std::mem::take(&mut self.table().streams).into_values().map(|stream| stream.id).collect()
    }

    /// Replays the events after this one, if the stream is known and none of them is missing.
    pub(crate) fn resume(&self, id: EventId) -> Option<Reader> {
        let stream = Arc::clone(self.table().find(id.stream)?);
        stream.has_all_after(id.event).then(|| Reader::new(stream, id.event, None))
    }
}

impl StreamTable {
    /// Inserts a stream. Ended streams are dropped, the oldest first, when there are too many or they use up
    /// half of the limit.
    fn insert(
        &mut self,
        budget: impl FnOnce() -> ReplayBudget,
        make: impl FnOnce(u64, ReplayBudget) -> EventStream,
    ) -> (Arc<EventStream>, Vec<StreamId>) {
        let budget = self.budget.get_or_insert_with(budget).clone();
        let mut ended: VecDeque<u64> =
            self.streams.iter().filter(|(_, one)| one.is_over()).map(|(at, _)| *at).collect();
        let mut dropped = Vec::new();
        while ended.len() > ANSWERED || budget.is_half_spent() {
            let Some(oldest) = ended.pop_front() else { break };
            dropped.extend(self.streams.remove(&oldest).map(|stream| stream.id));
        }
        self.last += 1;
        let stream = Arc::new(make(self.last, budget));
        self.streams.insert(self.last, Arc::clone(&stream));
        (stream, dropped)
    }

    fn abandon(&mut self, id: StreamId) {
        self.streams.retain(|_, stream| {
            if stream.id == id {
                stream.abandon();
            }
            stream.id != id
        });
    }

    fn find(&self, id: StreamId) -> Option<&Arc<EventStream>> {
        self.streams.values().find(|stream| stream.id == id)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use tokio::sync::mpsc;

    use super::*;
    use crate::call::outbox::Outgoing;
    use crate::limits::Limits;
    use crate::server::memory::{MemoryBudget, Owner};
    use crate::transport::http::response::body::Events as _;
    use crate::transport::http::session::stream::{BYTES, EVENTS};

    const LIMIT: usize = 4 * BYTES;

    /// What the streams of a session may keep, of a server that may keep this much.
    fn within(memory_bytes: usize) -> impl FnOnce() -> ReplayBudget {
        let limits = Limits { memory_bytes, message_bytes: 1, ..Limits::default() };
        let memory = Arc::new(MemoryBudget::new(&limits));
        move || ReplayBudget::new(LIMIT, memory.open(Owner::Unknown))
    }

    fn budget() -> ReplayBudget {
        within(usize::MAX)()
    }

    fn resume(streams: &Streams, id: &str) -> Option<Reader> {
        streams.resume(id.parse().ok()?)
    }

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
    fn reader_resumes_after_the_last_event() {
        let streams = Streams::default();
        let stream = streams.open(StreamKind::Request, budget);
        let mut first = stream.read(true);
        stream.push(b"one\ntwo\n");
        let (text, over) = all(&mut first);
        assert_eq!(
            text,
            "id: r1_0\nretry: 500\ndata: \n\nid: r1_1\nevent: message\ndata: one\n\nid: r1_2\nevent: message\ndata: two\n\n"
        );
        assert!(!over);
        stream.push(b"three\n");
        stream.end();
        let mut second = resume(&streams, "r1_1").unwrap();
        assert_eq!(
            all(&mut second),
            ("id: r1_2\nevent: message\ndata: two\n\nid: r1_3\nevent: message\ndata: three\n\n".into(), true)
        );
        let (rest, over) = all(&mut first);
        assert!(over && rest.contains("three"), "a replaced reader gets what was there, and ends");
    }

    /// Whether a task ends, given some time.
    async fn ends(task: &mut tokio::task::JoinHandle<()>) -> bool {
        tokio::time::timeout(std::time::Duration::from_millis(50), task).await.is_ok()
    }

    /// A call that writes 1000 lines to a stream.
    fn talk(stream: &Arc<EventStream>, line: &'static [u8]) -> tokio::task::JoinHandle<()> {
        let (sender, lines) = mpsc::channel(4);
        tokio::spawn(async move {
            for _ in 0..1000 {
                let _ = sender.send(Outgoing::Notification(line.to_vec())).await;
            }
        });
        tokio::spawn(Arc::clone(stream).consume(lines))
    }

    #[tokio::test]
    async fn slow_reader_gets_backpressure_and_every_event() {
        let long: &[u8] = vec![b'x'; 8 * 1024].leak();
        for line in [b"x", long] {
            let stream = Streams::default().open(StreamKind::Request, budget);
            let mut reader = stream.read(false);
            let mut task = talk(&stream, line);
            assert!(!ends(&mut task).await);
            let (kept, bytes) = stream.buffered();
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
            let numbers = text.lines().filter_map(|line| line.strip_prefix("id: r1_")?.parse::<u64>().ok());
            assert!(numbers.eq(1..=1000), "no event is missing");
        }
    }

    #[tokio::test]
    async fn dropped_reader_gets_no_backpressure() {
        let stream = Streams::default().open(StreamKind::Request, budget);
        let reader = stream.read(false);
        let mut task = talk(&stream, b"x");
        assert!(!ends(&mut task).await);
        drop(reader);
        assert!(ends(&mut task).await);
        assert_eq!((stream.buffered().0, stream.last()), (EVENTS, 1000), "the newest are kept");
    }

    #[tokio::test]
    async fn new_reader_replaces_the_old_one() {
        let streams = Streams::default();
        let stream = streams.open(StreamKind::Request, budget);
        let first = stream.read(false);
        let mut task = talk(&stream, b"x");
        assert!(!ends(&mut task).await);
        let second = resume(&streams, "r1_0").unwrap();
        drop(first);
        assert!(!ends(&mut task).await, "there is a reader");
        drop(second);
        assert!(ends(&mut task).await);
    }

    #[test]
    fn missing_events_cannot_be_resumed() {
        let streams = Streams::default();
        let stream = streams.open(StreamKind::Request, budget);
        for _ in 0..1000 {
            stream.push(b"x\n");
        }
        assert!(resume(&streams, "r1_5").is_none(), "dropped");
        assert!(resume(&streams, "r1_1000").is_some() && resume(&streams, "r1_1001").is_none());
        for id in ["", "r1", "r2_0", "s1_1", "1_1000", "r1_x"] {
            assert!(resume(&streams, id).is_none(), "{id}");
        }
    }

    #[test]
    fn answered_streams_are_dropped() {
        let streams = Streams::default();
        for _ in 0..1000 {
            streams.open(StreamKind::Request, budget).end();
        }
        assert!(streams.table().streams.len() <= ANSWERED + 1);
    }

    #[test]
    fn streams_of_a_session_share_a_replay_budget() {
        let streams = Streams::default();
        let line = [&*"x".repeat(64 * 1024), "\n"].concat().into_bytes();
        let fill = |stream: &EventStream| (0..20).for_each(|_| stream.push(&line));
        let used = || streams.table().budget.as_ref().unwrap().bytes();
        let open: Vec<_> = (0..32).map(|_| streams.open(StreamKind::Request, budget)).collect();
        for stream in &open {
            fill(stream);
        }
        // The newest event of each is kept in any case.
        assert!(used() > LIMIT / 2 && used() < LIMIT + 33 * line.len(), "{}", used());
        assert!(resume(&streams, "r32_20").is_some(), "the newest event is kept");
        for stream in open {
            stream.end();
        }
        let next = streams.open(StreamKind::Request, budget);
        assert!(used() <= LIMIT / 2, "{}: ended streams make room", used());
        fill(&next);
        assert!(next.has_all_after(10), "and there is room");
        let budget = streams.table().budget.clone().unwrap();
        drop((next, streams));
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn answer_without_memory_is_an_error() {
        let streams = Streams::default();
        let stream = streams.open(StreamKind::Request, within(64 * 1024));
        let long = "x".repeat(40 * 1024);
        let line =
            |number: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"result\":\"{long}\"}}\n").into_bytes();
        stream.push(&line(1));
        stream.push(&line(2));
        assert_eq!((stream.buffered().0, stream.last()), (1, 2), "an older event makes room");
        let other = streams.open(StreamKind::Request, budget);
        other.push(&line(3));
        other.push(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":\"{long}\"}}\n").as_bytes());
        let (text, _) = all(&mut other.read(false));
        assert!(text.starts_with("id: r2_1\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"error\":"), "{text}");
        assert_eq!(other.last(), 1, "a notification is dropped");
    }

    #[tokio::test]
    async fn news_has_every_event_or_tells_the_oldest() {
        let streams = Streams::default();
        let stream = streams.open(StreamKind::Request, budget);
        stream.push(b"one\ntwo\n");
        let news = stream.news(0).await;
        assert_eq!((news.events.len(), news.oldest, news.over), (2, 1, false));
        for _ in 0..300 {
            stream.push(b"x\n");
        }
        stream.end();
        let news = stream.news(2).await;
        assert_eq!((news.events.len(), news.oldest, news.over), (EVENTS, 303 - EVENTS as u64, true));
        assert!(stream.news(302).await.events.is_empty());
    }
}
