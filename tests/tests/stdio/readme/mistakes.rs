//! The tables under "Mistakes" quote messages as the sources have them.

use super::errors::{occurs, sources};
use super::{Page, book};

/// The first column of the tables under "Mistakes".
fn seen(page: &Page) -> impl Iterator<Item = &str> {
    let mistakes = page.text.split_once("\n## Mistakes").map_or("", |(_, mistakes)| mistakes);
    let section = mistakes.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.filter_map(|row| row.split(" | ").next()).map(|cell| cell.trim_start_matches("| "))
}

/// What a cell has in code spans: between backticks, one or two at each end.
fn quoted(cell: &str) -> Vec<&str> {
    let mut spans = Vec::new();
    let mut rest = cell;
    while let Some(begin) = rest.find('`') {
        let fence = if rest[begin..].starts_with("``") { "``" } else { "`" };
        let after = &rest[begin + fence.len()..];
        let Some(end) = after.find(fence) else { break };
        // a space before the fence keeps a backtick of the message apart from it
        spans.push(after[..end].trim());
        rest = &after[end + fence.len()..];
    }
    spans
}

/// Whether a code span is a message, and not a name or a number: it has several words.
fn is_message(span: &str) -> bool {
    span.split_whitespace().count() > 3
}

#[test]
fn quoted_messages_are_in_the_sources() {
    let sources = sources();
    let (mut messages, mut lost) = (0, Vec::new());
    for page in book() {
        for message in seen(&page).flat_map(quoted).filter(|span| is_message(span)) {
            messages += 1;
            if !sources.iter().any(|source| occurs(message, source)) {
                lost.push(format!("{}: {message}", page.path));
            }
        }
    }
    assert!(lost.is_empty(), "no source says: {lost:#?}");
    assert!(messages >= 10, "only {messages} messages are quoted in tables");
}

#[test]
fn code_spans_are_found() {
    let cell = "``two asks have the key `…`; give each its own`` or `-32021`";
    assert_eq!(quoted(cell), ["two asks have the key `…`; give each its own", "-32021"]);
    assert_eq!(quoted("``asked inside of `ctx.once` ``"), ["asked inside of `ctx.once`"]);
}
