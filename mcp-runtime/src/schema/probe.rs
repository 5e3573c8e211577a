//! Finds out which assertions of a schema the handler's types check themselves, so that a call pays only for the
//! others.
//!
//! A schema does not say where it comes from: `enum` may stand for a Rust enum, which rejects other values, or for a
//! string that somebody narrowed. So the type is asked once, when the handler is registered: it is given a value that
//! matches, and values that each violate one assertion. A type that rejects a violation checks it.

use super::instance::Instance;
use super::sample::Sample;
use super::validator::{Depth, NodeId, Rule, Validator};
use std::borrow::Cow;

/// A type that decodes values of a node: whether it accepts a value.
pub(crate) struct Probe<'a> {
    pub(crate) node: NodeId,
    /// The members that surround the node's value, if it is a property of what the type decodes.
    pub(crate) within: Option<&'a str>,
    /// Whether the type also accepts null, which stands for an argument that is not set.
    pub(crate) is_optional: bool,
    /// Whether values arrive as text, where `1` may be a string.
    pub(crate) is_text: bool,
    pub(crate) accepts: &'a dyn Fn(&Instance<'_>) -> bool,
}

/// The values tried per probe; a schema that needs more is checked in full.
const TRIES: usize = 2000;

impl Validator {
    /// Marks the nodes that `probes` show to be checked by types. The others, and those that contain them, are
    /// checked in each call.
    pub(crate) fn mark_checked(&mut self, probes: &[Probe<'_>]) {
        // The nodes that were reached, and those of them whose own assertions the type does not check.
        let (mut seen, mut lax) = (NodeSet::default(), NodeSet::default());
        for probe in probes {
            let Probe { node, is_optional, is_text, accepts, .. } = *probe;
            let nullable = is_optional.then_some(node);
            let validator = &*self;
            let mut asking =
                Prober { validator, nullable, is_text, accepts, tries: TRIES, seen: &mut seen, unchecked: &mut lax };
            match probe.within {
                None => asking.visit(probe.node, &|value| value),
                Some(name) => asking.visit_member(Validator::ROOT, name, probe.node),
            }
        }
        let all: Vec<NodeId> = self.ids().collect();
        // A node that was not reached is checked in each call, unless types are all it asserts. So is all that a lax
        // type contains: a shared definition may have been reached through a type that is not lax.
        let mut own = self.descendants(&lax);
        own.extend(all.iter().copied().filter(|id| !seen.contains(*id) && self.node(*id).has_rules()));
        let mut unchecked = own.clone();
        loop {
            let more: Vec<NodeId> = all
                .iter()
                .copied()
                .filter(|id| {
                    !unchecked.contains(*id) && self.children(*id).iter().any(|child| unchecked.contains(*child))
                })
                .collect();
            if more.is_empty() {
                break;
            }
            unchecked.extend(more);
        }
        for id in all {
            let node = self.node_mut(id);
            (node.checked_by_type, node.is_own_checked) = (!unchecked.contains(id), !own.contains(id));
        }
    }

    /// These nodes, and all below them.
    fn descendants(&self, of: &NodeSet) -> NodeSet {
        let (mut found, mut left) = (NodeSet::default(), self.ids().filter(|id| of.contains(*id)).collect::<Vec<_>>());
        while let Some(id) = left.pop() {
            if found.insert(id) {
                left.extend(self.children(id));
            }
        }
        found
    }

    fn children(&self, id: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        for rule in &self.node(id).rules {
            match rule {
                Rule::Ref(node) | Rule::Not(node) => found.push(*node),
                Rule::All(nodes) | Rule::Any(nodes) | Rule::Exactly(nodes) => found.extend(nodes),
                Rule::If(condition, then, otherwise) => {
                    found.extend([Some(*condition), *then, *otherwise].iter().flatten());
                }
                Rule::List(rule) => {
                    found.extend(&rule.prefix);
                    found.extend(rule.items);
                    found.extend(rule.contains.map(|(node, _)| node));
                }
                Rule::Object(rule) => {
                    found.extend(rule.properties.iter().map(|(_, node)| *node));
                    found.extend(rule.patterns.iter().map(|(_, node)| *node));
                    found.extend([rule.others, rule.unevaluated, rule.names].iter().flatten());
                    found.extend(rule.implies.iter().map(|(_, node)| *node));
                }
                Rule::OneOf(_) | Rule::Number(_) | Rule::Text(_) => {}
            }
        }
        found
    }
}

/// A set of nodes. They are numbered, so it is a list.
#[derive(Debug, Clone, Default)]
struct NodeSet(Vec<bool>);

impl NodeSet {
    fn contains(&self, id: NodeId) -> bool {
        self.0.get(id.index()).is_some_and(|is_in| *is_in)
    }

