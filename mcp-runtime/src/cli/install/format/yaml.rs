//! YAML, edited as text at the places where `saphyr-parser` finds keys.
//!
//! Editors that keep comments bring a syntax tree of their own into every server; a parser with positions is enough to
//! find the lines of an entry. Only mappings in block style are edited: a file in flow style (`{a: 1}`) is refused.

use std::fmt::Write;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Value};

use super::unreadable::Unreadable;

/// A value, and where it is. Lines and columns count from 0.
struct Node {
    line: usize,
    column: usize,
    /// Where a scalar or a collection in flow style ends; a block ends where the next one begins.
    end: (usize, usize),
    content: Content,
}

enum Content {
    Scalar(Value),
    List(Vec<Node>),
    Mapping { members: Vec<(Node, Node)>, flow: bool },
}

pub(super) fn parse(text: &str) -> Result<Value, Unreadable> {
    Ok(tree(text)?.map_or(Value::Null, |node| node.value()))
}

pub(super) fn set(text: &str, table: &str, name: &str, entry: &Map<String, Value>) -> Result<String, Unreadable> {
    let mut lines = Lines::new(text);
    let Some(root) = tree(text)? else {
        lines.insert(lines.0.len(), &render_table(table, name, entry, 0));
        return Ok(lines.text());
    };
    let members = root.block()?;
    let Some(at) = members.iter().position(|(key, _)| key.is(table)) else {
        let column = members.first().map_or(0, |(key, _)| key.column);
        lines.insert(lines.0.len(), &render_table(table, name, entry, column));
        return Ok(lines.text());
    };
    let (key, value) = &members[at];
    let end = members.get(at + 1).map_or(lines.0.len(), |(next, _)| next.line);
    match &value.content {
        Content::Scalar(Value::Null) => lines.insert(key.line + 1, &render(name, entry, key.column + 2)),
        Content::Mapping { members, .. } if members.is_empty() => {
            lines.cut(value)?;
            lines.insert(value.line + 1, &render(name, entry, key.column + 2));
        }
        _ => {
            let entries = value.block()?;
            match entries.iter().position(|(key, _)| key.is(name)) {
                Some(found) => {
                    let (from, to) = lines.block(entries, found, end);
                    lines.0.drain(from..to);
                    lines.insert(from, &render(name, entry, entries[found].0.column));
                }
                None => {
                    let (_, to) = lines.block(entries, entries.len() - 1, end);
                    lines.insert(to, &render(name, entry, entries[0].0.column));
                }
            }
        }
    }
    Ok(lines.text())
}

pub(super) fn remove(text: &str, table: &str, name: &str) -> Result<String, Unreadable> {
    let mut lines = Lines::new(text);
    let Some(root) = tree(text)? else { return Ok(text.to_owned()) };
    let members = root.block()?;
    let Some(at) = members.iter().position(|(key, _)| key.is(table)) else { return Ok(text.to_owned()) };
    let (key, value) = &members[at];
    let end = members.get(at + 1).map_or(lines.0.len(), |(next, _)| next.line);
    let entries = value.block()?;
    if let Some(found) = entries.iter().position(|(key, _)| key.is(name)) {
        let (from, to) = lines.block(entries, found, end);
        lines.0.drain(from..to);
        if entries.len() == 1 {
            // nothing after the colon would be null
            let colon = lines.0[key.line].chars().skip(key.end.1).take_while(|letter| *letter != ':').count();
            lines.splice(key.line, key.end.1 + colon + 1, " {}");
        }
    }
    Ok(lines.text())
}

impl Node {
    fn is(&self, name: &str) -> bool {
        matches!(&self.content, Content::Scalar(value) if value.as_str() == Some(name))
    }

    /// The members of a mapping in block style.
    fn block(&self) -> Result<&[(Node, Node)], Unreadable> {
        match &self.content {
            Content::Mapping { members, flow: false } => Ok(members),
            Content::Mapping { .. } => Err(self.unreadable("a mapping in flow style (`{…}`) is not edited")),
            _ => Err(self.unreadable("expected a mapping")),
        }
    }

    fn unreadable(&self, reason: &str) -> Unreadable {
        Unreadable::at(self.line + 1, self.column + 1, reason)
    }

    fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(Node::value).collect(),
            Content::Mapping { members, .. } => {
                let name = |key: &Node| match key.value() {
                    Value::String(name) => name,
                    other => other.to_string(),
                };
                Value::Object(members.iter().map(|(key, value)| (name(key), value.value())).collect())
            }
        }
    }
}

/// The text in lines, each without its end.
struct Lines(Vec<String>);

impl Lines {
    fn new(text: &str) -> Self {
        Lines(text.lines().map(str::to_owned).collect())
    }

    fn text(self) -> String {
        self.0.into_iter().map(|line| line + "\n").collect()
    }

    fn insert(&mut self, at: usize, text: &str) {
        self.0.splice(at..at, text.lines().map(str::to_owned));
    }

