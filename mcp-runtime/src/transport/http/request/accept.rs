//! What kinds of response a client takes, and so which one it gets.
//!
//! The specification wants clients to take both JSON and streams of events. Some take one: they get
//! that one. What a call tells before its answer may be left out; the answer may not.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>

use http::header::ACCEPT;

use super::headers::{Field, Headers};

/// What nearly every client sends, so that it need not be taken apart.
const USUAL: &str = "application/json, text/event-stream";

/// What an answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseFormat {
    /// JSON; a stream if something is told before the answer.
    Either,
    /// JSON only: nothing is told before.
    Json,
    /// A stream only, of one event if nothing is told before.
    Events,
}

impl ResponseFormat {
    /// The form a client takes; none if it takes neither. Whoever says nothing takes any.
    pub(crate) fn of(headers: &Headers<'_>) -> Option<Self> {
        match headers.accept {
            Field::Absent => return Some(ResponseFormat::Either),
            Field::Once(value) if value == USUAL => return Some(ResponseFormat::Either),
            _ => {}
        }
        let (mut json, mut events) = (Judged::default(), Judged::default());
        let ranges = headers.every(ACCEPT).flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        for (range, taken) in ranges.map(weighed) {
            // How closely a range names a kind; the closest one decides.
            // <https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1>
            match range.len() {
                16 if range.eq_ignore_ascii_case(b"application/json") => json.judge(3, taken),
                17 if range.eq_ignore_ascii_case(b"text/event-stream") => events.judge(3, taken),
                13 if range.eq_ignore_ascii_case(b"application/*") => json.judge(2, taken),
                6 if range.eq_ignore_ascii_case(b"text/*") => events.judge(2, taken),
                3 if range == b"*/*" => {
                    json.judge(1, taken);
                    events.judge(1, taken);
                }
                _ => {}
            }
        }
        match (json.taken, events.taken) {
            (true, true) => Some(ResponseFormat::Either),
            (true, false) => Some(ResponseFormat::Json),
            (false, true) => Some(ResponseFormat::Events),
            (false, false) => None,
        }
    }

    /// Whether something can be told before the answer.
    pub(crate) fn streams(self) -> bool {
        self != ResponseFormat::Json
    }
}

/// Whether a kind is taken, by the range that named it closest so far; of two as close, by who takes it.
#[derive(Default)]
struct Judged {
    closeness: u8,
    taken: bool,
}

impl Judged {
    fn judge(&mut self, closeness: u8, taken: bool) {
        if (closeness, taken) > (self.closeness, self.taken) {
            (self.closeness, self.taken) = (closeness, taken);
        }
    }
}

/// A range without its parameters, and whether its weight is more than nothing.
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
    fn what_is_named_closest_decides() {
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
