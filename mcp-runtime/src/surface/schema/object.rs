//! Properties: which there are, which are required, which others are allowed, and what an omitted one means.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::node::{Node, Type};
use super::{At, Comparison, Side};
use crate::surface::difference::{Class, shown};

/// The keywords of an object.
struct Properties {
    schemas: Map<String, Value>,
    required: BTreeSet<String>,
    /// The schema of properties that are not listed.
    others: Value,
}

impl Properties {
    fn of(node: &Node) -> Self {
        let keywords = &node.keywords;
        let required = keywords.get("required").and_then(Value::as_array);
        Properties {
            schemas: keywords.get("properties").and_then(Value::as_object).cloned().unwrap_or_default(),
            required: required.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
            others: keywords.get("additionalProperties").cloned().unwrap_or(Value::Bool(true)),
        }
    }

    fn requires(&self, name: &str) -> bool {
        self.required.contains(name)
    }
}

impl Comparison<'_> {
    pub(super) fn object(&mut self, old: &Node, new: &Node, at: &At) {
        if !old.types.contains(&Type::Object) || !new.types.contains(&Type::Object) {
            return;
        }
        let (old, new) = (Properties::of(old), Properties::of(new));
        for (name, schema) in &old.schemas {
            match new.schemas.get(name) {
                Some(now) => {
                    self.requirement(name, &old, &new, at);
                    self.default(name, [schema, now], [&old, &new], at);
                    self.schemas(schema, now, &At::inside(at.property(name)));
                }
                None => self.found.add(Class::Breaking, at.property(name), "removed"),
            }
        }
        for name in new.schemas.keys().filter(|name| !old.schemas.contains_key(*name)) {
            self.new_property(name, &old, &new, at);
        }
        // Required, but described nowhere.
        let described = |name: &&String| old.schemas.contains_key(*name) || new.schemas.contains_key(*name);
        for name in old.required.union(&new.required).filter(|name| !described(name)) {
            self.requirement(name, &old, &new, at);
        }
        self.other_properties(&old.others, &new.others, at);
        self.order(&old.schemas, &new.schemas, at);
    }

    fn new_property(&mut self, name: &str, old: &Properties, new: &Properties, at: &At) {
        let closed = old.others == Value::Bool(false);
        let (class, change) = match (self.side, new.requires(name)) {
            (Side::Input, true) => (Class::Breaking, "new, and required"),
            (Side::Input, false) => (Class::Additive, "new, and optional"),
            (Side::Output, _) if closed => (Class::Breaking, "new, where the contract forbids further fields"),
            (Side::Output, _) => (Class::Additive, "new"),
        };
        self.found.add(class, at.property(name), change);
    }

    fn requirement(&mut self, name: &str, old: &Properties, new: &Properties, at: &At) {
        match (old.requires(name), new.requires(name), self.side) {
            (false, true, Side::Input) => self.narrower(at.property(name), "was optional, is required"),
            (true, false, Side::Input) => self.wider(at.property(name), "was required, is optional"),
            (false, true, Side::Output) => self.narrower(at.property(name), "was optional, is always present"),
            (true, false, Side::Output) => self.wider(at.property(name), "was always present, is optional"),
            _ => {}
        }
    }

    /// The default is what leaving out an optional argument means. Elsewhere it only describes.
    fn default(&mut self, name: &str, schemas: [&Value; 2], [old, new]: [&Properties; 2], at: &At) {
        let [old_default, new_default] = [0, 1].map(|index| {
            let node = Node::new(schemas[index], self.roots[index]);
            // A null default means "no default".
            node.keywords.get("default").filter(|value| !value.is_null()).cloned()
        });
        let class = match self.side {
            Side::Input if !old.requires(name) && !new.requires(name) => Class::Breaking,
            Side::Input if old.requires(name) != new.requires(name) => return, // told already
            _ => Class::Cosmetic,
        };
        let place = at.property(name).then("default");
        self.found.changed(class, place, old_default.as_ref(), new_default.as_ref());
    }

    fn other_properties(&mut self, old: &Value, new: &Value, at: &At) {
        let place = at.place.then(format!("other {}s", at.noun));
        match (old, new) {
            (Value::Bool(true), Value::Bool(false)) => self.narrower(place, "allowed → forbidden"),
            (Value::Bool(false), Value::Bool(true)) => self.wider(place, "forbidden → allowed"),
            _ => self.schemas(old, new, &At::inside(place)),
        }
    }

    fn order(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, at: &At) {
        let before: Vec<&String> = old.keys().filter(|name| new.contains_key(*name)).collect();
        let after: Vec<&String> = new.keys().filter(|name| old.contains_key(*name)).collect();
        if before != after {
            let change = format!("{} → {}", shown(Some(&before)), shown(Some(&after)));
            self.found.add(Class::Cosmetic, at.place.then("order"), change);
        }
    }
}
