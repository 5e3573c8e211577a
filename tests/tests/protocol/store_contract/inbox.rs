//! The contract of inboxes.

use std::io;
use std::time::Duration;

use mcp_runtime::store::{INBOX_BYTES, INBOX_MESSAGES, Inbox, MemoryInbox};
use mcp_runtime::testing::contract;

use super::{breaks_each, paused};

#[tokio::test(start_paused = true)]
async fn memory_inbox_keeps_the_contract() {
    contract::inbox(MemoryInbox::new).await;
}

/// A bug an inbox may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    IncludesThePosition,
    SharesOneInbox,
    RemovesOnRead,
    FoldsCase,
    KeepsTooFew,
    DropsLongMessages,
    NeverExpires,
    CountsAnew,
    LosesAMessage,
    RejectsLongTtls,
}

#[derive(Debug)]
struct Faulty(MemoryInbox, Fault);

impl Faulty {
    fn has(&self, fault: Fault) -> bool {
        self.1 == fault
    }

    fn id(&self, session: &str) -> String {
        match self.1 {
            Fault::SharesOneInbox => "all".to_owned(),
            Fault::FoldsCase => session.to_ascii_lowercase(),
            _ => session.to_owned(),
        }
    }
}

impl Inbox for Faulty {
    async fn push(&self, session: &str, message: &[u8], ttl: Duration) -> io::Result<u64> {
        if self.has(Fault::RejectsLongTtls) && ttl > Duration::from_secs(365 * 24 * 60 * 60) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let long = self.has(Fault::DropsLongMessages) && message.len() > INBOX_BYTES;
        let lost = self.has(Fault::LosesAMessage) && message.windows(8).any(|part| part == b"\"id\":50,");
        let ttl = if self.has(Fault::NeverExpires) { Duration::from_secs(60 * 60) } else { ttl };
        let session = if long || lost { "lost".to_owned() } else { self.id(session) };
        let position = self.0.push(&session, message, ttl).await?;
        if self.has(Fault::CountsAnew) {
            return Ok(self.0.read_after(&session, 0).await?.len() as u64);
        }
        Ok(position)
    }

    async fn read_after(&self, session: &str, position: u64) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let session = self.id(session);
        let after = if self.has(Fault::IncludesThePosition) { position.saturating_sub(1) } else { position };
        if self.has(Fault::CountsAnew) {
            let numbered = (1..).zip(self.0.read_after(&session, 0).await?.into_iter().map(|(_, message)| message));
            return Ok(numbered.filter(|(at, _)| *at > position).collect());
        }
        let mut found = self.0.read_after(&session, after).await?;
        if self.has(Fault::KeepsTooFew) {
            found.drain(..found.len().saturating_sub(INBOX_MESSAGES - 1));
        }
        if self.has(Fault::RemovesOnRead) && !found.is_empty() {
            self.0.push(&session, b"", Duration::ZERO).await?;
        }
        Ok(found)
    }
}

#[test]
fn faulty_inboxes_are_caught() {
    breaks_each(
        paused,
        [
            (Fault::IncludesThePosition, "messages are read in order, byte for byte"),
            (Fault::SharesOneInbox, "session ids are compared exactly, case included"),
            (Fault::RemovesOnRead, "messages are read in order, byte for byte"),
            (Fault::FoldsCase, "session ids are compared exactly, case included"),
            (Fault::KeepsTooFew, "the oldest of too many messages are dropped"),
            (Fault::DropsLongMessages, "the oldest of too long messages are dropped, never the newest"),
            (Fault::NeverExpires, "an inbox expires, and a push resets that"),
            (Fault::CountsAnew, "the oldest of too many messages are dropped"),
            (Fault::LosesAMessage, "the oldest of too many messages are dropped"),
            (Fault::RejectsLongTtls, "a very long ttl is accepted"),
        ],
        |fault| contract::inbox(move || Faulty(MemoryInbox::new(), fault)),
    );
}
