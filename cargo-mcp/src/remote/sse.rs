//! Server-sent events: from lines to events.
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>

use std::io::{self, BufRead};
use std::time::Duration;

/// An event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

/// A stream of events.
#[derive(Debug)]
pub(super) struct Events<R> {
    lines: R,
    /// The id of the last event that had one.
    pub(super) last_id: Option<String>,
    /// How long to wait before the stream is opened again.
    pub(super) retry: Option<Duration>,
}

impl<R: BufRead> Events<R> {
    pub(super) fn new(lines: R) -> Self {
        Events { lines, last_id: None, retry: None }
    }

    /// The next event that has data; `None` at the end of the stream.
    pub(super) fn next(&mut self) -> io::Result<Option<Event>> {
        let mut event = Event::default();
        let mut has_data = false;
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let text = line.trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}');
            if text.is_empty() {
                if has_data && !event.data.is_empty() {
                    return Ok(Some(event));
                }
                (event, has_data) = (Event::default(), false);
                continue;
            }
            let (field, value) = text.split_once(':').unwrap_or((text, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" => {
                    if has_data {
                        event.data.push('\n');
                    }
                    event.data.push_str(value);
                    has_data = true;
                }
                "event" => value.clone_into(&mut event.name),
                "id" => self.last_id = Some(value.to_owned()),
                "retry" => self.retry = value.parse().ok().map(Duration::from_millis),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_the_standard_has_them() {
        let text =
            ": a comment\nid: 7\nretry: 20\ndata:\n\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata: cut";
        let mut events = Events::new(text.as_bytes());
        let event = events.next().unwrap().unwrap();
        assert_eq!(event, Event { name: "message".to_owned(), data: "{\"a\":\n1}".to_owned() });
        assert_eq!(events.last_id.as_deref(), Some("7"));
        assert_eq!(events.retry, Some(Duration::from_millis(20)));
        assert_eq!(events.next().unwrap(), None);
    }
}
