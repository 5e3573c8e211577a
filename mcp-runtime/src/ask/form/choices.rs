//! The choices of an enum, and what people read for them.

use serde_json::{Map, Value, json};

#[derive(Debug, Clone)]
pub(super) struct Choices {
    pub(super) values: Vec<String>,
    names: Names,
}

#[derive(Debug, Clone)]
enum Names {
    /// The values are what people read.
    None,
    Titles(Vec<String>),
    /// As `enumNames`, which a type asked for by name. Deprecated, but all that 2025-06-18 has.
    Legacy(Vec<String>),
}

impl Choices {
    /// Whether a schema is that of an enum, of whichever kind.
    pub(super) fn are_in(schema: &Value) -> bool {
        ["enum", "oneOf", "const"].iter().any(|key| schema.get(key).is_some())
    }

    /// Reads them. The variants of an enum are one list, or one by one where they have a title or
    /// docs of their own.
    pub(super) fn read(schema: &Value) -> Result<Choices, String> {
        let each = match schema.get("oneOf").and_then(Value::as_array) {
            Some(variants) => variants.iter().map(listed).collect::<Result<Vec<_>, _>>()?.concat(),
            None => listed(schema)?,
        };
        let (values, titles): (Vec<String>, Vec<Option<String>>) = each.into_iter().unzip();
        if let Some(Value::Array(names)) = schema.get("enumNames") {
            let names: Vec<String> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            if names.len() != values.len() {
                return Err(format!("has {} choices, but {} texts in `enumNames`", values.len(), names.len()));
            }
            return Ok(Choices { values, names: Names::Legacy(names) });
        }
        if titles.iter().all(Option::is_none) {
            return Ok(Choices { values, names: Names::None });
        }
        let titles = titles.into_iter().zip(&values).map(|(title, value)| title.unwrap_or_else(|| value.clone()));
        Ok(Choices { names: Names::Titles(titles.collect()), values })
    }

    /// The keywords of a field with one of them.
    pub(super) fn single(&self, old: bool) -> Map<String, Value> {
        let values = &self.values;
        let schema = match &self.names {
            Names::None => json!({"type": "string", "enum": values}),
            Names::Titles(titles) if !old => json!({"type": "string", "oneOf": self.titled(titles)}),
            Names::Titles(names) | Names::Legacy(names) => {
                json!({"type": "string", "enum": values, "enumNames": names})
            }
        };
        match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        }
    }

    /// The items of a field with several of them, which is younger than titles.
    pub(super) fn items(&self) -> Value {
        match &self.names {
            Names::None => json!({"type": "string", "enum": self.values}),
            Names::Titles(titles) | Names::Legacy(titles) => json!({"anyOf": self.titled(titles)}),
        }
    }

    fn titled(&self, titles: &[String]) -> Vec<Value> {
        self.values.iter().zip(titles).map(|(value, title)| json!({"const": value, "title": title})).collect()
    }
}

/// The values of a list of variants, or that of one, with its title.
fn listed(schema: &Value) -> Result<Vec<(String, Option<String>)>, String> {
    let value = |value: &Value| match (value, schema.get("properties")) {
        (Value::String(value), None) => Ok(value.clone()),
        _ => Err("is an enum whose values are not texts".to_owned()),
    };
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => Ok(vec![(value(only)?, title(schema))]),
        (None, Some(Value::Array(values))) => values.iter().map(|each| Ok((value(each)?, None))).collect(),
        _ => Err("is an enum with data in its variants".into()),
    }
}

/// The title of a variant, or the first paragraph of its docs, on one line.
fn title(variant: &Value) -> Option<String> {
    let docs = || variant.get("description")?.as_str()?.split("\n\n").next();
    let title = variant.get("title").and_then(Value::as_str).or_else(docs)?;
    Some(title.split_whitespace().collect::<Vec<_>>().join(" "))
}
