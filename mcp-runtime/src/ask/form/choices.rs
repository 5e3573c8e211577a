//! The choices of an enum, with the titles that users read.

use serde_json::{Map, Value, json};

#[derive(Debug, Clone)]
pub(super) struct Choices {
    pub(super) values: Vec<String>,
    names: Names,
}

#[derive(Debug, Clone)]
enum Names {
    /// Users read the values.
    None,
    Titles(Vec<String>),
    /// `enumNames`, which the type's schema sets explicitly. Deprecated, but all that 2025-06-18 has.
    Legacy(Vec<String>),
}

impl Choices {
    /// Whether a schema is that of an enum, of any kind.
    pub(super) fn are_in(schema: &Value) -> bool {
        ["enum", "oneOf", "const"].iter().any(|key| schema.get(key).is_some())
    }

    /// Reads the choices. Variants are listed together, or one by one where they have a title or a doc comment.
    pub(super) fn read(schema: &Value) -> Result<Choices, String> {
        let each = match schema.get("oneOf").and_then(Value::as_array) {
            Some(variants) => variants.iter().map(listed).collect::<Result<Vec<_>, _>>()?.concat(),
            None => listed(schema)?,
        };
        let (values, titles): (Vec<String>, Vec<Option<String>>) = each.into_iter().unzip();
        if let Some(Value::Array(names)) = schema.get("enumNames") {
            let names: Vec<String> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            if names.len() != values.len() {
                return Err(format!("has {} choices, but {} names in `enumNames`", values.len(), names.len()));
            }
            return Ok(Choices { values, names: Names::Legacy(names) });
        }
        if titles.iter().all(Option::is_none) {
            return Ok(Choices { values, names: Names::None });
        }
        let titles = titles.into_iter().zip(&values).map(|(title, value)| title.unwrap_or_else(|| value.clone()));
        Ok(Choices { names: Names::Titles(titles.collect()), values })
    }

    /// The keywords of a single choice.
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

    /// The items of a multiple choice. Every revision that has them has titles as well.
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

/// The values of a list of variants, or the value of one variant with its title.
fn listed(schema: &Value) -> Result<Vec<(String, Option<String>)>, String> {
    let value = |value: &Value| match (value, schema.get("properties")) {
        (Value::String(value), None) => Ok(value.clone()),
        _ => Err("is an enum whose values are not strings".to_owned()),
    };
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => Ok(vec![(value(only)?, title(schema))]),
        (None, Some(Value::Array(values))) => values.iter().map(|each| Ok((value(each)?, None))).collect(),
        _ => Err("is an enum with data in its variants".into()),
    }
}

/// The title of a variant, or the first paragraph of its doc comment, on one line.
fn title(variant: &Value) -> Option<String> {
    let docs = || variant.get("description")?.as_str()?.split("\n\n").next();
    let title = variant.get("title").and_then(Value::as_str).or_else(docs)?;
    Some(title.split_whitespace().collect::<Vec<_>>().join(" "))
}
