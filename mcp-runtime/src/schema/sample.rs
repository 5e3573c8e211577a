//! Sample values of a schema: one that matches, and others that each violate it. They show which assertions
//! the handler's types check themselves.

use std::borrow::Cow;

use super::format::Format;
use super::instance::{Instance, Number};
use super::validator::{Depth, ListRule, Node, NodeId, NumberRule, ObjectRule, Rule, Size, TextRule, Types, Validator};

/// A value made up for a schema.
pub(super) type Sample = Instance<'static>;

/// Types nested deeper are not sampled.
const DEEPEST: usize = 8;
/// Longer texts and lists are not built.
const LONGEST: u64 = 4096;

impl Validator {
    /// A value that matches a node, if one is easy to find.
    pub(super) fn sample(&self, id: NodeId) -> Option<Sample> {
        self.sample_at(id, 0)
    }

    fn sample_at(&self, id: NodeId, depth: usize) -> Option<Sample> {
        if depth > DEEPEST {
            return None;
        }
        let found = self.candidates(self.node(id), depth);
        found.into_iter().find(|candidate| self.accepts(id, candidate, Depth::All))
    }

    fn candidates(&self, node: &Node, depth: usize) -> Vec<Sample> {
        let mut found = Vec::new();
        for rule in &node.rules {
            match rule {
                Rule::OneOf(values) => found.extend(values.iter().map(|value| Instance::of(value).into_owned())),
                Rule::Ref(target) => found.extend(self.sample_at(*target, depth)),
                Rule::Any(nodes) | Rule::Exactly(nodes) | Rule::All(nodes) => {
                    found.extend(nodes.iter().filter_map(|node| self.sample_at(*node, depth + 1)));
                }
                Rule::Number(rule) => found.extend(numbers(rule)),
                Rule::Text(rule) => found.extend(texts(rule)),
                Rule::List(rule) => found.extend(self.list(rule, depth)),
                Rule::Object(rule) => found.extend(self.object(rule, depth)),
                Rule::Not(_) | Rule::If(..) => {}
            }
        }
        found.extend(plain());
        found
    }

    fn list(&self, rule: &ListRule, depth: usize) -> Option<Sample> {
        let mut items = rule.prefix.iter().map(|node| self.sample_at(*node, depth + 1)).collect::<Option<Vec<_>>>()?;
        let wanted = rule.size.min.unwrap_or(0).max(u64::from(rule.prefix.is_empty() && rule.size.max != Some(0)));
        if wanted > LONGEST {
            return None;
        }
        while (items.len() as u64) < wanted {
            items.push(match rule.items {
                Some(node) => self.sample_at(node, depth + 1)?,
                None => Instance::Null,
            });
        }
        Some(Instance::List(items))
    }

    /// An object with every member that can be sampled.
    pub(super) fn object(&self, rule: &ObjectRule, depth: usize) -> Option<Sample> {
        let mut members = Vec::new();
        for (name, node) in &rule.properties {
            match self.sample_at(*node, depth + 1) {
                Some(value) => members.push((Cow::Owned(name.to_string()), value)),
                None if rule.requires(name) => return None,
                None => {}
            }
        }
        if let (true, Some(node)) = (rule.properties.is_empty(), rule.others) {
            members.extend(self.sample_at(node, depth + 1).map(|value| ("a".into(), value)));
        }
        Some(Instance::Object(members))
    }

    /// Values that violate a node, each in another way, near a value that matches it.
    pub(super) fn violations(&self, id: NodeId, sample: &Sample) -> Vec<Sample> {
        let node = self.node(id);
        // serde reads a struct from a list, too; a call checks that for whole arguments.
        let is_object = matches!(sample, Instance::Object(_));
        let mut found: Vec<Sample> =
            plain().filter(|value| !(is_object && matches!(value, Instance::List(_)))).collect();
        found.push(Instance::Text("\u{1}".into()));
        found.push(Instance::Bool(false));
        for rule in &node.rules {
            match rule {
                Rule::OneOf(values) => values.iter().filter_map(Number::of).for_each(|value| near(value, &mut found)),
                Rule::Number(rule) => bounds(rule, &mut found),
                Rule::Text(rule) => found.extend(of_wrong_length(rule)),
                Rule::List(rule) => found.extend(lists_of_wrong_length(rule, sample)),
                Rule::Object(rule) => found.extend(objects_with_wrong_names(rule, sample)),
                _ => {}
            }
        }
        found.retain(|value| !self.accepts(id, value, Depth::All));
        found
    }

