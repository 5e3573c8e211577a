//! Content negotiation: the formats a client accepts, by its `Accept` header.
//!
//! The specification wants clients to accept both JSON and streams of events. A client that accepts only one
//! gets that one. To a client without streams, the notifications of a call are not sent; its answer always is.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>

use http::header::ACCEPT;

use super::headers::{Field, Headers};

/// The value nearly every client sends, which need not be parsed.
const USUAL: &str = "application/json, text/event-stream";

/// The formats of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseFormat {
    /// JSON, or a stream if notifications precede the answer.
    Either,
    /// JSON only: notifications are dropped.
    Json,
    /// A stream only; without notifications it has one event.
    Events,
}

impl ResponseFormat {
    /// The format a client accepts; `None` if it accepts neither. Without the header it accepts any.
    pub(crate) fn of(headers: &Headers<'_>) -> Option<Self> {
        match headers.accept {
            Field::Absent => return Some(ResponseFormat::Either),
            Field::Once(value) if value == USUAL => return Some(ResponseFormat::Either),
            _ => {}
        }
        let (mut json, mut events) = (Preference::default(), Preference::default());
        let ranges = headers.every(ACCEPT).flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        for (range, accepted) in ranges.map(weighed) {
            // The most specific range that matches a format decides.
            // <https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1>
            match range.len() {
                16 if range.eq_ignore_ascii_case(b"application/json") => json.update(3, accepted),
                17 if range.eq_ignore_ascii_case(b"text/event-stream") => events.update(3, accepted),
                13 if range.eq_ignore_ascii_case(b"application/*") => json.update(2, accepted),
                6 if range.eq_ignore_ascii_case(b"text/*") => events.update(2, accepted),
                3 if range == b"*/*" => {
                    json.update(1, accepted);
                    events.update(1, accepted);
                }
                _ => {}
            }
        }
        match (json.accepted, events.accepted) {
            (true, true) => Some(ResponseFormat::Either),
            (true, false) => Some(ResponseFormat::Json),
            (false, true) => Some(ResponseFormat::Events),
            (false, false) => None,
        }
    }

    /// Whether notifications can precede the answer.
    pub(crate) fn streams(self) -> bool {
        self != ResponseFormat::Json
    }
}

/// Whether a format is accepted, by the most specific range so far. Of two equally specific ranges, the one
/// that accepts it counts.
#[derive(Default)]
struct Preference {
    specificity: u8,
    accepted: bool,
}

impl Preference {
    fn update(&mut self, specificity: u8, accepted: bool) {
        if (specificity, accepted) > (self.specificity, self.accepted) {
            (self.specificity, self.accepted) = (specificity, accepted);
        }
    }
}

/// A media range without its parameters, and whether its weight is above zero.
fn weighed(range: &[u8]) -> (&[u8], bool) {
    let Some(end) = range.iter().position(|byte| *byte == b';') else { return (range.trim_ascii(), true) };
    let mut parameters = range[end + 1..].split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let weight = parameters.find_map(|parameter| parameter.strip_prefix(b"q=").or(parameter.strip_prefix(b"Q=")));
    let weight = weight.and_then(|weight| std::str::from_utf8(weight).ok()).map(str::parse);
    (range[..end].trim_ascii(), weight != Some(Ok(0.0)))
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[test]
    fn most_specific_range_decides() {
        let of = |accept: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(ACCEPT, value.parse().unwrap());
            }
            ResponseFormat::of(&Headers::of(&headers))
        };
        assert_eq!(of(&[]), Some(ResponseFormat::Either));
        for either in ["*/*", "application/json, text/event-stream", "text/*;q=0.1, Application/JSON"] {
            assert_eq!(of(&[either]), Some(ResponseFormat::Either), "{either}");
        }
        assert_eq!(of(&["application/json", "text/event-stream"]), Some(ResponseFormat::Either));
        for json in ["application/json", "application/*", "*/*, text/event-stream;q=0", "text/html, application/json"] {
            assert_eq!(of(&[json]), Some(ResponseFormat::Json), "{json}");
        }
        for events in ["text/event-stream", "text/*", "application/json; q=0.0, */*;q=0.5"] {
            assert_eq!(of(&[events]), Some(ResponseFormat::Events), "{events}");
        }
        for neither in ["text/html", "", "json", "*", "*/json", "*/*;q=0"] {
            assert_eq!(of(&[neither]), None, "{neither}");
        }
    }
}
