//! The streams of a session: those that are read, and some that are over, for a client that was cut off
//! and comes back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::stream::{EventStream, Reader, ReplayBudget};
use crate::store::EventTail;
use crate::sync::lock;

/// How many streams a session keeps whose requests are answered.
const ANSWERED: usize = 16;

/// The streams of one session.
#[derive(Debug, Default)]
pub(crate) struct Streams(Mutex<StreamTable>);

#[derive(Debug, Default)]
struct StreamTable {
    /// In the order they were opened.
    streams: BTreeMap<u64, Arc<EventStream>>,
    last: u64,
    /// How many bytes of events all of them keep; there when there was a stream.
    used: Option<Arc<AtomicUsize>>,
}

impl Streams {
    fn table(&self) -> MutexGuard<'_, StreamTable> {
        lock(&self.0)
    }

    /// Opens a stream under the next number. All of them together keep no more bytes than the limit,
    /// besides the newest event of each.
    pub(crate) fn open(&self, of_session: bool, limit: usize) -> Arc<EventStream> {
        self.table().enter(limit, |next, budget| EventStream::new(next, of_session, budget)).0
    }

    /// Opens a stream under a number nobody else has; and those that were forgotten for it.
    pub(crate) fn open_as(&self, number: u64, of_session: bool, limit: usize) -> (Arc<EventStream>, Vec<u64>) {
        self.table().enter(limit, |_, budget| EventStream::new(number, of_session, budget))
    }

    /// Goes on with a stream that was begun elsewhere, of which this came after the event.
    pub(crate) fn adopt(&self, number: u64, event: u64, tail: EventTail, limit: usize) -> Reader {
        let mut table = self.table();
        table.streams.retain(|_, stream| stream.number != number);
        let (stream, _) = table.enter(limit, |_, budget| EventStream::adopted(number, event, tail, budget));
        Reader::new(stream, event, None)
    }

    /// The number of the last event of a stream, if it is known.
    pub(crate) fn last(&self, number: u64) -> Option<u64> {
        self.table().find(number).map(|stream| stream.last())
    }

    /// The numbers of the streams.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.table().streams.values().map(|stream| stream.number).collect()
    }

    /// The events after this one, if its stream is known and they are still there.
    pub(crate) fn resume(&self, (number, event): (u64, u64)) -> Option<Reader> {
        let stream = Arc::clone(self.table().find(number)?);
        stream.has_all_after(event).then(|| Reader::new(stream, event, None))
    }
}

/// The stream and the event an id names.
pub(crate) fn place(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('_')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

impl StreamTable {
    /// Enters a stream. Of those that are over, the oldest are forgotten: when there are many, or when
    /// they leave little room.
    fn enter(
        &mut self,
        limit: usize,
        make: impl FnOnce(u64, ReplayBudget) -> EventStream,
    ) -> (Arc<EventStream>, Vec<u64>) {
        let used = Arc::clone(self.used.get_or_insert_default());
        let mut over: VecDeque<u64> = self.streams.iter().filter(|(_, one)| one.is_over()).map(|(at, _)| *at).collect();
        let mut forgotten = Vec::new();
        while over.len() > ANSWERED || used.load(Ordering::Relaxed) > limit / 2 {
            let Some(oldest) = over.pop_front() else { break };
            forgotten.extend(self.streams.remove(&oldest).map(|stream| stream.number));
        }
        self.last += 1;
        let stream = Arc::new(make(self.last, ReplayBudget { used, limit }));
        self.streams.insert(self.last, Arc::clone(&stream));
        (stream, forgotten)
    }

    fn find(&self, number: u64) -> Option<&Arc<EventStream>> {
        self.streams.values().find(|stream| stream.number == number)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use tokio::sync::mpsc;

    use super::*;
    use crate::call::outbox::Outgoing;
    use crate::transport::http::response::body::Events as _;
    use crate::transport::http::session::stream::{BYTES, EVENTS};

    const LIMIT: usize = 4 * BYTES;

    fn resume(streams: &Streams, id: &str) -> Option<Reader> {
        streams.resume(place(id)?)
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
    fn who_comes_back_goes_on_where_they_were() {
        let streams = Streams::default();
        let stream = streams.open(false, LIMIT);
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
        let mut second = resume(&streams, "1_1").unwrap();
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
    async fn who_reads_is_waited_for_and_misses_nothing() {
        let long: &[u8] = vec![b'x'; 8 * 1024].leak();
        for line in [b"x", long] {
            let stream = Streams::default().open(false, LIMIT);
            let mut reader = stream.read(false);
            let mut task = talk(&stream, line);
            assert!(!ends(&mut task).await);
            let (kept, bytes) = stream.kept();
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
        let stream = Streams::default().open(false, LIMIT);
        let reader = stream.read(false);
        let mut task = talk(&stream, b"x");
        assert!(!ends(&mut task).await);
        drop(reader);
        assert!(ends(&mut task).await);
        assert_eq!((stream.kept().0, stream.last()), (EVENTS, 1000), "the newest are kept");
    }

    #[tokio::test]
    async fn who_comes_back_takes_the_place_of_who_was_there() {
        let streams = Streams::default();
        let stream = streams.open(false, LIMIT);
        let first = stream.read(false);
        let mut task = talk(&stream, b"x");
        assert!(!ends(&mut task).await);
        let second = resume(&streams, "1_0").unwrap();
        drop(first);
        assert!(!ends(&mut task).await, "there is somebody who reads");
        drop(second);
        assert!(ends(&mut task).await);
    }

    #[test]
    fn what_is_not_there_cannot_be_resumed() {
        let streams = Streams::default();
        let stream = streams.open(false, LIMIT);
        for _ in 0..1000 {
            stream.push(b"x\n");
        }
        assert!(resume(&streams, "1_5").is_none(), "forgotten");
        assert!(resume(&streams, "1_1000").is_some() && resume(&streams, "1_1001").is_none());
        for id in ["", "1", "2_0", "x_1", "1_x", "1_-1", "99999999999999999999_1"] {
            assert!(resume(&streams, id).is_none(), "{id}");
        }
    }

    #[test]
    fn answered_streams_are_forgotten_in_time() {
        let streams = Streams::default();
        for _ in 0..1000 {
            streams.open(false, LIMIT).end();
        }
        assert!(streams.table().streams.len() <= ANSWERED + 1);
    }

    #[test]
    fn the_streams_of_a_session_keep_so_much_together() {
        let streams = Streams::default();
        let line = [&*"x".repeat(64 * 1024), "\n"].concat().into_bytes();
        let fill = |stream: &EventStream| (0..20).for_each(|_| stream.push(&line));
        let used = || streams.table().used.as_ref().unwrap().load(Ordering::Relaxed);
        let open: Vec<_> = (0..32).map(|_| streams.open(false, LIMIT)).collect();
        for stream in &open {
            fill(stream);
        }
        // The newest event of each is kept in any case.
        assert!(used() > LIMIT / 2 && used() < LIMIT + 33 * line.len(), "{}", used());
        assert!(streams.resume((32, 20)).is_some(), "what comes last is kept");
        for stream in open {
            stream.end();
        }
        let next = streams.open(false, LIMIT);
        assert!(used() <= LIMIT / 2, "{}: what is over makes room", used());
        fill(&next);
        assert!(next.has_all_after(10), "and there is room");
        let used = Arc::clone(streams.table().used.as_ref().unwrap());
        drop((next, streams));
        assert_eq!(used.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn who_copies_a_stream_sees_everything_or_knows_what_is_missing() {
        let streams = Streams::default();
        let stream = streams.open(false, LIMIT);
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