    /// Whether every way to violate a node can be shown by a value.
    pub(super) fn is_samplable(&self, id: NodeId) -> bool {
        self.node(id).rules.iter().all(|rule| match rule {
            Rule::Text(rule) => {
                let is_sized = rule.size != Size::default();
                // A text of the wrong length has no format, either; every simple text is a regular expression.
                let shows_format = rule.format.is_none_or(|format| format != Format::Regex && !is_sized);
                rule.pattern.is_none() && shows_format && rule.size.max.is_none_or(|max| max < LONGEST)
            }
            Rule::List(rule) => {
                rule.contains.is_none() && [rule.size.min, rule.size.max].iter().flatten().all(|size| *size < LONGEST)
            }
            Rule::Object(rule) => {
                let plain_others = rule.others.is_none_or(|node| self.node(node).types == Types::NONE)
                    || (rule.properties.is_empty() && rule.patterns.is_empty());
                plain_others
                    && rule.patterns.is_empty()
                    && rule.unevaluated.is_none()
                    && rule.names.is_none()
                    && rule.size == Size::default()
                    && rule.needs.is_empty()
                    && rule.implies.is_empty()
            }
            Rule::Number(rule) => rule.multiple_of.is_none(),
            Rule::OneOf(_) | Rule::Ref(_) | Rule::Any(_) | Rule::Exactly(_) => true,
            Rule::All(_) | Rule::Not(_) | Rule::If(..) => false,
        })
    }
}

/// One value of each type.
fn plain() -> impl Iterator<Item = Sample> {
    [
        Instance::Text("a".into()),
        integer(1),
        Instance::Number(Number::Float(0.5)),
        Instance::Bool(true),
        Instance::Object(Vec::new()),
        Instance::List(Vec::new()),
        Instance::Null,
    ]
    .into_iter()
}

fn integer(number: i128) -> Sample {
    Instance::Number(Number::Integer(number))
}

/// Numbers at and around all bounds.
fn bounds(rule: &NumberRule, found: &mut Vec<Sample>) {
    for bound in [rule.minimum, rule.maximum, rule.above, rule.below, rule.multiple_of].into_iter().flatten() {
        near(bound, found);
    }
}

/// Numbers at and around a bound.
fn near(bound: Number, found: &mut Vec<Sample>) {
    let shifted = |by: i32| match bound {
        Number::Integer(number) => Number::Integer(number.saturating_add(by.into())),
        Number::Float(number) => Number::Float(number + f64::from(by)),
    };
    let next = [bound.as_f64().next_up(), bound.as_f64().next_down()].map(Number::Float);
    found.extend([bound, shifted(1), shifted(-1), next[0], next[1]].map(Instance::Number));
}

fn numbers(rule: &NumberRule) -> Vec<Sample> {
    let middle = rule.minimum.or(rule.above).zip(rule.maximum.or(rule.below));
    let middle = middle.map(|(min, max)| Instance::Number(Number::Float(f64::midpoint(min.as_f64(), max.as_f64()))));
    let mut found = Vec::new();
    bounds(rule, &mut found);
    found.extend([integer(0), integer(1)]);
    found.extend(middle);
    found
}

fn text(length: u64) -> Option<Sample> {
    let length = usize::try_from(length).ok().filter(|_| length <= LONGEST)?;
    Some(Instance::Text("a".repeat(length).into()))
}

fn texts(rule: &TextRule) -> Vec<Sample> {
    let example = rule.format.map(|format| Instance::Text(format.example().into()));
    let fitting = [rule.size.min.unwrap_or(1).max(1), rule.size.min.unwrap_or(0)].into_iter().filter_map(text);
    let guesses = ["A", "0", "a1", "a-b"].map(|guess| Instance::Text(guess.into()));
    example.into_iter().chain(fitting).chain(guesses).collect()
}

fn of_wrong_length(rule: &TextRule) -> Vec<Sample> {
    let shorter = rule.size.min.and_then(|min| text(min.checked_sub(1)?));
    let longer = rule.size.max.and_then(|max| text(max.saturating_add(1)));
    shorter.into_iter().chain(longer).collect()
}

fn lists_of_wrong_length(rule: &ListRule, sample: &Sample) -> Vec<Sample> {
    let Instance::List(items) = sample else { return Vec::new() };
    let of_length = |length: u64| {
        let length = usize::try_from(length).ok().filter(|_| length <= LONGEST)?;
        let mut items = items.clone();
        items.resize(length, items.last().cloned().unwrap_or(Instance::Null));
        Some(Instance::List(items))
    };
    let shorter = rule.size.min.and_then(|min| of_length(min.checked_sub(1)?));
    let longer = rule.size.max.and_then(|max| of_length(max.saturating_add(1)));
    let twice = items.first().filter(|_| rule.unique).map(|item| Instance::List(vec![item.clone(), item.clone()]));
    shorter.into_iter().chain(longer).chain(twice).collect()
}

fn objects_with_wrong_names(rule: &ObjectRule, sample: &Sample) -> Vec<Sample> {
    let Instance::Object(members) = sample else { return Vec::new() };
    let without = |gone: &str| Instance::Object(members.iter().filter(|(name, _)| name != gone).cloned().collect());
    let mut found: Vec<Sample> = rule.required.iter().map(|name| without(name)).collect();
    let mut more = members.clone();
    more.push(("\u{1}".into(), Instance::Object(Vec::new())));
    found.push(Instance::Object(more));
    found
}
