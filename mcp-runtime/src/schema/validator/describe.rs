//! Schemas in words: what a value must be, for error texts.

use std::borrow::Cow;

use serde_json::Value;

use super::compiled::Validator;
use super::node::{ListRule, NodeId, NumberRule, Rule, Size, TextRule, Types};
use crate::jsonrpc::error::shorten;
use crate::jsonrpc::raw::to_text;
use crate::schema::instance::{Instance, Number};

/// The names of types: in words, and in JSON Schema.
const NAMES: [(Types, &str, &str); 7] = [
    (Types::INTEGER, "an integer", "integer"),
    (Types::NUMBER, "a number", "number"),
    (Types::TEXT, "a string", "string"),
    (Types::BOOLEAN, "true or false", "boolean"),
    (Types::LIST, "a list", "array"),
    (Types::OBJECT, "an object", "object"),
    (Types::NULL, "null", "null"),
];

impl Validator {
    /// What a value of a node must be: `an integer from 1 to 5`.
    pub(super) fn describe(&self, id: NodeId) -> String {
        if let Some(values) = self.constants(id) {
            return one_of(values.into_iter());
        }
        let node = self.node(self.resolved(id));
        let alternatives = node.rules.iter().find_map(|rule| match rule {
            Rule::Any(nodes) | Rule::Exactly(nodes) => Some(nodes),
            _ => None,
        });
        if let (Types::ANY, Some(nodes)) = (node.types, alternatives) {
            let mut each: Vec<String> = nodes.iter().map(|node| self.describe(*node)).collect();
            each.dedup();
            return each.join(", or ");
        }
        let types = named(node.types).iter().map(|(words, _)| *words).collect::<Vec<_>>().join(" or ");
        let mut text = if node.types == Types::ANY { "a value".to_owned() } else { types };
        for rule in &node.rules {
            match rule {
                Rule::Number(rule) => text.push_str(&rule.describe()),
                Rule::Text(rule) => text = rule.describe(text),
                Rule::List(rule) => text.push_str(&rule.describe()),
                _ => {}
            }
        }
        if text.is_empty() { "nothing".to_owned() } else { text }
    }

    /// The JSON Schema name of a node's type, or of each of them.
    pub(crate) fn type_name(&self, id: NodeId) -> Cow<'static, str> {
        if let Some(values) = self.constants(id) {
            let mut names: Vec<&str> = values.into_iter().map(|value| Instance::of(value).type_name()).collect();
            names.dedup();
            return names.join(" or ").into();
        }
        let types = self.node(self.resolved(id)).types;
        match &named(types)[..] {
            _ if types == Types::ANY => Cow::Borrowed("value"),
            [] => Cow::Borrowed("nothing"),
            [(_, name)] => Cow::Borrowed(name),
            names => names.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(" or ").into(),
        }
    }

    /// The values of a node that allows only constants: `enum`, `const`, or alternatives of these.
    pub(super) fn constants(&self, id: NodeId) -> Option<Vec<&Value>> {
        self.node(self.resolved(id)).rules.iter().find_map(|rule| match rule {
            Rule::OneOf(values) => Some(values.iter().collect()),
            Rule::Any(nodes) | Rule::Exactly(nodes) => {
                let each = nodes.iter().map(|node| match &self.node(*node).rules[..] {
                    [Rule::OneOf(values)] => Some(values),
                    _ => None,
                });
                Some(each.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
            }
            _ => None,
        })
    }
}

fn named(types: Types) -> Vec<(&'static str, &'static str)> {
    let mut left = types;
    let mut names = Vec::new();
    for (one, words, name) in NAMES.iter().rev() {
        // A number that may have a fraction includes the integers.
        if left.contains(*one) {
            left = left.without(*one);
            names.push((*words, *name));
        }
    }
    names.reverse();
    names
}

/// `"a", "b" or "c"`
pub(super) fn one_of<'v>(values: impl Iterator<Item = &'v Value>) -> String {
    let values: Vec<String> = values.map(to_text).collect();
    match values.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            let text = format!("one of {} or {last}", rest.join(", "));
            shorten(&text).into_owned()
        }
        _ => shorten(&values.concat()).into_owned(),
    }
}

impl NumberRule {
    fn describe(&self) -> String {
        let bound = |inclusive: Option<Number>, exclusive: Option<Number>| match (inclusive, exclusive) {
            (Some(number), _) => Some((number, true)),
            (None, Some(number)) => Some((number, false)),
            (None, None) => None,
        };
        let range = match (bound(self.minimum, self.above), bound(self.maximum, self.below)) {
            (Some((min, true)), Some((max, true))) => format!(" from {min} to {max}"),
            (min, max) => {
                let min =
                    min.map(|(min, equal)| format!("{} {min}", if equal { "of at least" } else { "greater than" }));
                let max = max.map(|(max, equal)| format!("{} {max}", if equal { "of at most" } else { "less than" }));
                let both: Vec<String> = min.into_iter().chain(max).collect();
                if both.is_empty() { String::new() } else { format!(" {}", both.join(" and ")) }
            }
        };
        match self.multiple_of {
            Some(step) => format!("{range} that is a multiple of {step}"),
            None => range,
        }
    }
}

impl TextRule {
    fn describe(&self, kind: String) -> String {
        let text = match self.format {
            Some(format) => format.describe(),
            None => kind + &self.size.describe("character"),
        };
        match &self.pattern {
            Some(pattern) => format!("{text} that matches the pattern {}", pattern.as_str()),
            None => text,
        }
    }
}

impl ListRule {
    fn describe(&self) -> String {
        let unique = if self.unique { " without duplicates" } else { "" };
        self.size.describe("item") + unique
    }
}

impl Size {
    fn describe(self, of: &str) -> String {
        let plural = |number: u64| if number == 1 { "" } else { "s" };
        let only = |how: &str, number: u64| format!(" of {how}{number} {of}{}", plural(number));
        match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => only("exactly ", min),
            (Some(min), Some(max)) => format!(" of {min} to {max} {of}s"),
            (Some(min), None) => only("at least ", min),
            (None, Some(max)) => only("at most ", max),
            (None, None) => String::new(),
        }
    }
}
