//! The differences between two JSON Schemas, and what they mean for the clients that follow them.
//!
//! A schema of arguments may only grow wider, a schema of results only narrower: else a client that follows the
//! recorded one fails. The comparison is sound, not complete. A change that it understands is classified; any other is
//! breaking, in words that admit it.

mod bounds;
mod node;
mod object;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod variants;

use serde_json::Value;

use self::node::{Node, is_cosmetic, resolve, type_names};
use super::difference::{Class, Difference, Differences, INCOMPARABLE, Place, shown};

/// Whether clients write values of a schema, or read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Input,
    Output,
}

impl Side {
    /// The class of a change after which fewer values are valid.
    fn narrower(self) -> Class {
        match self {
            Side::Input => Class::Breaking,
            Side::Output => Class::Additive,
        }
    }

    /// The class of a change after which more values are valid.
    fn wider(self) -> Class {
        match self {
            Side::Input => Class::Additive,
            Side::Output => Class::Breaking,
        }
    }
}

/// The differences between the schemas of a tool's arguments or of its result.
pub(super) fn compare(side: Side, tool: &Place, old: &Value, new: &Value) -> Vec<Difference> {
    let at = match side {
        Side::Input => At { place: tool.then("arguments"), children: tool.clone(), noun: "argument" },
        Side::Output => At::inside(tool.then("result")),
    };
    let mut comparison = Comparison {
        roots: [old, new],
        side,
        found: Differences::default(),
        open: Vec::new(),
        alike: Vec::new(),
        steps: 0,
    };
    comparison.schemas(old, new, &at);
    if comparison.steps > MOST_STEPS {
        comparison.incomparable(at.place);
    }
    comparison.found.0
}

/// The place of a schema, and of its properties.
#[derive(Debug)]
struct At {
    place: Place,
    children: Place,
    /// The word for a property.
    noun: &'static str,
}

impl At {
    fn inside(place: Place) -> Self {
        At { children: place.clone(), place, noun: "field" }
    }

    fn keyword(&self, keyword: &str) -> Place {
        self.place.then(keyword)
    }

    fn property(&self, name: &str) -> Place {
        self.children.then(format!("{} {name}", self.noun))
    }
}

/// The comparison of two schemas, from their roots.
struct Comparison<'a> {
    roots: [&'a Value; 2],
    side: Side,
    found: Differences,
    /// The pairs being compared: a recursive schema leads back to one of them.
    open: Vec<(Value, Value)>,
    /// The pairs with references that have been compared, without a difference. Shared definitions would be compared
    /// once for each path that leads to them.
    alike: Vec<(Value, Value)>,
    /// How many pairs have been compared.
    steps: usize,
}

/// The most pairs to compare. Only schemas whose variants lead back to themselves in many ways need more.
const MOST_STEPS: usize = 20_000;

/// Keywords compared by their own rules, or not at all.
const COMPARED: [&str; 25] = [
    "$defs",
    "definitions",
    "default",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "pattern",
    "format",
    "contentEncoding",
    "contentMediaType",
    "uniqueItems",
    "items",
    "prefixItems",
    "properties",
    "required",
    "additionalProperties",
    "x-mcp-header",
];

/// The dialect that schemas have if they do not name one.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

