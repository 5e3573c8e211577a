//! The formats of configuration files: one entry is set or removed, and the rest of the text stays as it is.
//!
//! An edit is never trusted: the new text is parsed, and compared with what was asked for. A construct that an editor
//! does not understand is therefore refused, not damaged.

mod json;
mod lines;
mod toml;
pub(super) mod unreadable;
mod yaml;

use serde_json::{Map, Value};

use self::unreadable::Unreadable;

/// The format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON, with comments and trailing commas where there are any.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// Windows editors put it at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Format {
    /// The whole file. An empty file has no entries.
    pub(super) fn parse(self, text: &str) -> Result<Map<String, Value>, Unreadable> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let value = match self {
            Format::Json => json::parse(text)?,
            Format::Toml => toml::parse(text)?,
            Format::Yaml => yaml::parse(text)?,
        };
        match value {
            Value::Object(members) => Ok(members),
            Value::Null => Ok(Map::new()),
            _ => Err(Unreadable::at(1, 1, "expected an object with named members")),
        }
    }

    /// The text with `table.name` set to `entry`.
    pub(super) fn set(
        self,
        text: &str,
        table: &str,
        name: &str,
        entry: &Map<String, Value>,
    ) -> Result<String, Unreadable> {
        let mut wanted = self.parse(text)?;
        entries(&mut wanted, table)?.insert(name.to_owned(), Value::Object(entry.clone()));
        self.edit(text, table, &wanted, |text| match self {
            Format::Json => json::set(text, table, name, entry),
            Format::Toml => toml::set(text, table, name, entry),
            Format::Yaml => yaml::set(text, table, name, entry),
        })
    }

    /// The text without `table.name`.
    pub(super) fn remove(self, text: &str, table: &str, name: &str) -> Result<String, Unreadable> {
        let mut wanted = self.parse(text)?;
        entries(&mut wanted, table)?.shift_remove(name);
        self.edit(text, table, &wanted, |text| match self {
            Format::Json => json::remove(text, table, name),
            Format::Toml => toml::remove(text, table, name),
            Format::Yaml => yaml::remove(text, table, name),
        })
    }

    fn edit(
        self,
        text: &str,
        table: &str,
        wanted: &Map<String, Value>,
        edit: impl FnOnce(&str) -> Result<String, Unreadable>,
    ) -> Result<String, Unreadable> {
        let (mark, body) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(body) => (&text[..BYTE_ORDER_MARK.len_utf8()], body),
            None => ("", text),
        };
        let edited = match self {
            // its editor knows both ends of lines
            Format::Json => edit(body)?,
            Format::Toml | Format::Yaml => lines::restore(body, &edit(&body.replace("\r\n", "\n"))?),
        };
        // in TOML, a table without entries need not be there
        let intact = self.parse(&edited).is_ok_and(|mut found| entries(&mut found, table).is_ok() && found == *wanted);
        if intact {
            return Ok(format!("{mark}{edited}"));
        }
        Err(Unreadable::new("it is written in a way that this editor would damage"))
    }
}

/// The table of entries in a file; it is created if there is none.
fn entries<'a>(file: &'a mut Map<String, Value>, table: &str) -> Result<&'a mut Map<String, Value>, Unreadable> {
    let entries = file.entry(table).or_insert(Value::Null);
    if entries.is_null() {
        *entries = Value::Object(Map::new());
    }
    entries.as_object_mut().ok_or_else(|| Unreadable::new(format!("`{table}` has no named members")))
}
