//! TOML, edited in `toml_edit`'s document.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, TomlError};

use super::unreadable::Unreadable;

fn document(text: &str) -> Result<DocumentMut, Unreadable> {
    text.parse().map_err(|error: TomlError| {
        let reason = error.message().trim_end().replace('\n', "; ");
        match error.span().and_then(|span| text.get(..span.start)) {
            Some(before) => {
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
                Unreadable::at(line, column, reason)
            }
            None => Unreadable::new(reason),
        }
    })
}

pub(super) fn parse(text: &str) -> Result<Value, Unreadable> {
    Ok(read_table(document(text)?.as_table()))
}

pub(super) fn set(text: &str, table: &str, name: &str, entry: &Map<String, Value>) -> Result<String, Unreadable> {
    let mut document = document(text)?;
    let first = document.is_empty() && text.trim().is_empty();
    let entries = document.entry(table).or_insert_with(|| {
        let mut entries = Table::new();
        entries.set_implicit(true);
        Item::Table(entries)
    });
    let in_line = entries.is_value();
    let entries = entries.as_table_like_mut().ok_or_else(|| Unreadable::new(format!("`{table}` is not a table")))?;
    match entries.get_mut(name) {
        Some(item) => match item.as_table_like_mut() {
            Some(existing) => reconcile(existing, entry),
            None => *item = toml_edit::value(write_inline(entry)),
        },
        None if in_line => {
            entries.insert(name, toml_edit::value(write_inline(entry)));
        }
        None => {
            let mut fresh = Table::new();
            fresh.decor_mut().set_prefix(if first { "" } else { "\n" });
            reconcile(&mut fresh, entry);
            entries.insert(name, Item::Table(fresh));
        }
    }
    Ok(document.to_string())
}

pub(super) fn remove(text: &str, table: &str, name: &str) -> Result<String, Unreadable> {
    let mut document = document(text)?;
    if let Some(entries) = document.get_mut(table).and_then(Item::as_table_like_mut) {
        entries.remove(name);
    }
    Ok(document.to_string())
}

/// Makes a table equal to `wanted`. Members that are equal already keep their text.
fn reconcile(table: &mut dyn TableLike, wanted: &Map<String, Value>) {
    let unwanted: Vec<String> =
        table.iter().map(|(name, _)| name.to_owned()).filter(|name| !wanted.contains_key(name)).collect();
    for name in unwanted {
        table.remove(&name);
    }
    for (name, value) in wanted {
        // TOML has no null
        let Some(written) = write(value) else { continue };
        match table.get_mut(name) {
            Some(item) if read(item) == *value => {}
            Some(item) => match (item.as_table_like_mut(), value) {
                (Some(inner), Value::Object(wanted)) => reconcile(inner, wanted),
                _ => replace(item, written),
            },
            None => {
                table.insert(name, toml_edit::value(written));
            }
        }
    }
}

/// Replaces a value, and keeps the comment behind it.
fn replace(item: &mut Item, mut written: toml_edit::Value) {
    if let Some(old) = item.as_value() {
        *written.decor_mut() = old.decor().clone();
    }
    *item = toml_edit::value(written);
}

fn write(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.into(),
        Value::Array(items) => items.iter().filter_map(write).collect::<Array>().into(),
        Value::Object(members) => write_inline(members).into(),
    })
}

fn write_inline(members: &Map<String, Value>) -> InlineTable {
    members.iter().filter_map(|(name, value)| Some((name.clone(), write(value)?))).collect()
}

fn read(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => read_value(value),
        Item::Table(table) => read_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| read_table(table)).collect(),
    }
}

fn read_table(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(name, item)| (name.to_owned(), read(item))).collect())
}

fn read_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(read_value).collect(),
        toml_edit::Value::InlineTable(table) => read_table(table),
    }
}
