//! What kinds of response a client takes, and so which one it gets.
//!
//! The specification wants clients to take both JSON and streams of events. Some take one: they get
//! that one. What a call tells before its answer may be left out; the answer may not.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>

use http::HeaderMap;
use http::header::ACCEPT;

const JSON: (&str, &str) = ("application", "json");
const EVENTS: (&str, &str) = ("text", "event-stream");

/// What an answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON; a stream if something is told before the answer.
    Either,
    /// JSON only: nothing is told before.
    Json,
    /// A stream only, of one event if nothing is told before.
    Events,
}

impl Form {
    /// The form a client takes; none if it takes neither. Whoever says nothing takes any.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        match (takes(headers, JSON), takes(headers, EVENTS)) {
            (true, true) => Some(Form::Either),
            (true, false) => Some(Form::Json),
            (false, true) => Some(Form::Events),
            (false, false) => None,
        }
    }

    /// Whether something can be told before the answer.
    pub(super) fn streams(self) -> bool {
        self != Form::Json
    }
}

/// How closely a range names a kind; the closest one decides.
/// <https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1>
fn closeness(range: &str, (kind, subkind): (&str, &str)) -> Option<u8> {
    let (a, b) = range.split_once('/')?;
    match (a, b) {
        ("*", "*") => Some(1),
        (a, "*") if a.eq_ignore_ascii_case(kind) => Some(2),
        (a, b) if a.eq_ignore_ascii_case(kind) && b.eq_ignore_ascii_case(subkind) => Some(3),
        _ => None,
    }
}

fn takes(headers: &HeaderMap, kind: (&str, &str)) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = values.flat_map(|value| value.split(',')).peekable();
    if ranges.peek().is_none() {
        return true;
    }
    let judged = ranges.filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let closeness = closeness(parts.next()?, kind)?;
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        Some((closeness, weight.is_none_or(|weight| weight.parse() != Ok(0.0))))
    });
    judged.max().is_some_and(|(_, taken)| taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_closest_decides() {
        let of = |accept: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(ACCEPT, value.parse().unwrap());
            }
            Form::of(&headers)
        };
        assert_eq!(of(&[]), Some(Form::Either));
        for either in ["*/*", "application/json, text/event-stream", "text/*;q=0.1, Application/JSON"] {
            assert_eq!(of(&[either]), Some(Form::Either), "{either}");
        }
        assert_eq!(of(&["application/json", "text/event-stream"]), Some(Form::Either));
        for json in ["application/json", "application/*", "*/*, text/event-stream;q=0", "text/html, application/json"] {
            assert_eq!(of(&[json]), Some(Form::Json), "{json}");
        }
        for events in ["text/event-stream", "text/*", "application/json; q=0.0, */*;q=0.5"] {
            assert_eq!(of(&[events]), Some(Form::Events), "{events}");
        }
        for neither in ["text/html", "", "json", "*", "*/json", "*/*;q=0"] {
            assert_eq!(of(&[neither]), None, "{neither}");
        }
    }
}
