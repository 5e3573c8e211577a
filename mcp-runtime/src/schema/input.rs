//! Generates the schemas of a tool's arguments and of its result from types. Optional arguments have plain types.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::keywords::{contradiction, misplaced};
use super::tidy::{reference, tidy};

/// Builds the schema of a tool's arguments. One generator serves all of them, so shared types appear
/// once in `$defs`.
#[derive(Debug)]
pub(crate) struct InputSchema {
    pub(super) generator: SchemaGenerator,
    root: Map<String, Value>,
    pub(super) properties: Map<String, Value>,
    required: Vec<Value>,
    /// Where each property comes from.
    origins: Vec<(String, String)>,
    problems: Vec<String>,
    /// The flattened types that reject all properties but their own, with the number of these.
    closed: Vec<(Cow<'static, str>, usize)>,
}

/// The additions of an argument's attribute to the schema of its type.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub(crate) description: Option<Cow<'static, str>>,
    pub(crate) default: Option<Value>,
    pub(crate) header: Option<&'static str>,
    pub(crate) optional: bool,
    /// Further keywords.
    pub(crate) keywords: Vec<(&'static str, Value)>,
}

impl InputSchema {
    pub(crate) fn new() -> Self {
        InputSchema {
            generator: SchemaSettings::draft2020_12().for_deserialize().into_generator(),
            root: Map::new(),
            properties: Map::new(),
            required: Vec::new(),
            origins: Vec::new(),
            problems: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Notes a mistake of the declaration.
    pub(crate) fn problem(&mut self, text: String) {
        self.problems.push(text);
    }

    /// Notes where a property comes from. Two sources of one name are a mistake.
    fn claim(&mut self, name: &str, origin: String) {
        match self.origins.iter().find(|(other, _)| other == name) {
            Some((_, earlier)) => {
                let text = format!("{origin} has the name of {earlier}; rename one with `rename = \"…\"`");
                self.problems.push(text);
            }
            None => self.origins.push((name.to_owned(), origin)),
        }
    }

    /// Adds a property and returns the name of its type, for error messages.
    pub(crate) fn property<T: JsonSchema>(&mut self, name: &str, extras: Extras) -> Cow<'static, str> {
        let schema = self.generator.subschema_for::<T>().to_value();
        self.add(name, schema, extras)
    }

    /// Adds a property with the schema of its type. Not generic, so that it is compiled once.
    fn add(&mut self, name: &str, mut schema: Value, extras: Extras) -> Cow<'static, str> {
        self.claim(name, format!("the argument `{name}`"));
        if schema == true {
            // Equivalent in JSON Schema, and some clients support only objects.
            schema = json!({});
        }
        if extras.optional {
            schema = without_null(schema);
        } else if extras.default.is_none() {
            self.required.push(name.into());
        }
        let expected = type_name(&schema, self.generator.definitions());
        if let Value::Object(map) = &mut schema {
            map.extend(extras.description.map(|text| ("description".to_owned(), text.into())));
            // A null default means "no default".
            let default = extras.default.filter(|value| !value.is_null());
            map.extend(default.map(|value| ("default".to_owned(), value)));
            let own = resolved_map(map, self.generator.definitions());
            for (keyword, value) in &extras.keywords {
                self.problems.extend(misplaced(name, keyword, &expected));
                self.problems.extend(contradiction(name, keyword, value, own));
            }
            map.extend(extras.keywords.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)));
            map.extend(extras.header.map(|header| ("x-mcp-header".to_owned(), header.into())));
        }
        self.properties.insert(name.to_owned(), schema);
        expected
    }

    /// Adds the properties of the struct `T` as separate arguments. Returns their names.
    pub(crate) fn flatten<T: JsonSchema>(&mut self) -> Vec<String> {
        let schema = T::json_schema(&mut self.generator).to_value();
        self.add_fields(T::schema_name(), schema)
    }

    fn add_fields(&mut self, type_name: Cow<'static, str>, schema: Value) -> Vec<String> {
        let Value::Object(mut schema) = schema else { return Vec::new() };
        if schema.get("type").is_none_or(|name| name != "object") {
            self.problem(format!("`#[arg(flatten)]` needs a struct; `{type_name}` has no fields to be arguments"));
            return Vec::new();
        }
        let mut names = Vec::new();
        let required = match schema.remove("required") {
            Some(Value::Array(required)) => required,
            _ => Vec::new(),
        };
        if let Some(Value::Object(properties)) = schema.remove("properties") {
            for (name, property) in properties {
                self.claim(&name, format!("the field `{name}` of `{type_name}`"));
                let is_required = required.iter().any(|required| required.as_str() == Some(&name));
                let property = if is_required { property } else { without_null(property) };
                self.properties.insert(name.clone(), property);
                names.push(name);
            }
        }
        self.required.extend(required);
        if schema.get("additionalProperties").is_some_and(|others| others == false) {
            self.closed.push((type_name, names.len()));
        }
        for annotation in ["type", "title", "description"] {
            schema.remove(annotation);
        }
        self.root.extend(schema);
        names
    }

    /// The schema, and the mistakes of the declaration. A schema without arguments has an empty list of properties:
    /// some clients reject one without the list.
    pub(crate) fn finish(mut self) -> (Value, Vec<String>) {
        for (name, own) in &self.closed {
            if *own < self.properties.len() {
                self.problems.push(format!(
                    "`{name}` denies unknown fields, so it cannot be flattened beside other arguments; \
                     remove `deny_unknown_fields`"
                ));
            }
        }
        let mut root = Map::new();
        root.insert("type".into(), "object".into());
        root.insert("properties".into(), self.properties.into());
        if !self.required.is_empty() {
            root.insert("required".into(), self.required.into());
        }
        root.extend(self.root);
        (tidy(root, self.generator.take_definitions(true)), self.problems)
    }
}

