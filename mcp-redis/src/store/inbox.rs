//! The inbox of a session: a Redis stream of messages whose ids are times, and the number of their bytes beside it.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use mcp_runtime::store::{INBOX_BYTES, INBOX_MESSAGES, Inbox};

use super::{Inner, millis};
use crate::link::{Repeat, Request};
use crate::script;
use crate::seal::corrupt;

/// An [`Inbox`] in Redis. Each operation is one round trip.
#[derive(Clone)]
pub struct RedisInbox(pub(crate) Arc<Inner>);

/// The bits of a position that tell messages of one millisecond apart.
const SEQUENCE_BITS: u32 = 20;

/// The position of the message with an id of Redis, `milliseconds-sequence`.
fn position(id: &str) -> io::Result<u64> {
    let unusable = || corrupt("the id of a message is not a time");
    let (time, sequence) = id.split_once('-').ok_or_else(unusable)?;
    let (time, sequence) = (time.parse::<u64>().ok(), sequence.parse::<u64>().ok());
    let time = time.filter(|time| *time < 1 << (u64::BITS - SEQUENCE_BITS)).ok_or_else(unusable)?;
    let sequence = sequence.filter(|sequence| *sequence < 1 << SEQUENCE_BITS).ok_or_else(unusable)?;
    Ok(time << SEQUENCE_BITS | sequence)
}

/// The id of the message at a position.
fn id(position: u64) -> String {
    format!("{}-{}", position >> SEQUENCE_BITS, position & ((1 << SEQUENCE_BITS) - 1))
}

impl Inbox for RedisInbox {
    async fn push(&self, session: &str, message: &[u8], ttl: Duration) -> io::Result<u64> {
        let names = self.0.names.inbox(session);
        let sealed = self.0.sealer.seal(message.to_vec(), names.messages.as_bytes())?;
        let mut push = script::INBOX_PUSH.key(&names.messages);
        push.key(&names.bytes).arg(sealed).arg(message.len()).arg(millis(ttl)).arg(INBOX_MESSAGES).arg(INBOX_BYTES);
        // A message that is there twice has no other effect than one.
        let id: String = self.0.link.run(&Request::Script(push), Repeat::Safe).await?;
        position(&id)
    }

    async fn read_after(&self, session: &str, after: u64) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let key = self.0.names.inbox(session).messages;
        let mut read = redis::cmd("XRANGE");
        read.arg(&key).arg(format!("({}", id(after))).arg("+");
        let entries: Vec<(String, Vec<Vec<u8>>)> = self.0.link.run(&Request::Command(read), Repeat::Safe).await?;
        let message = |(id, fields): (String, Vec<Vec<u8>>)| {
            let message = fields.into_iter().nth(1).ok_or_else(|| corrupt("a message is missing"))?;
            Ok((position(&id)?, self.0.sealer.open(message, key.as_bytes())?))
        };
        entries.into_iter().map(message).collect()
    }
}

impl fmt::Debug for RedisInbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisInbox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_ids_in_the_same_order() {
        let ids = ["0-1", "1-0", "1763391000000-0", "1763391000000-7", "1763391000001-0"];
        let positions: Vec<_> = ids.iter().map(|id| position(id).unwrap()).collect();
        assert!(positions.is_sorted());
        assert_eq!(positions.into_iter().map(id).collect::<Vec<_>>(), ids);
        for wrong in ["", "1", "a-1", "1-a", "99999999999999999-0", "1-1048576"] {
            assert!(position(wrong).is_err(), "{wrong}");
        }
    }
}
