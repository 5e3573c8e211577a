//! Forms: from a type's schema to the `requestedSchema` of a revision, and the validation of answers.
//! <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation>

#[cfg(test)]
mod answer_tests;
mod choices;
mod field;
mod precheck;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use field::Field;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::protocol::Revision;
use crate::schema::input::without_null;
use crate::schema::instance::Instance;
use crate::schema::validator::Validator;
pub use precheck::{check_form, check_form_of};

/// The fields that the user fills in, from a struct's schema.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    fields: Vec<Field>,
    /// Everything that the type's schema demands, also what no client can show, such as a pattern.
    validator: Arc<Validator>,
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

    /// Validates the content that a client sent. The error names each field that is wrong, and what it must be.
    /// Fields that the form does not have are ignored.
    pub(crate) fn check(&self, content: &Value) -> Result<(), String> {
        if !content.is_object() {
            return Err(format!(
                "the content of the form must be an object, not {}",
                Instance::of(content).type_name()
            ));
        }
        let problems = self.validator.problems(Validator::ROOT, &Instance::of(content));
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        if texts.is_empty() { Ok(()) } else { Err(texts.join("; ")) }
    }

    /// Replaces values of the wrong type by what they were meant for, where there is one reading: `"3"` by `3`.
    pub(crate) fn read_leniently(&self, content: &mut Value) {
        let coerced = self.validator.coerced(&Instance::of(content));
        if let Some(read) = coerced.and_then(|coerced| serde_json::to_value(coerced).ok()) {
            *content = read;
        }
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
            None | Some(Value::Bool(false)) => form(Vec::new(), &Map::new()),
            Some(_) => whole("a map; give each key a field"),
        };
    };
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|other| other.as_str() == Some(name)))
    };
    let properties: Map<String, Value> =
        properties.iter().map(|(name, property)| (name.clone(), without_null(property.clone()))).collect();
    let fields = properties.iter().map(|(name, property)| {
        Field::read(name, required(name), property).map_err(|why| format!("its field `{name}` {why}; {CAN}"))
    });
    form(fields.collect::<Result<_, _>>()?, &properties)
}

/// A form of these fields, and the schemas that they are checked against.
fn form(fields: Vec<Field>, properties: &Map<String, Value>) -> Result<Form, String> {
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| &*field.name).collect();
    let schema = json!({"properties": properties, "required": required});
    let validator = Validator::new(&schema).map_err(|problems| problems.join("; "))?.with_null_as_absent();
    Ok(Form { validator: Arc::new(validator), fields })
}