/// Forbids properties that a schema of arguments does not declare, unless it says something of them itself.
pub(crate) fn close(schema: &mut Value) {
    if let Value::Object(root) = schema {
        let others = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
        if !others.iter().any(|keyword| root.contains_key(*keyword)) {
            root.insert("additionalProperties".into(), false.into());
        }
    }
}

/// The keywords of a type, behind a reference to it.
fn resolved_map<'a>(map: &'a Map<String, Value>, definitions: &'a Map<String, Value>) -> &'a Map<String, Value> {
    let target = map.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    target.and_then(|name| definitions.get(name)).and_then(Value::as_object).unwrap_or(map)
}

/// The schema of a structured result, unless it allows any value.
pub(crate) fn output<T: JsonSchema + ?Sized>() -> Option<Value> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let Value::Object(schema) = T::json_schema(&mut generator).to_value() else { return None };
    let schema = tidy(schema, generator.take_definitions(true));
    let constrains = schema.as_object().is_some_and(|map| map.keys().any(|key| key != "description" && key != "title"));
    constrains.then_some(schema)
}

/// Removes `null` from the schema of an optional argument, which `required` already marks as optional.
/// `x-mcp-header` and the form builders of many clients need plain types. Keywords beside an `anyOf`
/// take precedence over those of the type inside it.
pub(crate) fn without_null(schema: Value) -> Value {
    let Value::Object(mut map) = schema else { return schema };
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            map.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
        choices.retain(|choice| choice != &json!({"type": "null"}));
        if let [Value::Object(only)] = &mut choices[..] {
            let mut merged = std::mem::take(only);
            map.shift_remove("anyOf");
            merged.extend(map);
            return merged.into();
        }
    }
    map.into()
}

/// The name of a schema's type, for error messages.
fn type_name(schema: &Value, definitions: &Map<String, Value>) -> Cow<'static, str> {
    let schema = resolved(schema, definitions);
    match schema.get("type") {
        Some(Value::String(name)) => Cow::Owned(name.clone()),
        Some(Value::Array(names)) => {
            Cow::Owned(names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "))
        }
        _ if schema.get("enum").is_some() || schema.get("oneOf").is_some_and(all_constants) => Cow::Borrowed("string"),
        _ => Cow::Borrowed("value"),
    }
}

fn all_constants(choices: &Value) -> bool {
    choices
        .as_array()
        .is_some_and(|choices| choices.iter().all(|choice| choice.get("const").is_some_and(Value::is_string)))
}