    /// Returns false if it was there before.
    fn insert(&mut self, id: NodeId) -> bool {
        if self.0.len() <= id.index() {
            self.0.resize(id.index() + 1, false);
        }
        !std::mem::replace(&mut self.0[id.index()], true)
    }

    fn remove(&mut self, id: NodeId) {
        if let Some(is_in) = self.0.get_mut(id.index()) {
            *is_in = false;
        }
    }

    fn extend(&mut self, ids: impl IntoIterator<Item = NodeId>) {
        for id in ids {
            self.insert(id);
        }
    }
}

struct Prober<'v> {
    validator: &'v Validator,
    /// The node where null stands for an argument that is not set.
    nullable: Option<NodeId>,
    is_text: bool,
    accepts: &'v dyn Fn(&Instance<'_>) -> bool,
    tries: usize,
    seen: &'v mut NodeSet,
    unchecked: &'v mut NodeSet,
}

impl Prober<'_> {
    /// Probes a node and those below it; `place` puts a value of the node into one that the type decodes.
    fn visit(&mut self, id: NodeId, place: &dyn Fn(Sample) -> Sample) {
        self.visit_within(id, id, place);
    }

    /// Like [`visit`](Self::visit), for a node that is an alternative of `outer`: a value of another alternative violates
    /// the node, but may be accepted.
    fn visit_within(&mut self, id: NodeId, outer: NodeId, place: &dyn Fn(Sample) -> Sample) {
        if !self.seen.insert(id) {
            return;
        }
        let sample = self.validator.sample(id).filter(|sample| self.accepts(&place(sample.clone())));
        let Some(sample) = sample else {
            self.seen.remove(id);
            return;
        };
        let mut violations = self.validator.violations(id, &sample);
        violations.retain(|value| !self.validator.accepts(outer, value, Depth::All));
        if self.nullable == Some(outer) {
            violations.retain(|value| !matches!(value, Instance::Null));
        }
        if self.is_text {
            violations.retain(|value| self.violates_as_text(id, value));
        }
        if !self.validator.is_samplable(id) || violations.into_iter().any(|value| self.accepts(&place(value))) {
            self.unchecked.insert(id);
        }
        let validator = self.validator;
        for rule in &validator.node(id).rules {
            match rule {
                Rule::Ref(node) => self.visit_within(*node, outer, place),
                Rule::Any(nodes) | Rule::Exactly(nodes) => {
                    for node in nodes {
                        self.visit_within(*node, outer, place);
                    }
                }
                Rule::List(rule) => {
                    for (index, node) in rule.prefix.iter().enumerate() {
                        self.visit(*node, &|value| place(with_item(&sample, index, value)));
                    }
                    if let (Some(node), Instance::List(items)) = (rule.items, &sample) {
                        // Past the prefix, or in place of the first item.
                        let index = rule.prefix.len().min(items.len().saturating_sub(1));
                        self.visit(node, &|value| place(with_item(&sample, index, value)));
                    }
                }
                Rule::Object(rule) => {
                    for (name, node) in &rule.properties {
                        self.visit(*node, &|value| place(with_member(&sample, name, value)));
                    }
                    if let (true, Some(node)) = (rule.properties.is_empty(), rule.others) {
                        self.visit(node, &|value| place(with_member(&sample, "a", value)));
                    }
                }
                _ => {}
            }
        }
    }

    /// Probes a node that is a property of `outer`.
    fn visit_member(&mut self, outer: NodeId, name: &str, id: NodeId) {
        let Some(sample) = self.validator.sample(outer) else { return };
        self.visit(id, &|value| with_member(&sample, name, value));
    }

    /// Whether a value still violates a node after it has been sent as text.
    fn violates_as_text(&self, id: NodeId, value: &Sample) -> bool {
        let text = match value {
            Instance::Text(text) => text.to_string(),
            Instance::Number(number) => number.to_string(),
            Instance::Bool(value) => value.to_string(),
            Instance::Null | Instance::List(_) | Instance::Object(_) => return false,
        };
        !self.validator.accepts(id, &self.validator.read_text(id, &text), Depth::All)
    }

    fn accepts(&mut self, value: &Sample) -> bool {
        // Without tries left, every violation counts as accepted: the call checks.
        if self.tries == 0 {
            return true;
        }
        self.tries -= 1;
        (self.accepts)(value)
    }
}

fn with_item(list: &Sample, index: usize, value: Sample) -> Sample {
    let Instance::List(items) = list else { return Instance::Null };
    let mut items = items.clone();
    match items.get_mut(index) {
        Some(item) => *item = value,
        None => items.push(value),
    }
    Instance::List(items)
}

fn with_member(object: &Sample, name: &str, value: Sample) -> Sample {
    let Instance::Object(members) = object else { return Instance::Null };
    let mut members: Vec<_> = members.iter().filter(|(other, _)| other != name).cloned().collect();
    members.push((Cow::Owned(name.to_owned()), value));
    Instance::Object(members)
}
