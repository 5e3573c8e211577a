//! The contract of event stores.

use std::io;
use std::time::Duration;

use mcp_runtime::store::{EventHints, EventStore, EventTail, EventWatch, MemoryEvents};
use mcp_runtime::testing::contract;
use mcp_tests::file_stores::FileStores;

use super::{breaks_each, paused};

#[tokio::test(start_paused = true)]
async fn memory_events_keep_the_contract() {
    contract::events(MemoryEvents::new).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_events_keep_the_contract() {
    contract::events(FileStores::new).await;
}

/// A bug a store may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    HidesEmptyStreams,
    FindsUnknownStreams,
    SortsAsText,
    RejectsReadingAhead,
    SkipsGaps,
    NeverCloses,
    FoldsCase,
    TruncatesOnTouch,
    LosesAnEvent,
    RemovesNothing,
    NeverExpires,
    GivesNoHints,
    LosesHeads,
    KeepsStaleEvents,
}

#[derive(Debug)]
struct Faulty(MemoryEvents, Fault);

impl Faulty {
    fn has(&self, fault: Fault) -> bool {
        self.1 == fault
    }

    fn name(&self, stream: &str) -> String {
        if self.has(Fault::FoldsCase) { stream.to_ascii_lowercase() } else { stream.to_owned() }
    }
}

impl EventStore for Faulty {
    async fn open(&self, stream: &str, head: &str, ttl: Duration) -> io::Result<()> {
        if self.has(Fault::LosesHeads) {
            return self.touch(stream, ttl).await;
        }
        self.0.open(&self.name(stream), head, ttl).await
    }

    async fn touch(&self, stream: &str, ttl: Duration) -> io::Result<()> {
        if self.has(Fault::TruncatesOnTouch) {
            self.0.remove(stream).await?;
        }
        let ttl = if self.has(Fault::NeverExpires) { Duration::from_secs(60 * 60) } else { ttl };
        self.0.touch(&self.name(stream), ttl).await
    }

    async fn append(&self, stream: &str, number: u64, event: &[u8], oldest: u64) -> io::Result<()> {
        let oldest = if self.has(Fault::SkipsGaps) { 1 } else { oldest };
        if self.has(Fault::KeepsStaleEvents) {
            let newest = self.0.read_after(stream, 0).await?.and_then(|tail| Some(tail.events.last()?.0));
            let number = number.max(newest.map_or(0, |newest| newest + 1));
            return self.0.append(stream, number, event, oldest).await;
        }
        if self.has(Fault::LosesAnEvent) && number == 50 {
            return Ok(());
        }
        self.0.append(&self.name(stream), number, event, oldest).await
    }

    async fn close(&self, stream: &str) -> io::Result<()> {
        if self.has(Fault::NeverCloses) {
            return Ok(());
        }
        self.0.close(&self.name(stream)).await
    }

    async fn read_after(&self, stream: &str, number: u64) -> io::Result<Option<EventTail>> {
        let mut found = self.0.read_after(&self.name(stream), number).await?;
        match self.1 {
            Fault::HidesEmptyStreams => {
                found = found.filter(|tail| !tail.events.is_empty() || number > 0);
            }
            Fault::FindsUnknownStreams => return Ok(Some(found.unwrap_or_default())),
            Fault::SortsAsText => {
                if let Some(tail) = &mut found {
                    tail.events.sort_by_key(|(number, _)| number.to_string());
                }
            }
            Fault::RejectsReadingAhead => {
                let last =
                    self.0.read_after(stream, 0).await?.and_then(|tail| tail.events.last().map(|(last, _)| *last));
                found = found.filter(|_| last.is_none_or(|last| number <= last));
            }
            _ => {}
        }
        Ok(found)
    }

    async fn remove(&self, stream: &str) -> io::Result<()> {
        if self.has(Fault::RemovesNothing) {
            return Ok(());
        }
        self.0.remove(&self.name(stream)).await
    }

    fn watch(&self, stream: &str) -> EventWatch {
        if self.has(Fault::GivesNoHints) { EventHints::new().watch(stream) } else { self.0.watch(&self.name(stream)) }
    }

    async fn wake(&self, stream: &str) -> io::Result<()> {
        self.0.wake(stream).await
    }
}

#[test]
fn faulty_event_stores_are_caught() {
    breaks_each(
        paused,
        [
            (Fault::HidesEmptyStreams, "a touched stream exists before its first event"),
            (Fault::LosesHeads, "a stream is read with the head it was opened with"),
            (Fault::FindsUnknownStreams, "an unknown stream is not found"),
            (Fault::SortsAsText, "events are read in order, byte for byte"),
            (Fault::RejectsReadingAhead, "reading ahead of the newest event is valid"),
            (Fault::SkipsGaps, "a gap is not skipped"),
            (Fault::KeepsStaleEvents, "an event that is not newer than the newest is ignored"),
            (Fault::NeverCloses, "a closed stream keeps its events and reads as closed"),
            (Fault::FoldsCase, "stream names are compared exactly, case included"),
            (Fault::TruncatesOnTouch, "a touch does not change the stream"),
            (Fault::LosesAnEvent, "a concurrent reader misses no event"),
            (Fault::GivesNoHints, "a watch is told of appends and of the close"),
            (Fault::RemovesNothing, "a removed stream stays removed"),
            (Fault::NeverExpires, "an untouched stream expires"),
        ],
        |fault| contract::events(move || Faulty(MemoryEvents::new(), fault)),
    );
}
