//! One field of a form: how it is read from a schema and written for a revision.

use serde_json::{Map, Number, Value, json};

use super::choices::Choices;
use crate::protocol::Revision;
use crate::schema::format::Format;
use crate::schema::instance::Instance;
use crate::schema::validator::{Depth, Validator};

#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) required: bool,
    title: Option<String>,
    description: Option<String>,
    default: Option<Value>,
    pub(super) kind: FieldKind,
}

/// What a field asks for: the `PrimitiveSchemaDefinition` of the specification.
#[derive(Debug, Clone)]
pub(super) enum FieldKind {
    Text { size: Size, format: Option<Format> },
    Number { integer: bool, minimum: Option<Number>, maximum: Option<Number> },
    Boolean,
    One(Choices),
    Many { choices: Choices, size: Size },
}

/// How long a text or a list may be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

impl Field {
    /// Reads a property. The error completes the sentence "the field …".
    pub(super) fn read(name: &str, required: bool, schema: &Value) -> Result<Field, String> {
        let kind = FieldKind::read(schema)?;
        // A default that the field would reject does not help the user.
        let default = schema.get("default").filter(|value| fits(schema, value)).cloned();
        let text = |key| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        let (title, description) = (text("title"), text("description"));
        Ok(Field { name: name.to_owned(), required, title, description, default, kind })
    }

    /// The property's schema for `revision`.
    pub(super) fn schema(&self, revision: Revision) -> Result<Value, String> {
        let old = !revision.has_rich_forms();
        if old && matches!(self.kind, FieldKind::Many { .. }) {
            let name = &self.name;
            return Err(format!("revision {revision} cannot ask for several choices, as the field `{name}` does"));
        }
        let mut schema = Map::new();
        self.kind.write(&mut schema, old);
        schema.extend(self.title.iter().map(|text| ("title".to_owned(), json!(text))));
        schema.extend(self.description.iter().map(|text| ("description".to_owned(), json!(text))));
        // In 2025-06-18, only booleans have one.
        let default = self.default.iter().filter(|_| !old || matches!(self.kind, FieldKind::Boolean));
        schema.extend(default.map(|value| ("default".to_owned(), value.clone())));
        Ok(schema.into())
    }
}

fn fits(schema: &Value, value: &Value) -> bool {
    let validator = Validator::new(schema);
    validator.is_ok_and(|validator| validator.accepts(Validator::ROOT, &Instance::of(value), Depth::All))
}

impl FieldKind {
    fn read(schema: &Value) -> Result<FieldKind, String> {
        match schema.get("type").and_then(Value::as_str) {
            Some("boolean") => Ok(FieldKind::Boolean),
            Some("array") => Self::read_list(schema),
            Some("object") if schema.get("properties").is_some() => {
                Err("is a struct, and a form is flat: give each of its parts a field, or `#[serde(flatten)]` it".into())
            }
            Some("object") => Err("is a map, and a form is flat: give each key a field".into()),
            Some("null") => Err("has no value".into()),
            _ if Choices::are_in(schema) => Ok(FieldKind::One(Choices::read(schema)?)),
            Some("string") => {
                Ok(FieldKind::Text {
                    size: Size::read(schema, "minLength", "maxLength"),
                    // Other formats, and patterns, are not in the specification: only the answer is checked for them.
                    format: schema.get("format").and_then(Value::as_str).and_then(Format::named).filter(|format| {
                        matches!(format, Format::Email | Format::Uri | Format::Date | Format::DateTime)
                    }),
                })
            }
            Some(name @ ("integer" | "number")) => {
                let bound = |key| schema.get(key).and_then(Value::as_number).cloned();
                let (minimum, maximum) = (bound("minimum"), bound("maximum"));
                Ok(FieldKind::Number { integer: name == "integer", minimum, maximum })
            }
            _ if schema.get("$ref").is_some() => Err("is a struct that contains itself, and a form is flat".into()),
            _ if schema.get("anyOf").is_some() => Err("may be of several types".into()),
            _ => Err("may be anything: its type says nothing of its values".into()),
        }
    }

    fn read_list(schema: &Value) -> Result<FieldKind, String> {
        match schema.get("items") {
            Some(items) if Choices::are_in(items) => {
                Ok(FieldKind::Many { choices: Choices::read(items)?, size: Size::read(schema, "minItems", "maxItems") })
            }
            _ if schema.get("prefixItems").is_some() => Err("is a tuple: give each of its parts a field".into()),
            _ => Err("is a list of something other than the variants of an enum".into()),
        }
    }

    /// Writes the keywords of the specification and no others: strict clients reject those.
    fn write(&self, schema: &mut Map<String, Value>, old: bool) {
        let mut put = |key: &str, value: Option<Value>| schema.extend(value.map(|value| (key.to_owned(), value)));
        match self {
            FieldKind::Text { size, format } => {
                put("type", Some("string".into()));
                put("minLength", size.min.map(Value::from));
                put("maxLength", size.max.map(Value::from));
                put("format", format.map(|format| format.name().into()));
            }
            FieldKind::Number { integer, minimum, maximum } => {
                put("type", Some(if *integer { "integer" } else { "number" }.into()));
                put("minimum", minimum.clone().map(Value::Number));
                put("maximum", maximum.clone().map(Value::Number));
            }
            FieldKind::Boolean => put("type", Some("boolean".into())),
            FieldKind::One(choices) => schema.extend(choices.single(old)),
            FieldKind::Many { choices, size } => {
                put("type", Some("array".into()));
                put("items", Some(choices.items()));
                put("minItems", size.min.map(Value::from));
                put("maxItems", size.max.map(Value::from));
            }
        }
    }
}

impl Size {
    fn read(schema: &Value, min: &str, max: &str) -> Size {
        let bound = |key| schema.get(key).and_then(Value::as_u64);
        Size { min: bound(min), max: bound(max) }
    }
}
