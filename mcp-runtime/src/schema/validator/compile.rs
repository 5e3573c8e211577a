//! Compiles a JSON Schema into nodes. Keywords that assert nothing are skipped; those that cannot be checked are
//! errors, because a schema must not promise what no call is held to.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::node::{ListRule, Node, NodeId, NumberRule, ObjectRule, Rule, Size, TextRule, Types};
use super::pattern::Pattern;
use crate::schema::format::Format;
use crate::schema::instance::Number;

/// Assertions that are not implemented.
const UNSUPPORTED: [&str; 4] = ["$dynamicRef", "$recursiveRef", "unevaluatedItems", "additionalItems"];

pub(super) fn compile(schema: &Value) -> Result<Vec<Node>, Vec<String>> {
    let mut compiler = Compiler { root: schema, nodes: Vec::new(), targets: HashMap::new(), problems: Vec::new() };
    compiler.targets.insert("#".to_owned(), NodeId(0));
    compiler.schema(schema, "");
    if is_circular(&compiler.nodes) {
        compiler.problem("", "a `$ref` leads back to itself, without a property or an item between");
    }
    if compiler.problems.is_empty() { Ok(compiler.nodes) } else { Err(compiler.problems) }
}

struct Compiler<'s> {
    root: &'s Value,
    nodes: Vec<Node>,
    /// The targets of references that have been compiled, or are being compiled.
    targets: HashMap<String, NodeId>,
    problems: Vec<String>,
}

