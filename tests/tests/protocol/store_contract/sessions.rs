//! The contract of session stores.

use std::io;
use std::time::Duration;

use mcp_runtime::store::{MemorySessions, SessionRecord, SessionStore};
use mcp_runtime::testing::contract;
use mcp_tests::file_stores::FileStores;

use super::breaks_each;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_sessions_keep_the_contract() {
    contract::sessions(MemorySessions::new).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_sessions_keep_the_contract() {
    contract::sessions(FileStores::new).await;
}

/// A mistake an implementation may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    LosesThePrincipal,
    FindsSomethingForEveryone,
    FoldsCase,
    UpdatesNothing,
    IgnoresTheVersion,
    LooksThenWrites,
    RemovesNothing,
    BringsBack,
    NeverForgets,
    IgnoresTouch,
    IgnoresKeepOfUpdates,
    CountsInMicroseconds,
    Hangs,
}

#[derive(Debug)]
struct Faulty(MemorySessions, Fault);

const EVER: Duration = Duration::from_hours(1);

impl Faulty {
    fn has(&self, fault: Fault) -> bool {
        self.1 == fault
    }

    fn id(&self, id: &str) -> String {
        if self.has(Fault::FoldsCase) { id.to_ascii_lowercase() } else { id.to_owned() }
    }

    fn keep(&self, keep: Duration) -> io::Result<Duration> {
        if self.has(Fault::CountsInMicroseconds) && keep.as_micros() > u128::from(u32::MAX) * 1000 {
            return Err(io::Error::other("out of range"));
        }
        Ok(if self.has(Fault::NeverForgets) { EVER } else { keep })
    }
}

impl SessionStore for Faulty {
    async fn create(&self, id: &str, record: &SessionRecord, keep: Duration) -> io::Result<()> {
        let mut record = record.clone();
        if self.has(Fault::LosesThePrincipal) {
            record.principal = None;
        }
        self.0.create(&self.id(id), &record, self.keep(keep)?).await
    }

    async fn load(&self, id: &str) -> io::Result<Option<SessionRecord>> {
        let found = self.0.load(&self.id(id)).await?;
        if found.is_none() && self.has(Fault::FindsSomethingForEveryone) {
            return Ok(Some(SessionRecord::new(mcp_runtime::Revision::V2025_11_25)));
        }
        Ok(found)
    }

    async fn update(&self, id: &str, record: &SessionRecord, keep: Duration) -> io::Result<bool> {
        let (id, keep) = (self.id(id), self.keep(keep)?);
        match self.1 {
            Fault::UpdatesNothing => return Ok(self.0.load(&id).await?.is_some()),
            Fault::BringsBack => {
                let before = self.0.load(&id).await?;
                let made = before.is_none_or(|before| before.version + 1 == record.version) && record.version > 0;
                if made {
                    self.0.create(&id, record, keep).await?;
                }
                return Ok(made);
            }
            Fault::IgnoresTheVersion | Fault::LooksThenWrites => {
                let Some(before) = self.0.load(&id).await? else { return Ok(false) };
                if self.has(Fault::LooksThenWrites) && before.version + 1 != record.version {
                    return Ok(false);
                }
                tokio::task::yield_now().await;
                self.0.create(&id, record, keep).await?;
                return Ok(true);
            }
            Fault::IgnoresKeepOfUpdates => {
                let made = self.0.update(&id, record, EVER).await?;
                return Ok(made);
            }
            Fault::Hangs => std::future::pending().await,
            _ => {}
        }
        self.0.update(&id, record, keep).await
    }

    async fn touch(&self, id: &str, keep: Duration) -> io::Result<bool> {
        if self.has(Fault::IgnoresTouch) {
            return Ok(self.0.load(id).await?.is_some());
        }
        self.0.touch(&self.id(id), self.keep(keep)?).await
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
        [
            (Fault::LosesThePrincipal, "what was created is there, as it was"),
            (Fault::FindsSomethingForEveryone, "what nobody created is not there"),
            (Fault::FoldsCase, "ids are told apart, by every letter"),
            (Fault::UpdatesNothing, "an update takes the place of the version before"),
            (Fault::IgnoresTheVersion, "an update of another version changes nothing"),
            (Fault::LooksThenWrites, "of two updates at a time one is made"),
            (Fault::RemovesNothing, "what was removed is gone, and stays gone"),
            (Fault::BringsBack, "what nobody created is not there"),
            (Fault::NeverForgets, "what is left alone is forgotten"),
            (Fault::IgnoresTouch, "what is touched is kept"),
            (Fault::IgnoresKeepOfUpdates, "what is updated is kept"),
            (Fault::CountsInMicroseconds, "what is kept for very long is there"),
        ],
        |fault| contract::sessions(move || Faulty(MemorySessions::new(), fault)),
    );
}

/// Each rule has a time limit.
#[tokio::test(start_paused = true)]
#[should_panic(expected = "it takes longer than")]
async fn hanging_session_store_is_caught() {
    contract::sessions(|| Faulty(MemorySessions::new(), Fault::Hangs)).await;
}
