//! Checks the keywords that combine schemas, and finds the alternative that a value was meant for.

use super::check::Checker;
use super::compiled::Validator;
use super::node::{NodeId, ObjectRule, Rule};
use crate::schema::instance::Instance;

impl Checker<'_> {
    pub(super) fn combination(&mut self, id: NodeId, rule: &Rule, instance: &Instance<'_>) {
        match rule {
            Rule::All(nodes) => nodes.iter().for_each(|node| self.check(*node, instance)),
            Rule::Any(nodes) if !nodes.iter().any(|node| self.is_valid(*node, instance)) => {
                self.no_alternative(id, nodes, instance);
            }
            Rule::Exactly(nodes) => match nodes.iter().filter(|node| self.is_valid(**node, instance)).count() {
                0 => self.no_alternative(id, nodes, instance),
                1 => {}
                _ => {
                    let got = format!("{}, which matches more than one of these", instance.describe());
                    let expected = format!("exactly one of: {}", self.validator.describe(id));
                    self.expected(id, &expected, &got, instance.type_name());
                }
            },
            Rule::Not(node) if self.is_valid(*node, instance) => {
                let expected = format!("anything but {}", self.validator.describe(*node));
                self.expected(id, &expected, &instance.describe(), instance.type_name());
            }
            Rule::If(condition, then, otherwise) => {
                let branch = if self.is_valid(*condition, instance) { then } else { otherwise };
                if let Some(node) = branch {
                    self.check(*node, instance);
                }
            }
            _ => {}
        }
    }

    /// Reports that no alternative matches: what is wrong with the one that was meant, if that can be told.
    fn no_alternative(&mut self, id: NodeId, nodes: &[NodeId], instance: &Instance<'_>) {
        if self.quiet {
            return self.wrong(id, instance);
        }
        match self.meant(nodes, instance) {
            Meant::Node(node) => self.check(node, instance),
            Meant::Tag(name) => self.wrong_tag(id, nodes, &name, instance),
            Meant::Unknown => self.wrong(id, instance),
        }
    }

    fn meant(&self, nodes: &[NodeId], instance: &Instance<'_>) -> Meant {
        let validator = self.validator;
        let of_type: Vec<NodeId> =
            nodes.iter().copied().filter(|node| validator.has_type_of(*node, instance)).collect();
        if let [only] = of_type[..] {
            return Meant::Node(only);
        }
        let objects: Vec<(NodeId, &ObjectRule)> =
            of_type.iter().filter_map(|node| Some((*node, validator.object_of(*node)?))).collect();
        if objects.len() != of_type.len() || objects.is_empty() {
            return Meant::Unknown;
        }
        // An internally tagged enum: each variant has a constant under the same name.
        let tags = |rule: &ObjectRule| {
            let named = rule.properties.iter().filter(|(_, node)| validator.constants(*node).is_some());
            named.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
        };
        let first = tags(objects[0].1);
        if let Some(tag) = first.into_iter().find(|tag| objects.iter().all(|(_, rule)| tags(rule).contains(tag))) {
            let Some(sent) = instance.get(&tag) else { return Meant::Tag(tag) };
            let has_tag = |rule: &ObjectRule| {
                let constants = rule.property(&tag).and_then(|node| validator.constants(node));
                constants.is_some_and(|values| values.iter().any(|value| sent.equals(value)))
            };
            return match objects.iter().find(|(_, rule)| has_tag(rule)) {
                Some((node, _)) => Meant::Node(*node),
                None => Meant::Tag(tag),
            };
        }
        // An externally tagged or untagged one: the variant whose required members are there.
        let complete = |rule: &ObjectRule| rule.required.iter().all(|name| instance.get(name).is_some());
        let mut complete = objects.iter().filter(|(_, rule)| complete(rule));
        match (complete.next(), complete.next()) {
            (Some((node, _)), None) => Meant::Node(*node),
            _ => Meant::Unknown,
        }
    }

    fn wrong_tag(&mut self, id: NodeId, nodes: &[NodeId], tag: &str, instance: &Instance<'_>) {
        let validator = self.validator;
        let values = nodes.iter().filter_map(|node| validator.constants(validator.object_of(*node)?.property(tag)?));
        let expected = super::describe::one_of(values.flatten());
        let (got, kind) = match instance.get(tag) {
            Some(sent) => (sent.describe(), sent.type_name()),
            None => ("nothing".to_owned(), "missing"),
        };
        self.at(tag, |checker| checker.expected(id, &expected, &got, kind));
    }
}

/// The alternative that a value was meant for.
enum Meant {
    Node(NodeId),
    /// None of the variants has this tag.
    Tag(String),
    Unknown,
}

impl Validator {
    fn has_type_of(&self, id: NodeId, instance: &Instance<'_>) -> bool {
        let node = self.node(self.resolved(id));
        let by_constants = node.rules.iter().find_map(|rule| match rule {
            Rule::OneOf(values) => {
                Some(values.iter().any(|value| Instance::of(value).type_name() == instance.type_name()))
            }
            _ => None,
        });
        node.types.allow(instance) && by_constants.unwrap_or(true)
    }

    fn object_of(&self, id: NodeId) -> Option<&ObjectRule> {
        self.node(self.resolved(id)).rules.iter().find_map(|rule| match rule {
            Rule::Object(rule) => Some(&**rule),
            _ => None,
        })
    }
}