impl<'s> Compiler<'s> {
    /// Compiles a schema; `place` is the path to it, for errors.
    fn schema(&mut self, schema: &'s Value, place: &str) -> NodeId {
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node::default());
        self.fill(id, schema, place);
        id
    }

    fn fill(&mut self, id: NodeId, schema: &'s Value, place: &str) {
        let node = match schema {
            Value::Object(keywords) => self.node(keywords, place),
            Value::Bool(true) => Node::default(),
            Value::Bool(false) => Node { types: Types::NONE, ..Node::default() },
            _ => {
                self.problem(place, "a schema is an object or a boolean");
                Node::default()
            }
        };
        self.nodes[id.0] = node;
    }

    fn node(&mut self, keywords: &'s Map<String, Value>, place: &str) -> Node {
        for keyword in UNSUPPORTED.iter().filter(|keyword| keywords.contains_key(**keyword)) {
            self.problem(place, &format!("`{keyword}` cannot be checked; describe the value without it"));
        }
        let mut rules = Vec::new();
        rules.extend(self.constants(keywords, place).map(Rule::OneOf));
        rules.extend(self.number(keywords, place).map(Rule::Number));
        rules.extend(self.text(keywords, place).map(|rule| Rule::Text(Box::new(rule))));
        rules.extend(self.list(keywords, place).map(|rule| Rule::List(Box::new(rule))));
        rules.extend(self.object(keywords, place).map(|rule| Rule::Object(Box::new(rule))));
        rules.extend(self.reference(keywords, place).map(Rule::Ref));
        for (keyword, rule) in [("allOf", Rule::All as fn(_) -> _), ("anyOf", Rule::Any), ("oneOf", Rule::Exactly)] {
            if let Some(Value::Array(schemas)) = keywords.get(keyword) {
                rules.push(rule(schemas.iter().map(|schema| self.schema(schema, place)).collect()));
            }
        }
        rules.extend(self.optional(keywords, "not", place).map(Rule::Not));
        if let Some(condition) = self.optional(keywords, "if", place) {
            let then = self.optional(keywords, "then", place);
            rules.push(Rule::If(condition, then, self.optional(keywords, "else", place)));
        }
        let default = keywords.get("default").filter(|value| !value.is_null()).cloned();
        Node { types: self.types(keywords, place), rules, default, ..Node::default() }
    }

    fn types(&mut self, keywords: &Map<String, Value>, place: &str) -> Types {
        let names: Vec<&str> = match keywords.get("type") {
            None => return Types::ANY,
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(name) => name.as_str().into_iter().collect(),
        };
        let mut types = Types::NONE;
        for name in &names {
            match Types::named(name) {
                Some(more) => types = types.with(more),
                None => self.problem(place, &format!("`{name}` is not a type of JSON Schema")),
            }
        }
        if names.is_empty() {
            self.problem(place, "`type` must be the name of a type, or a list of names");
        }
        types
    }

    fn constants(&mut self, keywords: &Map<String, Value>, place: &str) -> Option<Vec<Value>> {
        match (keywords.get("const"), keywords.get("enum")) {
            (Some(only), _) => Some(vec![only.clone()]),
            (None, Some(Value::Array(values))) => Some(values.clone()),
            (None, Some(_)) => {
                self.problem(place, "`enum` must be a list");
                None
            }
            (None, None) => None,
        }
    }

    fn number(&mut self, keywords: &Map<String, Value>, place: &str) -> Option<NumberRule> {
        let mut bound = |keyword: &str| {
            let value = keywords.get(keyword)?;
            let number = Number::of(value);
            if number.is_none() {
                self.problem(place, &format!("`{keyword}` must be a number"));
            }
            number
        };
        let rule = NumberRule {
            minimum: bound("minimum"),
            maximum: bound("maximum"),
            above: bound("exclusiveMinimum"),
            below: bound("exclusiveMaximum"),
            multiple_of: bound("multipleOf"),
        };
        if rule.multiple_of.is_some_and(|step| step.as_f64() <= 0.0) {
            self.problem(place, "`multipleOf` must be greater than 0");
        }
        let (low, high) = (rule.minimum.or(rule.above), rule.maximum.or(rule.below));
        if let Some((low, high)) = low.zip(high).filter(|(low, high)| low.compare(*high).is_gt()) {
            self.problem(place, &format!("no number is at least {low} and at most {high}"));
        }
        let any = [rule.minimum, rule.maximum, rule.above, rule.below, rule.multiple_of].iter().any(Option::is_some);
        any.then_some(rule)
    }

    fn text(&mut self, keywords: &Map<String, Value>, place: &str) -> Option<TextRule> {
        let size = self.size(keywords, ["minLength", "maxLength"], place);
        let pattern = keywords.get("pattern").and_then(Value::as_str).and_then(|pattern| self.pattern(pattern, place));
        let format = keywords.get("format").and_then(Value::as_str).and_then(Format::named);
        let any = size != Size::default() || pattern.is_some() || format.is_some();
        any.then_some(TextRule { size, pattern, format })
    }

    fn pattern(&mut self, pattern: &str, place: &str) -> Option<Pattern> {
        Pattern::new(pattern).map_err(|why| self.problem(place, &format!("the pattern {why}"))).ok()
    }

    fn list(&mut self, keywords: &'s Map<String, Value>, place: &str) -> Option<ListRule> {
        let mut rule = ListRule { size: self.size(keywords, ["minItems", "maxItems"], place), ..ListRule::default() };
        rule.unique = keywords.get("uniqueItems").is_some_and(|unique| unique == true);
        // Up to draft 7, a list under `items` described the first items.
        let is_list = keywords.get("items").is_some_and(Value::is_array);
        let prefix = keywords.get(if is_list { "items" } else { "prefixItems" });
        if let Some(Value::Array(schemas)) = prefix {
            rule.prefix = schemas
                .iter()
                .enumerate()
                .map(|(index, item)| self.schema(item, &join(place, &index.to_string())))
                .collect();
        }
        if !is_list {
            rule.items = keywords.get("items").map(|items| self.schema(items, &join(place, "items")));
        }
        if let Some(contains) = self.optional(keywords, "contains", place) {
            let Size { min, max } = self.size(keywords, ["minContains", "maxContains"], place);
            rule.contains = Some((contains, Size { min: min.or(Some(1)), max }));
        }
        let any = rule.size != Size::default()
            || rule.unique
            || !rule.prefix.is_empty()
            || rule.items.is_some()
            || rule.contains.is_some();
        any.then_some(rule)
    }

    fn object(&mut self, keywords: &'s Map<String, Value>, place: &str) -> Option<ObjectRule> {
        const KEYWORDS: [&str; 11] = [
            "properties",
            "required",
            "patternProperties",
            "additionalProperties",
            "unevaluatedProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
            "dependencies",
        ];
        if !KEYWORDS.iter().any(|keyword| keywords.contains_key(*keyword)) {
            return None;
        }
        let mut rule = ObjectRule {
            size: self.size(keywords, ["minProperties", "maxProperties"], place),
            required: keywords.get("required").map(texts).unwrap_or_default(),
            ..ObjectRule::default()
        };
        for (name, schema) in members(keywords.get("properties")) {
            let node = self.schema(schema, &join(place, name));
            rule.properties.push((name.as_str().into(), node));
        }
        for (pattern, schema) in members(keywords.get("patternProperties")) {
            if let Some(pattern) = self.pattern(pattern, place) {
                rule.patterns.push((pattern, self.schema(schema, place)));
            }
        }
        rule.others = self.optional(keywords, "additionalProperties", place);
        rule.unevaluated = self.optional(keywords, "unevaluatedProperties", place);
        rule.names = self.optional(keywords, "propertyNames", place);
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            for (name, dependency) in members(keywords.get(keyword)) {
                if dependency.is_array() {
                    rule.needs.push((name.as_str().into(), texts(dependency)));
                } else {
                    rule.implies.push((name.as_str().into(), self.schema(dependency, place)));
                }
            }
        }
        Some(rule)
    }

    fn size(&mut self, keywords: &Map<String, Value>, [min, max]: [&str; 2], place: &str) -> Size {
        let mut bound = |keyword: &str| {
            let value = keywords.get(keyword)?;
            // `3.0` is an integer in JSON Schema.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be whole and positive"
            )]
            let whole = value.as_f64().filter(|float| float.fract() == 0.0 && *float >= 0.0).map(|float| float as u64);
            let size = value.as_u64().or(whole);
            if size.is_none() {
                self.problem(place, &format!("`{keyword}` must be a whole number of at least 0"));
            }
            size
        };
        let size = Size { min: bound(min), max: bound(max) };
        if let Some((low, high)) = size.min.zip(size.max).filter(|(low, high)| low > high) {
            self.problem(place, &format!("`{min}` is {low}, above `{max}`, which is {high}"));
        }
        size
    }

    fn optional(&mut self, keywords: &'s Map<String, Value>, keyword: &str, place: &str) -> Option<NodeId> {
        keywords.get(keyword).map(|schema| self.schema(schema, place))
    }

    fn reference(&mut self, keywords: &Map<String, Value>, place: &str) -> Option<NodeId> {
        let target = keywords.get("$ref")?.as_str()?;
        if let Some(known) = self.targets.get(target) {
            return Some(*known);
        }
        let root = self.root;
        let found = match target.strip_prefix('#') {
            Some(pointer) if pointer.starts_with('/') => root.pointer(&unescaped(pointer)),
            Some(anchor) => anchored(root, anchor),
            None => None,
        };
        let Some(schema) = found else {
            self.problem(place, &format!("`$ref` leads to `{target}`, which is not in the schema"));
            return None;
        };
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node::default());
        self.targets.insert(target.to_owned(), id);
        self.fill(id, schema, place);
        Some(id)
    }

    fn problem(&mut self, place: &str, what: &str) {
        let text = if place.is_empty() { what.to_owned() } else { format!("`{place}`: {what}") };
        if !self.problems.contains(&text) {
            self.problems.push(text);
        }
    }
}

