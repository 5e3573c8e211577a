//! The contract of session stores.

use std::io;
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::store::{MemorySessions, SessionRecord, SessionStore};
use mcp_runtime::testing::contract;
use mcp_tests::file_stores::FileStores;

use super::{breaks_each, paused};

#[tokio::test(start_paused = true)]
async fn memory_sessions_keep_the_contract() {
    contract::sessions(MemorySessions::new).await;
}

#[test]
fn memory_sessions_accept_one_of_parallel_updates() {
    let (store, first) = (MemorySessions::new(), SessionRecord::new(Revision::V2025_11_25));
    let mut next = first.clone();
    next.version += 1;
    super::threaded().block_on(store.create("id", &first, EVER)).unwrap();
    let updated = std::thread::scope(|scope| {
        let update = || super::paused().block_on(store.update("id", &next, EVER)).unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(update)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|updated| *updated).count()
    });
    assert_eq!(updated, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_sessions_keep_the_contract() {
    contract::sessions(FileStores::new).await;
}

/// A bug a store may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    LosesPrincipal,
    FindsUnknownIds,
    FoldsCase,
    UpdatesNothing,
    IgnoresVersion,
    ChecksThenWrites,
    RemovesNothing,
    UpdatesUnknownIds,
    NeverExpires,
    IgnoresTouch,
    IgnoresTtlOfUpdates,
    OverflowsLongTtls,
    Hangs,
}

#[derive(Debug)]
struct Faulty(MemorySessions, Fault);

const EVER: Duration = Duration::from_secs(60 * 60);

impl Faulty {
    fn has(&self, fault: Fault) -> bool {
        self.1 == fault
    }

    fn id(&self, id: &str) -> String {
        if self.has(Fault::FoldsCase) { id.to_ascii_lowercase() } else { id.to_owned() }
    }

    fn ttl(&self, ttl: Duration) -> io::Result<Duration> {
        if self.has(Fault::OverflowsLongTtls) && ttl.as_micros() > u128::from(u32::MAX) * 1000 {
            return Err(io::Error::other("out of range"));
        }
        Ok(if self.has(Fault::NeverExpires) { EVER } else { ttl })
    }
}

impl SessionStore for Faulty {
    async fn create(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<()> {
        let mut record = record.clone();
        if self.has(Fault::LosesPrincipal) {
            record.principal = None;
        }
        self.0.create(&self.id(id), &record, self.ttl(ttl)?).await
    }

    async fn load(&self, id: &str) -> io::Result<Option<SessionRecord>> {
        let found = self.0.load(&self.id(id)).await?;
        if found.is_none() && self.has(Fault::FindsUnknownIds) {
            return Ok(Some(SessionRecord::new(Revision::V2025_11_25)));
        }
        Ok(found)
    }

    async fn update(&self, id: &str, record: &SessionRecord, ttl: Duration) -> io::Result<bool> {
        let (id, ttl) = (self.id(id), self.ttl(ttl)?);
        match self.1 {
            Fault::UpdatesNothing => return Ok(self.0.load(&id).await?.is_some()),
            Fault::UpdatesUnknownIds => {
                let before = self.0.load(&id).await?;
                let made = before.is_none_or(|before| before.version + 1 == record.version) && record.version > 0;
                if made {
                    self.0.create(&id, record, ttl).await?;
                }
                return Ok(made);
            }
            Fault::IgnoresVersion | Fault::ChecksThenWrites => {
                let Some(before) = self.0.load(&id).await? else { return Ok(false) };
                if self.has(Fault::ChecksThenWrites) && before.version + 1 != record.version {
                    return Ok(false);
                }
                tokio::task::yield_now().await;
                self.0.create(&id, record, ttl).await?;
                return Ok(true);
            }
            Fault::IgnoresTtlOfUpdates => {
                let made = self.0.update(&id, record, EVER).await?;
                return Ok(made);
            }
            Fault::Hangs => std::future::pending().await,
            _ => {}
        }
        self.0.update(&id, record, ttl).await
    }

    async fn touch(&self, id: &str, ttl: Duration) -> io::Result<bool> {
        if self.has(Fault::IgnoresTouch) {
            return Ok(self.0.load(id).await?.is_some());
        }
        self.0.touch(&self.id(id), self.ttl(ttl)?).await
    }

    async fn remove(&self, id: &str) -> io::Result<()> {
        if self.has(Fault::RemovesNothing) {
            return Ok(());
        }
        self.0.remove(&self.id(id)).await
    }
}

#[test]
fn faulty_session_stores_are_caught() {
    breaks_each(
        paused,
        [
            (Fault::LosesPrincipal, "a created session is readable, unchanged"),
            (Fault::FindsUnknownIds, "an unknown session is not found"),
            (Fault::FoldsCase, "ids are compared exactly, case included"),
            (Fault::UpdatesNothing, "an update replaces the previous version"),
            (Fault::IgnoresVersion, "an update with a version conflict changes nothing"),
            (Fault::ChecksThenWrites, "of concurrent updates exactly one succeeds"),
            (Fault::RemovesNothing, "a removed session stays removed"),
            (Fault::UpdatesUnknownIds, "an unknown session is not found"),
            (Fault::NeverExpires, "an idle session expires"),
            (Fault::IgnoresTouch, "a touch resets the expiry"),
            (Fault::IgnoresTtlOfUpdates, "an update resets the expiry"),
            (Fault::OverflowsLongTtls, "a very long ttl is accepted"),
        ],
        |fault| contract::sessions(move || Faulty(MemorySessions::new(), fault)),
    );
}

/// Each rule has a time limit.
#[tokio::test(start_paused = true)]
#[should_panic(expected = "the check takes longer than")]
async fn hanging_session_store_is_caught() {
    contract::sessions(|| Faulty(MemorySessions::new(), Fault::Hangs)).await;
}
