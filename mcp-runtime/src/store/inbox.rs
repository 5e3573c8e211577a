//! The inbox of a session: messages about its calls that reached a replica which does not run them.

use std::time::Duration;
use std::{fmt, io};

use super::StoreFuture;

/// The messages that an [`Inbox`] keeps of one session at most.
pub const INBOX_MESSAGES: usize = 256;
/// The bytes of the messages that an [`Inbox`] keeps of one session at most; a longer message is kept alone.
pub const INBOX_BYTES: usize = 1024 * 1024;

/// Carries messages of a session from the replica that received them to the one they are about: the cancellation of a
/// call that runs elsewhere, the answer to a question that another replica asked.
///
/// The replica that pushes a message then publishes [`Change::SessionMessage`](super::Change::SessionMessage). A replica
/// that missed the change finds the message a second later, so none is lost with the bus. An ordinary call uses no inbox.
///
/// [`testing::contract::inbox`](crate::testing::contract::inbox()) checks an implementation:
///
/// ```
/// use std::io::Result;
/// use std::sync::Mutex;
/// use std::time::Duration;
/// use mcp_runtime::store::{INBOX_BYTES, INBOX_MESSAGES, Inbox};
/// use tokio::time::Instant;
///
/// /// Messages in one table, as in a database. A row's number is its position.
/// #[derive(Debug, Default)]
/// struct TableOfMessages(Mutex<(u64, Vec<Row>)>);
///
/// #[derive(Debug)]
/// struct Row {
///     session: String,
///     position: u64,
///     message: Vec<u8>,
///     expires: Instant,
/// }
///
/// impl Inbox for TableOfMessages {
///     async fn push(&self, session: &str, message: &[u8], ttl: Duration) -> Result<u64> {
///         let mut table = self.0.lock().unwrap(); // the transaction
///         let (last, rows) = &mut *table;
///         *last += 1;
///         let expires = Instant::now() + ttl;
///         rows.retain(|row| row.expires > Instant::now());
///         rows.push(Row { session: session.into(), position: *last, message: message.into(), expires });
///         // The newest messages of the session stay, as many as an inbox has room for.
///         let (mut messages, mut bytes) = (0, 0);
///         for row in rows.iter_mut().rev().filter(|row| row.session == session) {
///             (messages, bytes) = (messages + 1, bytes + row.message.len());
///             let fits = messages == 1 || (messages <= INBOX_MESSAGES && bytes <= INBOX_BYTES);
///             row.expires = if fits { expires } else { Instant::now() };
///         }
///         Ok(*last)
///     }
///
///     async fn read_after(&self, session: &str, position: u64) -> Result<Vec<(u64, Vec<u8>)>> {
///         let (_, rows) = &*self.0.lock().unwrap();
///         let live = rows.iter().filter(|row| row.session == session && row.expires > Instant::now());
///         Ok(live.filter(|row| row.position > position).map(|row| (row.position, row.message.clone())).collect())
///     }
/// }
///
/// # // In paused time nothing expires too early on a busy machine.
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// mcp_runtime::testing::contract::inbox(TableOfMessages::default).await;
/// # }
/// ```
pub trait Inbox: fmt::Debug + Send + Sync + 'static {
    /// Adds a message to the inbox of a session, and sets the expiry of the whole inbox to `ttl` from now. Returns the
    /// message's position, which is above 0 and above those of all earlier messages of the session, even of those that
    /// have expired. Drops the oldest messages that exceed [`INBOX_MESSAGES`] or [`INBOX_BYTES`], never the new one.
    ///
    /// The session id is a secret.
    fn push(&self, session: &str, message: &[u8], ttl: Duration) -> impl Future<Output = io::Result<u64>> + Send;

    /// The messages at positions above this one, with their positions, in order; 0 reads all. A message is visible only
    /// when all before it are.
    fn read_after(&self, session: &str, position: u64) -> impl Future<Output = io::Result<Vec<(u64, Vec<u8>)>>> + Send;
}

/// The object-safe form of [`Inbox`].
pub(crate) trait DynInbox: fmt::Debug + Send + Sync {
    fn push<'a>(&'a self, session: &'a str, message: &'a [u8], ttl: Duration) -> StoreFuture<'a, u64>;
    fn read_after<'a>(&'a self, session: &'a str, position: u64) -> StoreFuture<'a, Vec<(u64, Vec<u8>)>>;
}

impl<T: Inbox> DynInbox for T {
    fn push<'a>(&'a self, session: &'a str, message: &'a [u8], ttl: Duration) -> StoreFuture<'a, u64> {
        Box::pin(async move { Inbox::push(self, session, message, ttl).await })
    }

    fn read_after<'a>(&'a self, session: &'a str, position: u64) -> StoreFuture<'a, Vec<(u64, Vec<u8>)>> {
        Box::pin(async move { Inbox::read_after(self, session, position).await })
    }
}