/// Whether a schema applies itself to the same value again, which has no end.
fn is_circular(nodes: &[Node]) -> bool {
    /// How far a node has been followed.
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        Open,
        Done,
    }
    let mut visits = vec![Visit::New; nodes.len()];
    for start in 0..nodes.len() {
        let mut path = vec![(start, false)];
        while let Some((id, is_left)) = path.pop() {
            if is_left {
                visits[id] = Visit::Done;
                continue;
            }
            match visits[id] {
                Visit::Open => return true,
                Visit::Done => continue,
                Visit::New => visits[id] = Visit::Open,
            }
            path.push((id, true));
            for next in in_place(&nodes[id]) {
                match visits[next.0] {
                    Visit::Open => return true,
                    Visit::New => path.push((next.0, false)),
                    Visit::Done => {}
                }
            }
        }
    }
    false
}

/// The nodes that apply to the same value as a node.
fn in_place(node: &Node) -> Vec<NodeId> {
    let mut found = Vec::new();
    for rule in &node.rules {
        match rule {
            Rule::Ref(node) | Rule::Not(node) => found.push(*node),
            Rule::All(nodes) | Rule::Any(nodes) | Rule::Exactly(nodes) => found.extend(nodes),
            Rule::If(condition, then, otherwise) => {
                found.extend([Some(*condition), *then, *otherwise].iter().flatten());
            }
            Rule::Object(rule) => found.extend(rule.implies.iter().map(|(_, node)| *node)),
            Rule::OneOf(_) | Rule::Number(_) | Rule::Text(_) | Rule::List(_) => {}
        }
    }
    found
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn texts(value: &Value) -> Vec<Box<str>> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(Box::from).collect()
}

/// A JSON pointer in a URI fragment, without its percent escapes.
fn unescaped(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((byte, more)) = rest.split_first() {
        let hex = more.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match (byte, hex) {
            (b'%', Some(escaped)) => {
                bytes.push(escaped);
                rest = &more[2..];
            }
            _ => {
                bytes.push(*byte);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn anchored<'s>(schema: &'s Value, anchor: &str) -> Option<&'s Value> {
    match schema {
        Value::Object(keywords) if keywords.get("$anchor").is_some_and(|name| name == anchor) => Some(schema),
        Value::Object(keywords) => keywords.values().find_map(|inner| anchored(inner, anchor)),
        Value::Array(schemas) => schemas.iter().find_map(|inner| anchored(inner, anchor)),
        _ => None,
    }
}
