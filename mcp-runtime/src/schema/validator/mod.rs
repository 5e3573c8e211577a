//! [`Validator`]: a compiled JSON Schema (2020-12), and the nodes it consists of.
//!
//! One validator serves the arguments of calls, the answers to forms, defaults, and structured results. It is
//! written here rather than taken from a crate: `jsonschema` would add 40 crates to the 45 a server may have, and its
//! errors are for people who know the schema, not for a model that has to correct a call.

mod check;
mod combine;
mod compile;
mod compiled;
mod describe;
mod node;
mod object;
mod pattern;
mod problem;
#[cfg(test)]
mod tests;

pub(crate) use check::Depth;
pub(crate) use compiled::Validator;
pub(crate) use node::NodeId;
pub(in crate::schema) use node::{ListRule, Node, NumberRule, ObjectRule, Rule, Size, TextRule, Types};
pub use problem::Problem;
