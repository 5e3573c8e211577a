//! [`Validator`]: the compiled schema as a whole.

use serde_json::Value;

use super::compile;
use super::node::{Node, NodeId, ObjectRule, Rule, Size, Types};
use crate::schema::instance::{Instance, Number};

/// A compiled schema. Its root is the first node.
#[derive(Debug)]
pub(crate) struct Validator {
    pub(in crate::schema) nodes: Vec<Node>,
    /// Whether a null under an optional property of the root counts as absent: clients send it for arguments and
    /// form fields that they do not set.
    pub(super) null_is_absent: bool,
}

impl Validator {
    pub(crate) const ROOT: NodeId = NodeId(0);

    /// Compiles a schema. The errors name each keyword that cannot be checked.
    pub(crate) fn new(schema: &Value) -> Result<Validator, Vec<String>> {
        compile::compile(schema).map(|nodes| Validator { nodes, null_is_absent: false })
    }

    /// Treats null as absent, where the root has an optional property.
    pub(crate) fn with_null_as_absent(mut self) -> Self {
        self.null_is_absent = true;
        self
    }

    pub(in crate::schema) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    pub(in crate::schema) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    pub(in crate::schema) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0]
    }

    /// The properties that the root declares.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (&str, NodeId)> {
        self.root_object().into_iter().flat_map(|rule| &rule.properties).map(|(name, node)| (&**name, *node))
    }

    /// Whether the root requires a property.
    pub(crate) fn requires(&self, name: &str) -> bool {
        self.root_object().is_some_and(|rule| rule.requires(name))
    }

    pub(crate) fn is_checked_by_type(&self, id: NodeId) -> bool {
        self.node(id).checked_by_type
    }

    /// Whether the root forbids properties that it does not declare, and says nothing else of them.
    pub(crate) fn is_closed(&self) -> bool {
        let others = self.root_object().and_then(|rule| rule.others);
        others.is_some_and(|node| self.node(node).types == Types::NONE) && !self.constrains_whole()
    }

    /// Whether the root asserts more than its properties, and which of them are required or allowed.
    pub(crate) fn constrains_whole(&self) -> bool {
        self.node(Self::ROOT).rules.iter().any(|rule| match rule {
            Rule::Object(rule) => {
                let ObjectRule { patterns, others, unevaluated, names, size, needs, implies, .. } = &**rule;
                let constrained_others = others.is_some_and(|node| {
                    let node = self.node(node);
                    node.types != Types::NONE && (node.types != Types::ANY || node.has_rules())
                });
                constrained_others
                    || !patterns.is_empty()
                    || unevaluated.is_some()
                    || names.is_some()
                    || *size != Size::default()
                    || !needs.is_empty()
                    || !implies.is_empty()
            }
            _ => true,
        })
    }

    /// The value of a text, read as the type of a node: prompt arguments and URI variables are strings on the wire.
    pub(crate) fn read_text<'a>(&self, id: NodeId, text: &'a str) -> Instance<'a> {
        let types = self.node(self.resolved(id)).types;
        let read = match () {
            () if types.is_only(Types::NUMBER) => {
                // `07` is a number in a URI, if not in JSON.
                let integer = text.trim().parse().ok().map(|number| Instance::Number(Number::Integer(number)));
                let json = || Instance::read(text.trim()).filter(|value| matches!(value, Instance::Number(_)));
                integer.or_else(json)
            }
            () if types.is_only(Types::BOOLEAN) => match text.trim() {
                "true" => Some(Instance::Bool(true)),
                "false" => Some(Instance::Bool(false)),
                _ => None,
            },
            () => None,
        };
        read.unwrap_or(Instance::Text(text.into()))
    }

    pub(in crate::schema) fn root_object(&self) -> Option<&ObjectRule> {
        self.node(Self::ROOT).rules.iter().find_map(|rule| match rule {
            Rule::Object(rule) => Some(&**rule),
            _ => None,
        })
    }

    /// The target of references, for a node that is nothing else.
    pub(in crate::schema) fn resolved(&self, mut id: NodeId) -> NodeId {
        // A chain of references is not longer than the list of nodes, unless it is a cycle.
        for _ in 0..self.nodes.len() {
            match self.node(id) {
                Node { types: Types::ANY, rules, .. } => match &rules[..] {
                    [Rule::Ref(target)] => id = *target,
                    _ => break,
                },
                _ => break,
            }
        }
        id
    }
}
