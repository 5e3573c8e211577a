//! The ids of streams and of their events. A client sends an event's id back as `Last-Event-ID`.

use std::fmt;
use std::str::FromStr;

/// What a stream carries. It decides which replica writes the stream after its client has reconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// The messages of one request. Only the replica that runs the call writes it.
    Request,
    /// The messages of a session that belong to no request. Any replica can go on with it.
    Session,
}

/// The id of a stream, like `r7`: unique in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamId {
    pub(crate) kind: StreamKind,
    pub(crate) number: u64,
}

/// The id of an event, like `r7_3`: the third event of the stream `r7`. 0 is before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) stream: StreamId,
    pub(crate) event: u64,
}

/// An id this server never makes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            StreamKind::Request => 'r',
            StreamKind::Session => 's',
        };
        write!(f, "{kind}{}", self.number)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.stream, self.event)
    }
}

impl FromStr for StreamId {
    type Err = Malformed;

    fn from_str(id: &str) -> Result<Self, Malformed> {
        let (kind, number) = match (id.strip_prefix('r'), id.strip_prefix('s')) {
            (Some(number), _) => (StreamKind::Request, number),
            (_, Some(number)) => (StreamKind::Session, number),
            _ => return Err(Malformed),
        };
        Ok(StreamId { kind, number: number.parse().map_err(|_| Malformed)? })
    }
}

impl FromStr for EventId {
    type Err = Malformed;

    fn from_str(id: &str) -> Result<Self, Malformed> {
        let (stream, event) = id.split_once('_').ok_or(Malformed)?;
        Ok(EventId { stream: stream.parse()?, event: event.parse().map_err(|_| Malformed)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for (kind, text) in [(StreamKind::Request, "r18446744073709551615_3"), (StreamKind::Session, "s7_0")] {
            let id: EventId = text.parse().unwrap();
            assert_eq!((id.stream.kind, id.to_string().as_str()), (kind, text));
        }
        for malformed in
            ["", "r", "r1", "1_1", "x1_1", "r_1", "r1_", "rx_1", "r1_x", "r1_-1", "r18446744073709551616_1"]
        {
            assert_eq!(malformed.parse::<EventId>(), Err(Malformed), "{malformed}");
        }
    }
}
