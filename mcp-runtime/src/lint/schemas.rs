//! Schemas of arguments that some clients refuse. One such tool makes most clients fail for the whole server: they send
//! the schemas of all tools with each request to the model.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::finding::{Findings, Rule, tool_place};
use crate::surface::Surface;
use crate::surface::difference::Place;

pub(super) fn check(surface: &Surface, found: &mut Findings) {
    for tool in surface.tools.iter().map(|tool| &tool.item) {
        let mut walk = Walk { root: &tool.input_schema, found, seen: BTreeSet::new() };
        let place = tool_place(&tool.name);
        walk.root(&place);
        if let Some(arguments) = tool.input_schema.get("properties").and_then(Value::as_object) {
            for (name, schema) in arguments {
                walk.schema(schema, &place.then(format!("argument {name}")), &mut Vec::new());
            }
        }
    }
}

/// A walk through the schema of one tool.
struct Walk<'a, 'f> {
    root: &'a Value,
    found: &'f mut Findings,
    /// The definitions that have been looked into: each is reported once.
    seen: BTreeSet<String>,
}

impl<'a> Walk<'a, '_> {
    fn add(&mut self, place: &Place, text: impl Into<String>, remedy: &str) {
        self.found.add(Rule::RefusedSchema, place, text, remedy);
    }

    fn root(&mut self, place: &Place) {
        let root = self.root;
        for keyword in ["anyOf", "oneOf", "allOf"] {
            if root.get(keyword).is_some() {
                let text = format!("`{keyword}` at the top of the schema: the Anthropic API refuses it");
                let remedy = "take a struct with optional fields, or the enum as one argument instead of `flatten`";
                self.add(place, text, remedy);
            }
        }
        if root.get("$ref").is_some() {
            let text = "`$ref` at the top of the schema: OpenAI's API refuses a schema without `type` and `properties`";
            self.add(place, text, "put the referenced schema itself at the top");
        } else if root.get("type") != Some(&json!("object")) {
            let text = "the schema is not `\"type\": \"object\"` at the top: the protocol requires it";
            self.add(place, text, "take the value as a named argument");
        } else if root.get("properties").is_none() {
            let text = "no `properties`: OpenAI's API refuses object schemas without them";
            self.add(place, text, "name the arguments; an empty `\"properties\": {}` is accepted");
        }
    }

    /// `path` has the definitions that lead here.
    fn schema(&mut self, schema: &'a Value, place: &Place, path: &mut Vec<&'a str>) {
        let Some(map) = schema.as_object() else { return };
        if let Some(Value::Array(types)) = map.get("type") {
            let names: Vec<&str> = types.iter().filter_map(Value::as_str).collect();
            let text = format!("several types ({}): the Gemini API refuses lists of types", names.join(", "));
            let remedy = if names.contains(&"null") {
                "give an optional field its plain type: `#[serde(default)] #[schemars(with = \"…\")]`, with the type inside \
                 the `Option`"
            } else {
                "take one type"
            };
            self.add(place, text, remedy);
        }
        if map.get("type") == Some(&json!("array"))
            && !["items", "prefixItems"].iter().any(|key| map.contains_key(*key))
        {
            let text = "an array without `items`: VS Code and OpenAI's API refuse it";
            self.add(place, text, "say what the list holds: `\"items\": {…}`");
        }
        self.reference(map, place, path);
        self.children(map, place, path);
    }

    fn reference(&mut self, map: &'a Map<String, Value>, place: &Place, path: &mut Vec<&'a str>) {
        let Some(Value::String(reference)) = map.get("$ref") else { return };
        let beside = map.keys().find(|key| !matches!(key.as_str(), "$ref" | "description" | "default"));
        if let Some(beside) = beside {
            let text = format!("`{beside}` beside `$ref`: the Gemini API takes only `description` and `default` there");
            self.add(place, text, "use the type once, so that it is not shared, or leave the keyword out");
        }
        if path.contains(&reference.as_str()) {
            let text = format!("the type `{}` contains itself: the Gemini API refuses recursion", name_of(reference));
            self.add(place, text, "limit the depth with types of their own, or take the value as JSON in a string");
            return;
        }
        if !self.seen.insert(reference.clone()) {
            return;
        }
        let root = self.root;
        if let Some(target) = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) {
            path.push(reference);
            self.schema(target, place, path);
            path.pop();
        }
    }

    fn children(&mut self, map: &'a Map<String, Value>, place: &Place, path: &mut Vec<&'a str>) {
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.schema(schema, &place.then(format!("field {name}")), path);
        }
        for keyword in ["items", "additionalProperties"] {
            if let Some(schema) = map.get(keyword) {
                self.schema(schema, &place.then(keyword), path);
            }
        }
        for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
            for (index, schema) in map.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate() {
                self.schema(schema, &place.then(format!("{keyword} {index}")), path);
            }
        }
    }
}

fn name_of(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}
