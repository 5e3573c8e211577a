//! The inbox in memory.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;
use std::{fmt, io};

use super::expiry::WithExpiry;
use crate::store::{INBOX_BYTES, INBOX_MESSAGES, Inbox};
use crate::sync::lock;

/// The number of inboxes the store holds at most.
const CAPACITY: usize = 10_000;
/// With fewer inboxes, expired ones are not looked for.
const SWEPT_FROM: usize = 16;

/// An [`Inbox`] in memory, for several services in one process and for tests. It holds up to 10 000 inboxes and rejects
/// more.
#[derive(Default)]
pub struct MemoryInbox(Mutex<Table>);

#[derive(Default)]
struct Table {
    /// The position of the last message, of any session.
    last: u64,
    sessions: HashMap<Box<str>, WithExpiry<Messages>>,
    /// With so many inboxes, the expired ones are removed: a push costs the same however many there are.
    next_sweep: usize,
}

#[derive(Debug, Default)]
struct Messages {
    messages: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
}

impl MemoryInbox {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Messages {
    fn push(&mut self, position: u64, message: &[u8]) {
        self.bytes += message.len();
        self.messages.push_back((position, message.to_vec()));
        while self.messages.len() > INBOX_MESSAGES || (self.bytes > INBOX_BYTES && self.messages.len() > 1) {
            self.bytes -= self.messages.pop_front().map_or(0, |(_, oldest)| oldest.len());
        }
    }
}

impl Inbox for MemoryInbox {
    async fn push(&self, session: &str, message: &[u8], ttl: Duration) -> io::Result<u64> {
        let mut table = lock(&self.0);
        let Table { last, sessions, next_sweep } = &mut *table;
        if sessions.len() >= *next_sweep {
            sessions.retain(|_, inbox| inbox.is_live());
            *next_sweep = SWEPT_FROM.max(2 * sessions.len());
        }
        if sessions.len() >= CAPACITY && !sessions.contains_key(session) {
            *next_sweep = CAPACITY;
            return Err(io::Error::other("MemoryInbox is full; use an inbox outside the process"));
        }
        *last += 1;
        let inbox = sessions.entry(session.into()).or_insert_with(|| WithExpiry::new(Messages::default(), ttl));
        if !inbox.is_live() {
            inbox.value = Messages::default();
        }
        inbox.value.push(*last, message);
        inbox.touch(ttl);
        Ok(*last)
    }

    async fn read_after(&self, session: &str, position: u64) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let table = lock(&self.0);
        let Some(inbox) = table.sessions.get(session).filter(|inbox| inbox.is_live()) else { return Ok(Vec::new()) };
        Ok(inbox.value.messages.iter().filter(|(at, _)| *at > position).cloned().collect())
    }
}

/// Omits the session ids, which are secrets.
impl fmt::Debug for MemoryInbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryInbox").field("sessions", &lock(&self.0).sessions.len()).finish_non_exhaustive()
    }
}