impl Comparison<'_> {
    fn schemas(&mut self, old: &Value, new: &Value, at: &At) {
        // As texts: the order of properties counts, if only for people.
        let (old_text, new_text) = (old.to_string(), new.to_string());
        let refers = old_text.contains("\"$ref\"");
        if old_text == new_text && (!refers || self.roots[0] == self.roots[1]) {
            return;
        }
        let pair = (old.clone(), new.clone());
        if self.open.contains(&pair) || self.alike.contains(&pair) {
            return;
        }
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return; // told at the end
        }
        let before = self.found.0.len();
        self.open.push(pair);
        let [old_root, new_root] = self.roots;
        self.nodes(&Node::new(old, old_root), &Node::new(new, new_root), at);
        let pair = self.open.pop();
        if self.found.0.len() == before && refers {
            self.alike.extend(pair);
        }
    }

    fn nodes(&mut self, old: &Node, new: &Node, at: &At) {
        if !self.types(old, new, at) {
            return; // no value has a type of both: the rest says nothing
        }
        if old.variants.is_empty() != new.variants.is_empty() {
            return self.one_or_several(old, new, at);
        }
        self.values(old, new, at);
        self.variants(old, new, at);
        self.bounds(old, new, at);
        for keyword in ["pattern", "format", "contentEncoding", "contentMediaType"] {
            self.restriction(keyword, old, new, at);
        }
        self.arrays(old, new, at);
        self.object(old, new, at);
        self.others(old, new, at);
    }

    fn narrower(&mut self, place: Place, change: impl Into<String>) {
        self.found.add(self.side.narrower(), place, change);
    }

    fn wider(&mut self, place: Place, change: impl Into<String>) {
        self.found.add(self.side.wider(), place, change);
    }

    fn incomparable(&mut self, place: Place) {
        self.found.add(Class::Breaking, place, INCOMPARABLE);
    }

    /// Compares the types. Returns whether they have one in common.
    fn types(&mut self, old: &Node, new: &Node, at: &At) -> bool {
        let removed = old.types.difference(&new.types).count();
        let added = new.types.difference(&old.types).count();
        let change = format!("{} → {}", type_names(&old.types), type_names(&new.types));
        match (removed, added) {
            (0, 0) => {}
            (_, 0) => self.narrower(at.keyword("type"), change),
            (0, _) => self.wider(at.keyword("type"), change),
            _ => self.found.add(Class::Breaking, at.keyword("type"), change),
        }
        old.types.intersection(&new.types).next().is_some()
    }

    /// Compares the allowed values.
    fn values(&mut self, old: &Node, new: &Node, at: &At) {
        let place = at.keyword("values");
        match (&old.values, &new.values) {
            (None, None) => {}
            (None, Some(values)) => self.narrower(place, format!("any → {}", shown(Some(values)))),
            (Some(values), None) => self.wider(place, format!("{} → any", shown(Some(values)))),
            (Some(old), Some(new)) => {
                for value in old.iter().filter(|value| !new.contains(value)) {
                    self.narrower(place.clone(), format!("{} removed", shown(Some(value))));
                }
                for value in new.iter().filter(|value| !old.contains(value)) {
                    self.wider(place.clone(), format!("{} added", shown(Some(value))));
                }
                let reordered = old != new && old.len() == new.len() && old.iter().all(|value| new.contains(value));
                if reordered {
                    self.found.add(Class::Cosmetic, place, "listed in another order");
                }
            }
        }
    }

    /// A keyword that restricts values in a way that has no order: a pattern, a format.
    fn restriction(&mut self, keyword: &str, old: &Node, new: &Node, at: &At) {
        let (old, new) = (old.keywords.get(keyword), new.keywords.get(keyword));
        let change = || format!("{} → {}", shown(old), shown(new));
        match (old, new) {
            (None, Some(_)) => self.narrower(at.keyword(keyword), change()),
            (Some(_), None) => self.wider(at.keyword(keyword), change()),
            (Some(one), Some(other)) if one != other => {
                self.found.add(Class::Breaking, at.keyword(keyword), format!("{}: {INCOMPARABLE}", change()));
            }
            _ => {}
        }
    }

    fn arrays(&mut self, old: &Node, new: &Node, at: &At) {
        let unique = |node: &Node| node.keywords.get("uniqueItems") == Some(&Value::Bool(true));
        match (unique(old), unique(new)) {
            (false, true) => self.narrower(at.keyword("uniqueItems"), "false → true"),
            (true, false) => self.wider(at.keyword("uniqueItems"), "true → false"),
            _ => {}
        }
        let prefix = |node: &Node| node.keywords.get("prefixItems").and_then(Value::as_array).cloned();
        let (old_prefix, new_prefix) = (prefix(old).unwrap_or_default(), prefix(new).unwrap_or_default());
        if old_prefix.len() == new_prefix.len() {
            for (index, (old, new)) in old_prefix.iter().zip(&new_prefix).enumerate() {
                self.schemas(old, new, &At::inside(at.place.then(format!("item {index}"))));
            }
        } else {
            self.incomparable(at.keyword("prefixItems"));
        }
        let items = |node: &Node| node.keywords.get("items").cloned().unwrap_or(Value::Bool(true));
        self.schemas(&items(old), &items(new), &At::inside(at.keyword("items")));
    }

    /// The keywords without rules of their own.
    fn others(&mut self, old: &Node, new: &Node, at: &At) {
        let [old_root, new_root] = self.roots;
        let added = new.keywords.keys().filter(|keyword| !old.keywords.contains_key(*keyword));
        for keyword in old.keywords.keys().chain(added) {
            let (one, other) = (old.keywords.get(keyword), new.keywords.get(keyword));
            if is_cosmetic(keyword) {
                self.found.changed(Class::Cosmetic, at.keyword(keyword), one, other);
            } else if keyword == "$schema" {
                let dialect = |value: Option<&Value>| value.cloned().unwrap_or_else(|| DIALECT.into());
                if dialect(one) != dialect(other) {
                    self.incomparable(at.keyword(keyword));
                }
            } else if !COMPARED.contains(&keyword.as_str()) {
                let expand = |value: Option<&Value>, root| value.map(|value| expanded(value, root, &mut Vec::new()));
                if expand(one, old_root) != expand(other, new_root) {
                    self.incomparable(at.keyword(keyword));
                }
            }
        }
        self.header(old.keywords.get("x-mcp-header"), new.keywords.get("x-mcp-header"), at);
    }

    /// HTTP clients must repeat the argument in its header, so a new header breaks those that do not know it.
    fn header(&mut self, old: Option<&Value>, new: Option<&Value>, at: &At) {
        let class = if new.is_none() { Class::Additive } else { Class::Breaking };
        self.found.changed(class, at.keyword("x-mcp-header"), old, new);
    }
}

/// A schema with its references replaced by their targets, except those that lead back into themselves.
fn expanded(schema: &Value, root: &Value, path: &mut Vec<String>) -> Value {
    match schema {
        Value::Array(list) => list.iter().map(|item| expanded(item, root, path)).collect(),
        Value::Object(map) => {
            let mut expanded_map = serde_json::Map::new();
            for (key, value) in map {
                let target = match value {
                    Value::String(reference) if key == "$ref" && !path.contains(reference) => resolve(reference, root),
                    _ => None,
                };
                let value = match (target, value) {
                    (Some(target), Value::String(reference)) => {
                        path.push(reference.clone());
                        let target = expanded(target, root, path);
                        path.pop();
                        target
                    }
                    _ => expanded(value, root, path),
                };
                expanded_map.insert(key.clone(), value);
            }
            expanded_map.into()
        }
        other => other.clone(),
    }
}
