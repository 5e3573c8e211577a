//! The contract of event stores.

use std::io;
use std::time::Duration;

use mcp_runtime::store::{EventStore, EventTail, MemoryEvents};
use mcp_runtime::testing::contract;
use mcp_tests::file_stores::FileStores;

use super::breaks_each;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_events_keep_the_contract() {
    contract::events(MemoryEvents::new).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_events_keep_the_contract() {
    contract::events(FileStores::new).await;
}

/// A mistake an implementation may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    KnowsNothingBeforeTheFirst,
    KnowsEverything,
    SortsAsText,
    RefusesWhatIsAhead,
    PassesOverWhatIsMissing,
    NeverSaysThatItIsOver,
    FoldsCase,
    BeginsAgainWhenKept,
    LosesOne,
    ForgetsNothing,
    NeverExpires,
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
    async fn touch(&self, stream: &str, keep: Duration) -> io::Result<()> {
        if self.has(Fault::BeginsAgainWhenKept) {
            self.0.remove(stream).await?;
        }
        let keep = if self.has(Fault::NeverExpires) { Duration::from_hours(1) } else { keep };
        self.0.touch(&self.name(stream), keep).await
    }

    async fn append(&self, stream: &str, number: u64, event: &[u8], oldest: u64) -> io::Result<()> {
        let oldest = if self.has(Fault::PassesOverWhatIsMissing) { 1 } else { oldest };
        if self.has(Fault::LosesOne) && number == 50 {
            return Ok(());
        }
        self.0.append(&self.name(stream), number, event, oldest).await
    }

    async fn close(&self, stream: &str) -> io::Result<()> {
        if self.has(Fault::NeverSaysThatItIsOver) {
            return Ok(());
        }
        self.0.close(&self.name(stream)).await
    }

    async fn read_after(&self, stream: &str, number: u64) -> io::Result<Option<EventTail>> {
        let mut found = self.0.read_after(&self.name(stream), number).await?;
        match self.1 {
            Fault::KnowsNothingBeforeTheFirst => {
                found = found.filter(|tail| !tail.events.is_empty() || number > 0);
            }
            Fault::KnowsEverything => return Ok(Some(found.unwrap_or_default())),
            Fault::SortsAsText => {
                if let Some(tail) = &mut found {
                    tail.events.sort_by_key(|(number, _)| number.to_string());
                }
            }
            Fault::RefusesWhatIsAhead => {
                let last =
                    self.0.read_after(stream, 0).await?.and_then(|tail| tail.events.last().map(|(last, _)| *last));
                found = found.filter(|_| last.is_none_or(|last| number <= last));
            }
            _ => {}
        }
        Ok(found)
    }

    async fn remove(&self, stream: &str) -> io::Result<()> {
        if self.has(Fault::ForgetsNothing) {
            return Ok(());
        }
        self.0.remove(&self.name(stream)).await
    }
}

#[test]
fn faulty_event_stores_are_caught() {
    breaks_each(
        [
            (Fault::KnowsNothingBeforeTheFirst, "a stream is known before its first event"),
            (Fault::KnowsEverything, "what nobody made known is not there"),
            (Fault::SortsAsText, "events come back in order, byte for byte"),
            (Fault::RefusesWhatIsAhead, "what is yet to come is no mistake"),
            (Fault::PassesOverWhatIsMissing, "what is missing is not passed over"),
            (Fault::NeverSaysThatItIsOver, "a stream that is over has its events, and says so"),
            (Fault::FoldsCase, "streams are told apart, by every letter"),
            (Fault::BeginsAgainWhenKept, "what is kept once more is what it was"),
            (Fault::LosesOne, "who reads while it is written misses nothing"),
            (Fault::ForgetsNothing, "what was forgotten is gone"),
            (Fault::NeverExpires, "what nobody keeps is forgotten"),
        ],
        |fault| contract::events(move || Faulty(MemoryEvents::new(), fault)),
    );
}