    /// The lines of an entry. Blank lines and comments behind it belong to the next, unless they are indented deeper
    /// than its key.
    fn block(&self, entries: &[(Node, Node)], at: usize, end: usize) -> (usize, usize) {
        let key = &entries[at].0;
        let mut to = entries.get(at + 1).map_or(end, |(next, _)| next.line);
        while to > key.line + 1 {
            let line = &self.0[to - 1];
            let indent = line.chars().take_while(|letter| *letter == ' ').count();
            if !(line.trim().is_empty() || (line.trim_start().starts_with('#') && indent <= key.column)) {
                break;
            }
            to -= 1;
        }
        (key.line, to)
    }

    /// Takes an empty mapping (`{}`) out of its line.
    fn cut(&mut self, node: &Node) -> Result<(), Unreadable> {
        let line = &mut self.0[node.line];
        let start = line.char_indices().nth(node.column).map_or(line.len(), |(at, _)| at);
        let end = line[start..].find('}').ok_or_else(|| node.unreadable("a mapping in several lines is not edited"))?;
        *line = format!("{}{}", line[..start].trim_end(), &line[start + end + 1..]);
        Ok(())
    }

    fn splice(&mut self, line: usize, column: usize, text: &str) {
        let line = &mut self.0[line];
        let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
        line.insert_str(at, text);
    }
}

/// The document, if the text has one.
fn tree(text: &str) -> Result<Option<Node>, Unreadable> {
    let mut events = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| Unreadable::at(error.marker().line(), error.marker().col() + 1, error.info()))?;
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) => {}
            event => events.push((event, span)),
        }
    }
    let mut events = events.into_iter();
    let document = match events.next() {
        None => return Ok(None),
        Some((event, span)) => node(event, span, &mut events)?,
    };
    match (events.next(), events.next()) {
        (Some((Event::DocumentEnd, _)), None) => Ok(Some(document)),
        (_, Some((_, span))) => Err(Unreadable::at(span.start.line(), 1, "a second document is not edited")),
        _ => Err(Unreadable::new("the document has no end")),
    }
}

fn node<'a>(
    event: Event<'a>,
    span: Span,
    events: &mut impl Iterator<Item = (Event<'a>, Span)>,
) -> Result<Node, Unreadable> {
    let (line, column) = (span.start.line() - 1, span.start.col());
    let mut end = (span.end.line() - 1, span.end.col());
    let content = match event {
        Event::Scalar(text, style, _, tag) => {
            Content::Scalar(if style == ScalarStyle::Plain && tag.is_none() { plain(&text) } else { text.into() })
        }
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            while let Some((event, span)) = events.next() {
                if event == Event::SequenceEnd {
                    end = (span.end.line() - 1, span.end.col());
                    break;
                }
                items.push(node(event, span, events)?);
            }
            Content::List(items)
        }
        Event::MappingStart(..) => {
            let mut members = Vec::new();
            while let Some((event, span)) = events.next() {
                if event == Event::MappingEnd {
                    end = (span.end.line() - 1, span.end.col());
                    break;
                }
                let key = node(event, span, events)?;
                let (event, span) = events.next().ok_or_else(|| key.unreadable("the key has no value"))?;
                members.push((key, node(event, span, events)?));
            }
            // a mapping in block style begins with its first key, one in flow style with a brace
            Content::Mapping { members, flow: !span.is_empty() }
        }
        Event::Alias(_) => return Err(Unreadable::at(line + 1, column + 1, "an alias (`*name`) is not edited")),
        other => return Err(Unreadable::at(line + 1, column + 1, format!("unexpected {other:?}"))),
    };
    Ok(Node { line, column, end, content })
}

/// A plain scalar in the core schema of YAML 1.2.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return true.into(),
        "false" | "False" | "FALSE" => return false.into(),
        _ => {}
    }
    let number = text.starts_with(|letter: char| letter.is_ascii_digit() || "+-.".contains(letter));
    if number && let Ok(integer) = text.parse::<i64>() {
        return integer.into();
    }
    match text.parse::<f64>() {
        Ok(float) if number && float.is_finite() => float.into(),
        _ => text.into(),
    }
}

fn render_table(table: &str, name: &str, entry: &Map<String, Value>, column: usize) -> String {
    format!("{:column$}{table}:\n{}", "", render(name, entry, column + 2))
}

fn render(name: &str, entry: &Map<String, Value>, column: usize) -> String {
    let mut text = String::new();
    member(&mut text, name, &Value::Object(entry.clone()), column);
    text
}

fn member(text: &mut String, name: &str, value: &Value, column: usize) {
    let _ = write!(text, "{:column$}{}:", "", scalar(&name.into()));
    match value {
        Value::Object(members) if !members.is_empty() => {
            text.push('\n');
            for (name, value) in members {
                member(text, name, value, column + 2);
            }
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            text.push('\n');
            for item in items {
                let _ = writeln!(text, "{:column$}- {}", "", scalar(item));
            }
        }
        // JSON is YAML in flow style
        other => {
            let _ = writeln!(text, " {}", scalar(other));
        }
    }
}

/// A scalar, in quotes if it could be read as something else.
fn scalar(value: &Value) -> String {
    const WORDS: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan"];
    match value {
        Value::String(text)
            if text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/')
                && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter))
                && !WORDS.contains(&text.to_lowercase().as_str()) =>
        {
            text.clone()
        }
        other => other.to_string(),
    }
}
