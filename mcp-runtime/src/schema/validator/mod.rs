//! [`Validator`]: a compiled JSON Schema (2020-12), and the nodes it consists of.
//!
//! One validator serves the arguments of calls, the answers to forms, defaults, and structured results. It is
//! written here rather than taken from a crate: `jsonschema` would add 40 crates to the 45 a server may have, and its
//! errors are for people who know the schema, not for a model that has to correct a call.

mod check;
mod combine;
mod compile;
mod describe;
mod object;
mod pattern;
mod problem;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::format::Format;
use super::instance::{Instance, Number};
use pattern::Pattern;

pub(crate) use check::Depth;
pub use problem::Problem;

/// A compiled schema. Its root is the first node.
#[derive(Debug)]
pub(crate) struct Validator {
    pub(super) nodes: Vec<Node>,
    /// Whether a null under an optional property of the root counts as absent: clients send it for arguments and
    /// form fields that they do not set.
    null_is_absent: bool,
}

/// The index of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(usize);

/// One schema.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) types: Types,
    pub(super) rules: Vec<Rule>,
    default: Option<Value>,
    /// Whether decoding into the handler's type checks all of it, so that a call need not.
    pub(super) checked_by_type: bool,
}

/// The types a schema allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const ANY: Types = Types(0x7f);
    pub(super) const NONE: Types = Types(0);
    pub(super) const NULL: Types = Types(1);
    pub(super) const BOOLEAN: Types = Types(2);
    pub(super) const INTEGER: Types = Types(4);
    /// Integers included.
    pub(super) const NUMBER: Types = Types(4 | 8);
    pub(super) const TEXT: Types = Types(16);
    pub(super) const LIST: Types = Types(32);
    pub(super) const OBJECT: Types = Types(64);

    pub(super) fn named(name: &str) -> Option<Types> {
        Some(match name {
            "null" => Types::NULL,
            "boolean" => Types::BOOLEAN,
            "integer" => Types::INTEGER,
            "number" => Types::NUMBER,
            "string" => Types::TEXT,
            "array" => Types::LIST,
            "object" => Types::OBJECT,
            _ => return None,
        })
    }

    pub(super) fn with(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    pub(super) fn without(self, other: Types) -> Types {
        Types(self.0 & !other.0)
    }

    pub(super) fn contains(self, other: Types) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether values of a type that is not null are all of type `other`.
    pub(super) fn is_only(self, other: Types) -> bool {
        let some = self.without(Types::NULL);
        some != Types::NONE && other.contains(some)
    }
}

impl Default for Types {
    fn default() -> Self {
        Types::ANY
    }
}

/// The assertions of a schema, besides its types.
#[derive(Debug)]
pub(super) enum Rule {
    /// `enum`, `const`
    OneOf(Vec<Value>),
    Number(NumberRule),
    Text(Box<TextRule>),
    List(Box<ListRule>),
    Object(Box<ObjectRule>),
    /// `$ref`
    Ref(NodeId),
    /// `allOf`
    All(Vec<NodeId>),
    /// `anyOf`
    Any(Vec<NodeId>),
    /// `oneOf`
    Exactly(Vec<NodeId>),
    /// `not`
    Not(NodeId),
    /// `if`, `then`, `else`
    If(NodeId, Option<NodeId>, Option<NodeId>),
}

#[derive(Debug, Default)]
pub(super) struct NumberRule {
    pub(super) minimum: Option<Number>,
    pub(super) maximum: Option<Number>,
    pub(super) above: Option<Number>,
    pub(super) below: Option<Number>,
    pub(super) multiple_of: Option<Number>,
}

#[derive(Debug, Default)]
pub(super) struct TextRule {
    pub(super) size: Size,
    pub(super) pattern: Option<Pattern>,
    pub(super) format: Option<Format>,
}

#[derive(Debug, Default)]
pub(super) struct ListRule {
    pub(super) size: Size,
    pub(super) unique: bool,
    pub(super) prefix: Vec<NodeId>,
    pub(super) items: Option<NodeId>,
    /// `contains`, with `minContains` and `maxContains`.
    pub(super) contains: Option<(NodeId, Size)>,
}

#[derive(Debug, Default)]
pub(super) struct ObjectRule {
    pub(super) properties: Vec<(Box<str>, NodeId)>,
    pub(super) required: Vec<Box<str>>,
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    /// `additionalProperties`
    pub(super) others: Option<NodeId>,
    /// `unevaluatedProperties`
    pub(super) unevaluated: Option<NodeId>,
    /// `propertyNames`
    pub(super) names: Option<NodeId>,
    /// `minProperties`, `maxProperties`
    pub(super) size: Size,
    /// `dependentRequired`
    pub(super) needs: Vec<(Box<str>, Vec<Box<str>>)>,
    /// `dependentSchemas`
    pub(super) implies: Vec<(Box<str>, NodeId)>,
}

/// How long a text, a list or an object may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

impl Size {
    pub(super) fn allows(self, size: usize) -> bool {
        let size = size as u64;
        self.min.is_none_or(|min| size >= min) && self.max.is_none_or(|max| size <= max)
    }
}

impl ObjectRule {
    pub(super) fn requires(&self, name: &str) -> bool {
        self.required.iter().any(|required| **required == *name)
    }

    pub(super) fn property(&self, name: &str) -> Option<NodeId> {
        self.properties.iter().find(|(property, _)| **property == *name).map(|(_, node)| *node)
    }
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

    pub(super) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
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
                Instance::read(text.trim()).filter(|value| matches!(value, Instance::Number(_)))
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

    pub(super) fn root_object(&self) -> Option<&ObjectRule> {
        self.node(Self::ROOT).rules.iter().find_map(|rule| match rule {
            Rule::Object(rule) => Some(&**rule),
            _ => None,
        })
    }

    /// The target of references, for a node that is nothing else.
    pub(super) fn resolved(&self, mut id: NodeId) -> NodeId {
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
