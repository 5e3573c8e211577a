//! The nodes of a compiled schema, and the assertions in them.

use serde_json::Value;

use super::pattern::Pattern;
use crate::schema::format::Format;
use crate::schema::instance::Number;

/// The index of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(pub(super) usize);

impl NodeId {
    pub(in crate::schema) fn index(self) -> usize {
        self.0
    }
}

/// One schema.
#[derive(Debug, Default)]
pub(in crate::schema) struct Node {
    pub(in crate::schema) types: Types,
    pub(in crate::schema) rules: Vec<Rule>,
    pub(super) default: Option<Value>,
    /// Whether decoding into the handler's type checks its own assertions, if not those of the nodes below it.
    pub(in crate::schema) is_own_checked: bool,
    /// Whether decoding into the handler's type checks all of it, so that a call need not.
    pub(in crate::schema) checked_by_type: bool,
}

/// The types a schema allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::schema) struct Types(u8);

impl Types {
    pub(in crate::schema) const ANY: Types = Types(0x7f);
    pub(in crate::schema) const NONE: Types = Types(0);
    pub(in crate::schema) const NULL: Types = Types(1);
    pub(in crate::schema) const BOOLEAN: Types = Types(2);
    pub(in crate::schema) const INTEGER: Types = Types(4);
    /// Integers included.
    pub(in crate::schema) const NUMBER: Types = Types(4 | 8);
    pub(in crate::schema) const TEXT: Types = Types(16);
    pub(in crate::schema) const LIST: Types = Types(32);
    pub(in crate::schema) const OBJECT: Types = Types(64);

    pub(in crate::schema) fn named(name: &str) -> Option<Types> {
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

    pub(in crate::schema) fn with(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    pub(in crate::schema) fn without(self, other: Types) -> Types {
        Types(self.0 & !other.0)
    }

    pub(in crate::schema) fn contains(self, other: Types) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether values of a type that is not null are all of type `other`.
    pub(in crate::schema) fn is_only(self, other: Types) -> bool {
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
pub(in crate::schema) enum Rule {
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
pub(in crate::schema) struct NumberRule {
    pub(in crate::schema) minimum: Option<Number>,
    pub(in crate::schema) maximum: Option<Number>,
    pub(in crate::schema) above: Option<Number>,
    pub(in crate::schema) below: Option<Number>,
    pub(in crate::schema) multiple_of: Option<Number>,
}

#[derive(Debug, Default)]
pub(in crate::schema) struct TextRule {
    pub(in crate::schema) size: Size,
    pub(in crate::schema) pattern: Option<Pattern>,
    pub(in crate::schema) format: Option<Format>,
}

#[derive(Debug, Default)]
pub(in crate::schema) struct ListRule {
    pub(in crate::schema) size: Size,
    pub(in crate::schema) unique: bool,
    pub(in crate::schema) prefix: Vec<NodeId>,
    pub(in crate::schema) items: Option<NodeId>,
    /// `contains`, with `minContains` and `maxContains`.
    pub(in crate::schema) contains: Option<(NodeId, Size)>,
}

#[derive(Debug, Default)]
pub(in crate::schema) struct ObjectRule {
    pub(in crate::schema) properties: Vec<(Box<str>, NodeId)>,
    pub(in crate::schema) required: Vec<Box<str>>,
    pub(in crate::schema) patterns: Vec<(Pattern, NodeId)>,
    /// `additionalProperties`
    pub(in crate::schema) others: Option<NodeId>,
    /// `unevaluatedProperties`
    pub(in crate::schema) unevaluated: Option<NodeId>,
    /// `propertyNames`
    pub(in crate::schema) names: Option<NodeId>,
    /// `minProperties`, `maxProperties`
    pub(in crate::schema) size: Size,
    /// `dependentRequired`
    pub(in crate::schema) needs: Vec<(Box<str>, Vec<Box<str>>)>,
    /// `dependentSchemas`
    pub(in crate::schema) implies: Vec<(Box<str>, NodeId)>,
}

/// How long a text, a list or an object may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::schema) struct Size {
    pub(in crate::schema) min: Option<u64>,
    pub(in crate::schema) max: Option<u64>,
}

impl Size {
    pub(in crate::schema) fn allows(self, size: usize) -> bool {
        let size = size as u64;
        self.min.is_none_or(|min| size >= min) && self.max.is_none_or(|max| size <= max)
    }
}

impl ObjectRule {
    pub(in crate::schema) fn requires(&self, name: &str) -> bool {
        self.required.iter().any(|required| **required == *name)
    }

    pub(in crate::schema) fn property(&self, name: &str) -> Option<NodeId> {
        self.properties.iter().find(|(property, _)| **property == *name).map(|(_, node)| *node)
    }
}

impl Node {
    /// Whether it asserts anything besides types.
    pub(in crate::schema) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }
}