/// Follows references; any other schema is returned as it is.
pub(super) fn resolved<'a>(mut schema: &'a Value, definitions: &'a Map<String, Value>) -> &'a Value {
    // A chain of references is not longer than the definitions, unless it is a circle.
    for _ in 0..=definitions.len() {
        match reference(schema).and_then(|name| definitions.get(name)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// The arguments that arrive as text, but are of a type that no text can be parsed into.
pub(crate) fn not_text(schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let structured = properties.filter_map(|(name, schema)| {
        let kind = schema.get("type").and_then(Value::as_str)?;
        matches!(kind, "object" | "array" | "null").then(|| {
            format!("`{name}` arrives as text, which an {kind} cannot be read from: take a `String` and parse it")
        })
    });
    structured.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Unit {
        Celsius,
        Fahrenheit,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Point {
        x: i32,
        unit: Option<Unit>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Tree {
        children: Vec<Tree>,
    }

    #[test]
    fn type_used_once_is_inlined() {
        let mut schema = InputSchema::new();
        let expected = schema.property::<Unit>("unit", Extras { default: Some("celsius".into()), ..Extras::default() });
        assert_eq!(expected, "string");
        assert_eq!(
            schema.finish().0,
            json!({"type": "object", "properties": {"unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"}}})
        );
    }

    #[test]
    fn type_used_twice_is_shared() {
        let mut schema = InputSchema::new();
        schema.property::<Point>("from", Extras::default());
        schema.property::<Point>("to", Extras::default());
        let schema = schema.finish().0;
        assert_eq!(schema["properties"]["to"], json!({"$ref": "#/$defs/Point"}));
        assert_eq!(schema["required"], json!(["from", "to"]));
        assert_eq!(schema["$defs"]["Point"]["properties"]["x"], json!({"type": "integer"}));
        assert_eq!(schema["$defs"].as_object().unwrap().len(), 1, "{schema}");
    }

    #[test]
    fn recursive_type_keeps_its_definition() {
        let mut schema = InputSchema::new();
        schema.property::<Tree>("tree", Extras::default());
        let schema = schema.finish().0;
        assert_eq!(schema["$defs"]["Tree"]["properties"]["children"]["items"], json!({"$ref": "#/$defs/Tree"}));
    }

    #[test]
    fn optional_arguments_are_plain_and_not_required() {
        let mut schema = InputSchema::new();
        schema.property::<Option<String>>("tag", Extras { optional: true, ..Extras::default() });
        schema.property::<Option<Unit>>("unit", Extras { optional: true, ..Extras::default() });
        assert_eq!(
            schema.finish().0,
            json!({"type": "object", "properties": {
                "tag": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            }})
        );
    }

    struct Written;

    impl JsonSchema for Written {
        fn schema_name() -> Cow<'static, str> {
            "Written".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
            written().try_into().unwrap()
        }
    }

    /// A schema no derive would generate.
    fn written() -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {"$anchor": "addressDef", "type": "object"}},
            "properties": {"address": {"$ref": "#/$defs/address"}, "email": {"type": "string", "format": "email"}},
            "required": ["address"],
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"required": ["email"]},
            "then": {"minProperties": 2},
            "else": {"maxProperties": 1},
            "additionalProperties": false,
        })
    }

    #[test]
    fn hand_written_schema_is_unchanged() {
        let mut schema = InputSchema::new();
        schema.flatten::<Written>();
        assert_eq!(schema.finish().0, written());
    }

    #[test]
    fn hand_written_definitions_are_merged_with_generated_ones() {
        let mut schema = InputSchema::new();
        schema.flatten::<Written>();
        schema.property::<Tree>("tree", Extras::default());
        let schema = schema.finish().0;
        assert_eq!(schema["$defs"]["address"], written()["$defs"]["address"]);
        assert_eq!(schema["properties"]["tree"], json!({"$ref": "#/$defs/Tree"}));
        assert!(schema["$defs"]["Tree"].is_object(), "{schema}");
        assert_eq!(schema["required"], json!(["address", "tree"]));
    }
}
