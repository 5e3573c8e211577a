//! The framing of server-sent events.
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html>

use std::fmt;
use std::io::Write as _;

/// The default type of an event, spelled out: clients of 2024-11-05 look for it.
pub(crate) const MESSAGE: &str = "event: message\n";

/// The messages in a buffer, each a line.
pub(crate) fn messages(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Appends an event. `fields` are those before its data, each a line of its own.
pub(crate) fn write_event(out: &mut Vec<u8>, fields: fmt::Arguments<'_>, message: &[u8]) {
    // Writing to a `Vec` does not fail.
    let _ = out.write_fmt(fields);
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}

/// An event for each message, with nothing but its data.
pub(crate) fn events(lines: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(lines.len() + 16);
    messages(lines).for_each(|message| write_event(&mut out, format_args!(""), message));
    out
}

/// An event for each message, with its type.
pub(crate) fn typed_events(lines: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(lines.len() + 32);
    messages(lines).for_each(|message| write_event(&mut out, format_args!("{MESSAGE}"), message));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_an_event() {
        assert_eq!(events(b""), b"");
        assert_eq!(events(b"one\n\ntwo\n"), b"data: one\n\ndata: two\n\n");
        assert_eq!(events(b"no newline"), b"data: no newline\n\n");
        assert_eq!(typed_events(b"one\ntwo\n"), b"event: message\ndata: one\n\nevent: message\ndata: two\n\n");
    }

    #[test]
    fn fields_precede_the_data() {
        let mut out = Vec::new();
        write_event(&mut out, format_args!("id: {}\n{MESSAGE}", 7), b"one");
        write_event(&mut out, format_args!("id: 8\nretry: 500\n"), b"");
        assert_eq!(out, b"id: 7\nevent: message\ndata: one\n\nid: 8\nretry: 500\ndata: \n\n");
    }
}
