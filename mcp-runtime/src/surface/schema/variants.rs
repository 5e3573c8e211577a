//! The variants of `anyOf` and `oneOf`, paired by what tells them apart.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::node::{Node, Type, type_names};
use super::{At, Comparison, Side};
use crate::surface::difference::Class;

impl Comparison<'_> {
    /// Compares the variants of two nodes that both have them, or both not.
    pub(super) fn variants(&mut self, old: &Node, new: &Node, at: &At) {
        let same = old.variants == new.variants && old.exclusive == new.exclusive;
        let [before, after] = [(0, old), (1, new)].map(|(root, node)| {
            node.variants.iter().map(|variant| Variant::new(variant, self.roots[root])).collect::<Vec<_>>()
        });
        // Exactly one of several that overlap: a wider variant may exclude values.
        let overlap = (old.exclusive && overlap(&before)) || (new.exclusive && overlap(&after));
        if same && overlap {
            self.unpaired(&before, &after, at);
        } else if overlap {
            self.incomparable(at.place.clone());
        } else {
            self.paired(&before, &after, at);
        }
    }

    /// Compares a plain schema with the variants of another.
    ///
    /// Arguments: the one must be among the several that follow it, or comprise all that were before it. Results: the
    /// other way round.
    pub(super) fn one_or_several(&mut self, old: &Node, new: &Node, at: &At) {
        let told = old.types != new.types;
        let (single, several) = if old.variants.is_empty() { (old, new) } else { (new, old) };
        let one = alone(single);
        let variants: Vec<Value> = several.variants.iter().map(|variant| within(variant, several)).collect();
        let fits = |comparison: &mut Self, variant: &Value| {
            let (old, new) = if old.variants.is_empty() { (&one, variant) } else { (variant, &one) };
            !comparison.breaks(old, new, at)
        };
        let fit = variants.iter().filter(|variant| fits(self, variant)).count();
        let one_is_enough = old.variants.is_empty() == (self.side == Side::Input);
        if several.exclusive || fit == 0 || (fit < variants.len() && !one_is_enough) {
            self.incomparable(at.place.clone());
        } else if !told {
            let [before, after] = [old, new].map(|node| match node.variants.len() {
                0 => "one schema".to_owned(),
                count => format!("{count} variants"),
            });
            self.found.add(Class::Additive, at.place.clone(), format!("{before} → {after}"));
        }
    }

    /// Variants that must stay as they are: any difference inside them cannot be compared.
    fn unpaired(&mut self, old: &[Variant<'_>], new: &[Variant<'_>], at: &At) {
        let before = std::mem::take(&mut self.found);
        for (old, new) in old.iter().zip(new) {
            self.schemas(old.schema, new.schema, at);
        }
        let differs = self.found.0.iter().any(|difference| difference.class != Class::Cosmetic);
        self.found = before;
        if differs {
            self.incomparable(at.place.clone());
        }
    }

    fn paired(&mut self, old: &[Variant<'_>], new: &[Variant<'_>], at: &At) {
        if !(distinct(old) && distinct(new)) {
            if old.len() != new.len() {
                return self.incomparable(at.place.clone());
            }
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                self.schemas(old.schema, new.schema, &At::inside(at.place.then(format!("variant {index}"))));
            }
            return;
        }
        let place = |variant: &Variant<'_>| at.place.then(format!("variant {}", variant.key));
        for variant in old {
            match new.iter().find(|other| other.key == variant.key) {
                Some(other) => self.schemas(variant.schema, other.schema, &At::inside(place(variant))),
                None => self.narrower(place(variant), "removed"),
            }
        }
        for variant in new.iter().filter(|variant| !old.iter().any(|other| other.key == variant.key)) {
            self.wider(place(variant), "new");
        }
    }

    /// Whether `new` in place of `old` would break clients.
    fn breaks(&mut self, old: &Value, new: &Value, at: &At) -> bool {
        let before = std::mem::take(&mut self.found);
        self.schemas(old, new, at);
        let found = std::mem::replace(&mut self.found, before);
        found.0.iter().any(|difference| difference.class == Class::Breaking)
    }
}

/// A node without variants as a schema of its own.
fn alone(node: &Node) -> Value {
    let mut schema = node.keywords.clone();
    if node.types.len() < Type::ALL.len() {
        let written = node.types.iter().filter(|kind| **kind != Type::Null);
        let names = written.map(|kind| Value::from(type_names(&BTreeSet::from([*kind]))));
        schema.insert("type".to_owned(), names.collect());
    }
    if let Some(values) = &node.values {
        schema.insert("enum".to_owned(), values.clone().into());
    }
    schema.into()
}

/// A variant with the keywords beside the list.
fn within(variant: &Value, node: &Node) -> Value {
    let mut schema = node.keywords.clone();
    schema.insert("allOf".to_owned(), json!([variant]));
    schema.into()
}

/// One of several schemas, and what tells it apart.
struct Variant<'a> {
    schema: &'a Value,
    key: String,
    /// Variants of one family with different keys match different values.
    family: Option<String>,
    types: BTreeSet<Type>,
}

impl<'a> Variant<'a> {
    fn new(schema: &'a Value, root: &Value) -> Self {
        let node = Node::new(schema, root);
        let (key, family) = key(&node);
        Variant { schema, key, family, types: node.types }
    }
}

/// What tells a variant apart: a tag, its only property, its only value, its title, its type.
fn key(node: &Node) -> (String, Option<String>) {
    let properties = node.keywords.get("properties").and_then(Value::as_object);
    let required: Vec<&str> = node
        .keywords
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let tag = properties.into_iter().flatten().find_map(|(name, schema)| {
        let tag = Node::new(schema, &Value::Null).values?;
        match &tag[..] {
            [Value::String(tag)] if required.contains(&name.as_str()) => {
                Some((format!("{name}={tag}"), Some(format!("tag {name}"))))
            }
            _ => None,
        }
    });
    if let Some(tag) = tag {
        return tag;
    }
    let closed = node.keywords.get("additionalProperties") == Some(&Value::Bool(false));
    if let (Some(properties), [only]) = (properties, &required[..])
        && properties.len() == 1
        && closed
    {
        return ((*only).to_owned(), Some("only property".to_owned()));
    }
    if let Some([value]) = node.values.as_deref() {
        return (value.to_string(), Some("value".to_owned()));
    }
    if let Some(Value::String(title)) = node.keywords.get("title") {
        return (title.clone(), None);
    }
    (type_names(&node.types), None)
}

fn distinct(variants: &[Variant<'_>]) -> bool {
    let keys: BTreeSet<&str> = variants.iter().map(|variant| variant.key.as_str()).collect();
    keys.len() == variants.len()
}

/// Whether a value may match two of the variants.
fn overlap(variants: &[Variant<'_>]) -> bool {
    let pairs =
        variants.iter().enumerate().flat_map(|(at, one)| variants[at + 1..].iter().map(move |other| (one, other)));
    pairs.into_iter().any(|(one, other)| {
        let apart = one.family.is_some() && one.family == other.family && one.key != other.key;
        !apart && !one.types.is_disjoint(&other.types)
    })
}
