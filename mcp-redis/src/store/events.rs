//! The event store. A stream is a Redis stream whose ids are the numbers of the events, and a hash beside it, the head,
//! which exists as long as the stream is known: the number after which it is complete, and whether it is closed. The
//! scripts that append and close publish an empty message on the channel of the stream; replicas subscribe to it while
//! they have a reader.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use mcp_runtime::store::{EventStore, EventTail, EventWatch};

use super::{Inner, millis};
use crate::link::{Repeat, Request};
use crate::names::StreamNames;
use crate::script;
use crate::seal::corrupt;

/// An [`EventStore`] in Redis. Each operation is one round trip.
#[derive(Clone)]
pub struct RedisEvents(pub(crate) Arc<Inner>);

/// The head of a stream, `after`, `closed` and `head`, and its entries: ids, and fields with their values.
type Stored = ((Option<u64>, Option<u8>, Option<Vec<u8>>), Vec<(String, Vec<Vec<u8>>)>);

/// What an event is sealed for: its stream and number.
fn place(names: &StreamNames, number: u64) -> Vec<u8> {
    format!("{}/{number}", names.events).into_bytes()
}

impl EventStore for RedisEvents {
    async fn open(&self, stream: &str, head: &str, ttl: Duration) -> io::Result<()> {
        let names = self.0.names.stream(stream);
        let mut open = script::EVENT_TOUCH.key(&names.head);
        let head = self.0.sealer.seal(head.as_bytes().to_vec(), names.head.as_bytes())?;
        open.key(&names.events).arg(millis(ttl)).arg(head);
        self.0.link.run(&Request::Script(open), Repeat::Safe).await
    }

    async fn touch(&self, stream: &str, ttl: Duration) -> io::Result<()> {
        let names = self.0.names.stream(stream);
        let mut touch = script::EVENT_TOUCH.key(&names.head);
        touch.key(&names.events).arg(millis(ttl));
        self.0.link.run(&Request::Script(touch), Repeat::Safe).await
    }

    async fn append(&self, stream: &str, number: u64, event: &[u8], oldest: u64) -> io::Result<()> {
        let names = self.0.names.stream(stream);
        let event = self.0.sealer.seal(event.to_vec(), &place(&names, number))?;
        let mut append = script::EVENT_APPEND.key(&names.head);
        append.key(&names.events).arg(number).arg(event).arg(oldest).arg(names.channel);
        self.0.link.run(&Request::Script(append), Repeat::Safe).await
    }

    async fn close(&self, stream: &str) -> io::Result<()> {
        let names = self.0.names.stream(stream);
        let mut close = script::EVENT_CLOSE.key(&names.head);
        close.arg(names.channel);
        self.0.link.run(&Request::Script(close), Repeat::Safe).await
    }

    async fn read_after(&self, stream: &str, number: u64) -> io::Result<Option<EventTail>> {
        let names = self.0.names.stream(stream);
        let mut both = redis::pipe();
        both.atomic();
        both.cmd("HMGET").arg(&names.head).arg("after").arg("closed").arg("head");
        both.cmd("XRANGE").arg(&names.events).arg(format!("({number}-0")).arg("+");
        let ((after, closed, head), entries): Stored =
            self.0.link.run(&Request::Transaction(both), Repeat::Safe).await?;
        let Some(after) = after.filter(|after| number >= *after) else { return Ok(None) };
        debug_assert!(after <= number);
        let mut events = Vec::with_capacity(entries.len());
        for (id, mut fields) in entries {
            let number = id.split('-').next().and_then(|number| number.parse().ok());
            let (Some(number), Some(event)) = (number, fields.pop()) else {
                return Err(corrupt("the id of an event is not a number"));
            };
            events.push((number, self.0.sealer.open(event, &place(&names, number))?));
        }
        let head = head.map(|head| self.0.sealer.open(head, names.head.as_bytes())).transpose()?;
        let head = head.map(String::from_utf8).transpose().map_err(|_| corrupt("the head of a stream is not text"))?;
        Ok(Some(EventTail::new(events, closed.is_some()).with_head(head)))
    }

    async fn remove(&self, stream: &str) -> io::Result<()> {
        let names = self.0.names.stream(stream);
        let mut remove = redis::cmd("DEL");
        remove.arg(names.head).arg(names.events);
        self.0.link.run(&Request::Command(remove), Repeat::Safe).await
    }

    fn watch(&self, stream: &str) -> EventWatch {
        self.0.link.start();
        self.0.hints.watch(&self.0.names.stream(stream).channel)
    }

    async fn wake(&self, stream: &str) -> io::Result<()> {
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(self.0.names.stream(stream).channel).arg("");
        self.0.link.run(&Request::Command(publish), Repeat::Safe).await
    }
}

impl fmt::Debug for RedisEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisEvents").finish_non_exhaustive()
    }
}
