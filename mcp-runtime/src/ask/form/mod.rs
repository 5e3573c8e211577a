//! Forms: from a type's schema to the `requestedSchema` of a revision, and the validation of answers.
//! <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation>

mod check;
mod choices;
mod field;

mod precheck;
#[cfg(test)]
mod tests;

use field::Field;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::protocol::Revision;
use crate::schema::input::without_null;
pub use precheck::{check_form, check_form_of};

/// The fields that the user fills in, from a struct's schema.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    fields: Vec<Field>,
}

/// The end of error texts.
const CAN: &str = "a form can ask for strings, numbers, booleans, enums without data, and lists of such enums";

impl Form {
    /// The form that asks for a `T`. The error names the field that no form can have, why, and what to use
    /// instead.
    pub(crate) fn of<T: JsonSchema>() -> Result<Form, String> {
        let mut settings = SchemaSettings::draft2020_12().for_deserialize();
        // A form has no `$ref`. Only a recursive type keeps one, and is rejected for it.
        settings.inline_subschemas = true;
        let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        read(&schema).map_err(|why| format!("`{}` cannot be asked for: {why}", T::schema_name()))
    }

    /// The `requestedSchema` for `revision`.
    pub(crate) fn schema(&self, revision: Revision) -> Result<Value, String> {
        if !revision.has_forms() {
            return Err(format!("revision {revision} has no forms; they came with 2025-06-18"));
        }
        let properties = self.fields.iter().map(|field| Ok((field.name.clone(), field.schema(revision)?)));
        let properties = properties.collect::<Result<Map<_, _>, String>>()?;
        let mut schema = json!({"type": "object", "properties": properties});
        let required: Vec<&str> = self.fields.iter().filter(|field| field.required).map(|field| &*field.name).collect();
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        Ok(schema)
    }

    /// Validates the content that a client sent. The error names the field and what it must be. Fields that the
    /// form does not have are ignored.
    pub(crate) fn check(&self, content: &Value) -> Result<(), String> {
        let Value::Object(content) = content else {
            return Err(format!("the content of the form must be an object, not {}", check::describe(content)));
        };
        self.fields.iter().try_for_each(|field| field.check(content.get(&*field.name)))
    }

    /// Removes the nulls of optional fields. Some clients send them for fields that were left blank, where a
    /// default should apply.
    pub(crate) fn drop_blanks(&self, content: &mut Value) {
        if let Value::Object(content) = content {
            content.retain(|name, value| {
                !value.is_null() || self.fields.iter().any(|field| field.name == *name && field.required)
            });
        }
    }
}

fn read(schema: &Value) -> Result<Form, String> {
    let whole = |what: &str| Err(format!("a form is a struct with named fields, and it is {what}"));
    let has = |keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
    if schema["type"] != "object" {
        let what = if has(&["oneOf", "anyOf", "enum"]) { "an enum" } else { "not an object" };
        return whole(&format!("{what}; put it into a field of a struct"));
    }
    if has(&["oneOf", "anyOf", "allOf"]) {
        return whole("a choice of several, perhaps from a flattened enum; make that a field without data");
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return match schema.get("additionalProperties") {
            None | Some(Value::Bool(false)) => Ok(Form { fields: Vec::new() }),
            Some(_) => whole("a map; give each key a field"),
        };
    };
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|other| other.as_str() == Some(name)))
    };
    let fields = properties.iter().map(|(name, property)| {
        Field::read(name, required(name), &without_null(property.clone()))
            .map_err(|why| format!("its field `{name}` {why}; {CAN}"))
    });
    Ok(Form { fields: fields.collect::<Result<_, _>>()? })
}
