//! JSON Schemas of a tool's arguments and of its result, as small as they can be.
//!
//! A type used once is inlined; a type used more often is shared in `$defs`. Optional arguments have plain types.
//! Formats such as `uint32` are dropped: no vocabulary defines them, and strict clients reject them.

pub(super) mod choices;

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Builds the schema of a tool's arguments. One generator serves all of them, so shared types appear
/// once in `$defs`.
#[derive(Debug)]
pub(crate) struct InputSchema {
    generator: SchemaGenerator,
    root: Map<String, Value>,
    properties: Map<String, Value>,
    required: Vec<Value>,
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
        }
    }

    /// Adds a property and returns the name of its type, for error messages.
    pub(crate) fn property<T: JsonSchema>(&mut self, name: &str, extras: Extras) -> Cow<'static, str> {
        let mut schema = self.generator.subschema_for::<T>().to_value();
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
            map.extend(extras.keywords.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)));
            map.extend(extras.header.map(|header| ("x-mcp-header".to_owned(), header.into())));
        }
        self.properties.insert(name.to_owned(), schema);
        expected
    }

    /// Adds the properties of the struct `T` as separate arguments.
    pub(crate) fn flatten<T: JsonSchema>(&mut self) {
        let Value::Object(mut schema) = T::json_schema(&mut self.generator).to_value() else { return };
        let named = schema.get("type").is_some_and(|name| name == "object");
        assert!(named, "`#[arg(flatten)]` needs a struct; `{}` has no fields to be arguments", T::schema_name());
        if let Some(Value::Object(properties)) = schema.remove("properties") {
            self.properties.extend(properties);
        }
        if let Some(Value::Array(required)) = schema.remove("required") {
            self.required.extend(required);
        }
        for annotation in ["type", "title", "description"] {
            schema.remove(annotation);
        }
        self.root.extend(schema);
    }

    /// Whether no argument has been declared.
    pub(crate) fn is_empty(&self) -> bool {
        self.properties.is_empty() && self.root.is_empty()
    }

    pub(crate) fn finish(mut self) -> Value {
        if self.is_empty() {
            return json!({"type": "object", "additionalProperties": false});
        }
        let mut root = Map::new();
        root.insert("type".into(), "object".into());
        root.insert("properties".into(), self.properties.into());
        if !self.required.is_empty() {
            root.insert("required".into(), self.required.into());
        }
        root.extend(self.root);
        tidy(root, self.generator.take_definitions(true))
    }
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
fn resolved<'a>(mut schema: &'a Value, definitions: &'a Map<String, Value>) -> &'a Value {
    while let Some(target) = reference(schema).and_then(|name| definitions.get(name)) {
        schema = target;
    }
    schema
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// Inlines definitions that are used once, puts the others into `$defs`, and drops the number formats
/// (`int64`, `uint32`), which are in no JSON Schema vocabulary and which strict clients reject.
fn tidy(root: Map<String, Value>, mut definitions: Map<String, Value>) -> Value {
    let mut root = Value::Object(root);
    loop {
        let single = definitions.keys().find(|name| {
            let uses = |schema: &Value| count(schema, name);
            uses(&definitions[*name]) == 0 && uses(&root) + definitions.values().map(uses).sum::<usize>() == 1
        });
        let Some(name) = single.cloned() else { break };
        let Some(target) = definitions.shift_remove(&name) else { break };
        inline(&mut root, &name, &target);
        definitions.values_mut().for_each(|schema| inline(schema, &name, &target));
    }
    if let (Value::Object(root), false) = (&mut root, definitions.is_empty()) {
        match root.get_mut("$defs") {
            // A hand-written schema may have its own.
            Some(Value::Object(written)) => written.extend(definitions),
            _ => {
                root.insert("$defs".into(), definitions.into());
            }
        }
    }
    drop_number_formats(&mut root);
    root
}

/// How often `schema` refers to the definition `name`.
fn count(schema: &Value, name: &str) -> usize {
    let here = usize::from(reference(schema) == Some(name));
    here + children(schema).map(|child| count(child, name)).sum::<usize>()
}

/// Replaces references to `name` by `target`. Keywords beside a reference take precedence.
fn inline(schema: &mut Value, name: &str, target: &Value) {
    if reference(schema) == Some(name) {
        let (Value::Object(map), Value::Object(target)) = (&mut *schema, target) else { return };
        map.shift_remove("$ref");
        let mut merged = target.clone();
        merged.extend(std::mem::take(map));
        *map = merged;
        return;
    }
    children_mut(schema).for_each(|child| inline(child, name, target));
}

fn drop_number_formats(schema: &mut Value) {
    if let Value::Object(map) = schema {
        let numeric = matches!(map.get("format"), Some(Value::String(format))
            if format.starts_with("int") || format.starts_with("uint") || format == "float" || format == "double");
        if numeric && map.get("type").is_some_and(|name| name != "string") {
            map.shift_remove("format");
        }
    }
    children_mut(schema).for_each(drop_number_formats);
}

fn children(schema: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match schema {
        Value::Object(map) => Box::new(map.values()),
        Value::Array(list) => Box::new(list.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

fn children_mut(schema: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match schema {
        Value::Object(map) => Box::new(map.values_mut()),
        Value::Array(list) => Box::new(list.iter_mut()),
        _ => Box::new(std::iter::empty()),
    }
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
            schema.finish(),
            json!({"type": "object", "properties": {"unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"}}})
        );
    }

    #[test]
    fn type_used_twice_is_shared() {
        let mut schema = InputSchema::new();
        schema.property::<Point>("from", Extras::default());
        schema.property::<Point>("to", Extras::default());
        let schema = schema.finish();
        assert_eq!(schema["properties"]["to"], json!({"$ref": "#/$defs/Point"}));
        assert_eq!(schema["required"], json!(["from", "to"]));
        assert_eq!(schema["$defs"]["Point"]["properties"]["x"], json!({"type": "integer"}));
        assert_eq!(schema["$defs"].as_object().unwrap().len(), 1, "{schema}");
    }

    #[test]
    fn recursive_type_keeps_its_definition() {
        let mut schema = InputSchema::new();
        schema.property::<Tree>("tree", Extras::default());
        let schema = schema.finish();
        assert_eq!(schema["$defs"]["Tree"]["properties"]["children"]["items"], json!({"$ref": "#/$defs/Tree"}));
    }

    #[test]
    fn optional_arguments_are_plain_and_not_required() {
        let mut schema = InputSchema::new();
        schema.property::<Option<String>>("tag", Extras { optional: true, ..Extras::default() });
        schema.property::<Option<Unit>>("unit", Extras { optional: true, ..Extras::default() });
        assert_eq!(
            schema.finish(),
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
        assert_eq!(schema.finish(), written());
    }

    #[test]
    fn hand_written_definitions_are_merged_with_generated_ones() {
        let mut schema = InputSchema::new();
        schema.flatten::<Written>();
        schema.property::<Tree>("tree", Extras::default());
        let schema = schema.finish();
        assert_eq!(schema["$defs"]["address"], written()["$defs"]["address"]);
        assert_eq!(schema["properties"]["tree"], json!({"$ref": "#/$defs/Tree"}));
        assert!(schema["$defs"]["Tree"].is_object(), "{schema}");
        assert_eq!(schema["required"], json!(["address", "tree"]));
    }
}
