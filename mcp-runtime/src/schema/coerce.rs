//! Lenient reading: values that models send with the wrong type, where the schema leaves one reading.
//!
//! `"5"` for an integer, `"true"` for a boolean, a list or an object as JSON text, a single value for a list, and
//! null for something optional. Runs only after strict decoding has failed.

use super::instance::{Instance, Number};
use super::validator::{Depth, NodeId, ObjectRule, Rule, Types, Validator};

impl Validator {
    /// The value as its schema reads it, if that differs from the value.
    pub(crate) fn coerced(&self, instance: &Instance<'_>) -> Option<Instance<'static>> {
        self.coerce(Validator::ROOT, instance)
    }

    fn coerce(&self, id: NodeId, instance: &Instance<'_>) -> Option<Instance<'static>> {
        let id = self.only_reading(id)?;
        let types = self.node(id).types;
        match instance {
            Instance::Text(text) if types.is_only(Types::NUMBER) => number(text, types),
            Instance::Text(text) if types.is_only(Types::BOOLEAN) => boolean(text),
            Instance::Number(Number::Float(float)) if types.is_only(Types::INTEGER) => whole(*float),
            Instance::Text(text) if types.is_only(Types::OBJECT) && text.trim_start().starts_with('{') => {
                self.parsed(id, text)
            }
            Instance::Text(text) if types.is_only(Types::LIST) && text.trim_start().starts_with('[') => {
                self.parsed(id, text).or_else(|| self.listed(id, instance))
            }
            Instance::List(items) => self.items(id, items),
            Instance::Null => None,
            _ if types.is_only(Types::LIST) => self.listed(id, instance),
            Instance::Object(members) => self.members(id, members),
            _ => None,
        }
    }

    /// The node that a value must match, if there is one besides null.
    fn only_reading(&self, id: NodeId) -> Option<NodeId> {
        let id = self.resolved(id);
        let node = self.node(id);
        match &node.rules[..] {
            [Rule::Any(nodes) | Rule::Exactly(nodes)] if node.types == Types::ANY => {
                let mut nodes = nodes.iter().map(|node| self.resolved(*node));
                let some = nodes.clone().filter(|node| self.node(*node).types != Types::NULL).count();
                let only = nodes.find(|node| self.node(*node).types != Types::NULL)?;
                (some == 1).then_some(only)
            }
            _ => Some(id),
        }
    }

    /// A list or an object that was sent as JSON text.
    fn parsed(&self, id: NodeId, text: &str) -> Option<Instance<'static>> {
        let value = Instance::read(text)?;
        let value = self.coerce(id, &value).unwrap_or_else(|| value.into_owned());
        self.accepts(id, &value, Depth::All).then_some(value)
    }

    /// A single value that was sent for a list.
    fn listed(&self, id: NodeId, value: &Instance<'_>) -> Option<Instance<'static>> {
        let item = self.node(id).rules.iter().find_map(|rule| match rule {
            Rule::List(rule) => rule.items,
            _ => None,
        });
        // A list of lists is not wrapped twice; a list that contains itself would be wrapped without end.
        let item = item.filter(|item| !self.node(self.resolved(*item)).types.is_only(Types::LIST));
        let item = item.and_then(|item| self.coerce(item, value));
        let list = Instance::List(vec![item.unwrap_or_else(|| value.clone().into_owned())]);
        self.accepts(id, &list, Depth::All).then_some(list)
    }

    fn items(&self, id: NodeId, items: &[Instance<'_>]) -> Option<Instance<'static>> {
        let rule = self.node(id).rules.iter().find_map(|rule| match rule {
            Rule::List(rule) => Some(rule),
            _ => None,
        })?;
        let mut changed = false;
        let read = items.iter().enumerate().map(|(index, item)| {
            let node = rule.prefix.get(index).copied().or(rule.items);
            let read = node.and_then(|node| self.coerce(node, item));
            changed |= read.is_some();
            read.unwrap_or_else(|| item.clone().into_owned())
        });
        let read = Instance::List(read.collect());
        changed.then_some(read)
    }

    fn members(&self, id: NodeId, members: &[(std::borrow::Cow<'_, str>, Instance<'_>)]) -> Option<Instance<'static>> {
        let rule = self.node(id).rules.iter().find_map(|rule| match rule {
            Rule::Object(rule) => Some(&**rule),
            _ => None,
        })?;
        let mut changed = false;
        let mut read = Vec::with_capacity(members.len());
        for (name, value) in members {
            if matches!(value, Instance::Null) && self.is_unset(rule, name) {
                changed = true;
                continue;
            }
            let node = rule.property(name).or(rule.others);
            let coerced = node.and_then(|node| self.coerce(node, value));
            changed |= coerced.is_some();
            read.push((name.clone().into_owned().into(), coerced.unwrap_or_else(|| value.clone().into_owned())));
        }
        changed.then_some(Instance::Object(read))
    }

    /// Whether a null stands for a property that is not set.
    fn is_unset(&self, rule: &ObjectRule, name: &str) -> bool {
        let Some(node) = rule.property(name) else { return false };
        !rule.requires(name) && !self.accepts(node, &Instance::Null, Depth::All)
    }
}

fn number(text: &str, types: Types) -> Option<Instance<'static>> {
    let text = text.trim();
    if let Ok(number) = text.parse::<i128>() {
        return Some(Instance::Number(Number::Integer(number)));
    }
    // What JSON calls a number; Rust reads `inf` and `nan` as well.
    let float = Instance::read(text).filter(|value| matches!(value, Instance::Number(_)))?;
    match float {
        Instance::Number(Number::Float(float)) if types.is_only(Types::INTEGER) => whole(float),
        _ => Some(float.into_owned()),
    }
}

/// An integer that was written with a fraction of zero.
fn whole(float: f64) -> Option<Instance<'static>> {
    Number::Float(float).exact().map(|number| Instance::Number(Number::Integer(number)))
}

fn boolean(text: &str) -> Option<Instance<'static>> {
    let is = |word: &str| text.trim().eq_ignore_ascii_case(word);
    match (is("true"), is("false")) {
        (true, _) => Some(Instance::Bool(true)),
        (_, true) => Some(Instance::Bool(false)),
        _ => None,
    }
}
