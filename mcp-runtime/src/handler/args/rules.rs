//! [`ArgumentRules`]: what a handler's schema demands of its arguments, enforced before the handler runs.
//!
//! A call pays only for what its types do not check. Everything else happens after something is wrong: the lenient
//! reading, and the report of all problems together.

use std::borrow::Cow;

use serde_json::Value;

use super::{Args, Source};
use crate::jsonrpc::raw::Raw;
use crate::outcome::{ArgumentError, ArgumentErrors};
use crate::schema::instance::Instance;
use crate::schema::probe::Probe;
use crate::schema::validator::{Depth, NodeId, Validator};
use crate::suggest::closest;

/// How a server treats arguments that do not match exactly.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ArgumentPolicy {
    /// Whether unknown arguments are rejected.
    pub(crate) strict: bool,
    /// Whether `"5"` is rejected where an integer is expected.
    pub(crate) exact_types: bool,
}

/// More unknown arguments of a call are not looked at.
const UNKNOWN_TOLD: usize = 10;

/// Longer arguments get the first error only: a report of all takes memory, several times their length.
const EXPLAINED_BYTES: usize = 256 * 1024;

/// Whether a type accepts JSON text, or plain text.
type Accepts = fn(&str) -> bool;

/// A declared type, as far as its arguments need it at registration.
#[derive(Debug)]
pub(crate) struct DeclaredType {
    /// The arguments that it decodes: its own, or those of a flattened struct.
    pub(crate) names: Vec<String>,
    /// Whether its attribute narrows it, which no type checks.
    pub(crate) is_narrowed: bool,
    /// Whether it decodes an object with these names, not the argument itself.
    pub(crate) is_flattened: bool,
    /// Whether it accepts JSON text, or plain text for handlers whose arguments arrive as text.
    pub(crate) accepts: Accepts,
}

/// The compiled schema of a handler's arguments.
#[derive(Debug)]
pub(crate) struct ArgumentRules {
    validator: Validator,
    /// The arguments that a call has to check, because their types do not.
    constrained: Vec<(Box<str>, NodeId)>,
    /// Whether the schema constrains the arguments as a whole.
    constrains_whole: bool,
    /// Whether the schema forbids unknown arguments.
    is_closed: bool,
    /// Of arguments that arrive as text, which texts their types decode.
    decoders: Vec<(Box<str>, Accepts)>,
}

impl ArgumentRules {
    /// The rules of declared types, which check some of them themselves. The errors say what is wrong with the schema.
    pub(crate) fn of_types(schema: &Value, types: &[DeclaredType], is_text: bool) -> Result<Self, Vec<String>> {
        let mut validator = compiled(schema)?.with_null_as_absent();
        mark_checked(&mut validator, types, is_text);
        let constrained = validator.properties().filter(|(_, node)| !validator.is_checked_by_type(*node));
        let constrained = constrained.map(|(name, node)| (name.into(), node)).collect();
        let (constrains_whole, is_closed) = (validator.constrains_whole(), validator.is_closed());
        let texts = types.iter().filter(|declared| is_text && !declared.is_flattened);
        let decoders = texts
            .flat_map(|declared| declared.names.iter().map(|name| (name.clone().into_boxed_str(), declared.accepts)));
        let decoders = decoders.collect();
        Ok(ArgumentRules { validator, constrained, constrains_whole, is_closed, decoders })
    }

    /// The rules of a schema that no type stands behind: all of it is checked in each call.
    pub(crate) fn of_schema(schema: &Value, is_text: bool) -> Result<Self, Vec<String>> {
        let validator = compiled(schema)?;
        // A null among JSON arguments would reach the handler; the lenient reading removes it.
        let validator = if is_text { validator.with_null_as_absent() } else { validator };
        let is_closed = validator.is_closed();
        let (constrained, decoders) = (Vec::new(), Vec::new());
        Ok(ArgumentRules { validator, constrained, constrains_whole: true, is_closed, decoders })
    }

    /// Whether a call has anything to check beyond its types.
    pub(crate) fn has_constraints(&self) -> bool {
        !self.constrained.is_empty() || self.constrains_whole || self.is_closed
    }

    /// Whether the arguments pass all that their types do not check.
    pub(crate) fn accept(&self, args: &Args<'_>, policy: ArgumentPolicy) -> bool {
        let is_closed = self.is_closed || policy.strict;
        if self.constrains_whole {
            let whole = self.instance(args);
            return whole.is_some_and(|whole| self.validator.accepts(Validator::ROOT, &whole, Depth::BeyondTypes))
                && (!is_closed || self.unknown(args).is_empty());
        }
        let fits = |(name, node): &(Box<str>, NodeId)| match self.value(args, name, *node) {
            None => true,
            Some(Instance::Null) if !self.validator.requires(name) => true,
            Some(value) => self.validator.accepts(*node, &value, Depth::BeyondTypes),
        };
        self.constrained.iter().all(fits) && (!is_closed || self.unknown(args).is_empty())
    }

    /// The arguments as JSON in the reading of the schema, if it has one that differs from what was sent.
    pub(crate) fn lenient(&self, args: &Args<'_>) -> Option<String> {
        if !matches!(&args.source, Source::Json(..)) || is_long(args) {
            return None;
        }
        let coerced = self.validator.coerced(&self.instance(args)?)?;
        serde_json::to_string(&coerced).ok()
    }

    /// All problems of the arguments; `errors` if the schema finds none, but the types could not be decoded. `sent` are
    /// the arguments as they came, if `args` are their lenient reading.
    pub(crate) fn explain(
        &self,
        args: &Args<'_>,
        sent: Option<&Args<'_>>,
        policy: ArgumentPolicy,
        errors: ArgumentErrors,
    ) -> ArgumentErrors {
        if !errors.is_empty() && is_long(args) {
            return errors;
        }
        let mut problems = self.all_problems(args, policy);
        if let Some(sent) = sent {
            // In words about what was sent.
            let originals = self.all_problems(sent, policy);
            for problem in &mut problems {
                if let Some(original) = originals.iter().find(|original| original.field == problem.field) {
                    *problem = original.clone();
                }
            }
        }
        match (problems.is_empty(), errors.is_empty()) {
            (false, _) => problems,
            (true, false) => errors,
            (true, true) => vec![unreadable()],
        }
    }

    pub(crate) fn all_problems(&self, args: &Args<'_>, policy: ArgumentPolicy) -> ArgumentErrors {
        let Some(instance) = self.instance(args) else { return Vec::new() };
        let mut problems = self.validator.problems(Validator::ROOT, &instance);
        if policy.strict && !self.is_closed {
            let names: Vec<&str> = self.validator.properties().map(|(name, _)| name).collect();
            let unknown = self.unknown(args);
            let unknown = unknown.iter().take(UNKNOWN_TOLD);
            problems.extend(unknown.filter_map(|name| self.validator.unknown_member(name, &names, &instance)));
        }
        problems
    }

    /// The variable of a URI whose type cannot be decoded from its text, if there is one. The schema may allow that text.
    pub(crate) fn undecodable(&self, args: &Args<'_>) -> Option<ArgumentError> {
        let Source::Uri(variables) = &args.source else { return None };
        let text = |name: &str| variables.iter().find(|(variable, _)| *variable == name).map(|(_, text)| text);
        let refuses = |(name, accepts): &&(Box<str>, Accepts)| text(name).is_some_and(|text| !accepts(text));
        let (name, _) = self.decoders.iter().find(refuses)?;
        Some(ArgumentError {
            field: Cow::Owned(name.to_string()),
            expected_type: Cow::Borrowed("value"),
            actual_type: Cow::Borrowed("string"),
            text: format!("`{name}` cannot be read"),
        })
    }

    /// The hint for an argument that is unknown, and close to the name of one that was not sent.
    pub(crate) fn near_miss<'s>(&'s self, args: &Args<'_>) -> Option<(String, &'s str)> {
        let unset = || self.validator.properties().map(|(name, _)| name).filter(|name| !args.has(name));
        self.unknown(args)
            .into_iter()
            .take(UNKNOWN_TOLD)
            .find_map(|name| Some((name.to_owned(), closest(name, unset())?)))
    }

    fn unknown<'s>(&self, args: &'s Args<'_>) -> Vec<&'s str> {
        let Source::Json(object, _) = &args.source else { return Vec::new() };
        let known = |name: &str| self.validator.properties().any(|(property, _)| property == name);
        object.iter().map(|(name, _)| name).filter(|name| !known(name)).collect()
    }

    /// The arguments as one value, to be checked as a whole.
    fn instance<'a>(&self, args: &'a Args<'_>) -> Option<Instance<'a>> {
        match &args.source {
            Source::Json(_, whole) => Instance::read(whole),
            Source::Text(object) => {
                let members = object.iter().map(|(name, raw)| {
                    let value = self.text_value(raw, self.node_of(name))?;
                    Some((Cow::Owned(name.to_owned()), value))
                });
                members.collect::<Option<_>>().map(Instance::Object)
            }
            Source::Uri(variables) => {
                let members = variables
                    .iter()
                    .map(|(name, text)| (Cow::Borrowed(*name), self.validator.read_text(self.node_of(name), text)));
                Some(Instance::Object(members.collect()))
            }
        }
    }

    /// The node of an argument; the root for an unknown one, whose text stays text.
    fn node_of(&self, name: &str) -> NodeId {
        let mut properties = self.validator.properties();
        properties.find(|(property, _)| *property == name).map_or(Validator::ROOT, |(_, node)| node)
    }

    fn value<'a>(&self, args: &'a Args<'_>, name: &str, node: NodeId) -> Option<Instance<'a>> {
        match &args.source {
            Source::Json(object, _) => Instance::read(object.get(name)?.get()),
            Source::Text(object) => self.text_value(object.get(name)?, node),
            Source::Uri(variables) => {
                let (_, text) = variables.iter().find(|(variable, _)| *variable == name)?;
                Some(self.validator.read_text(node, text))
            }
        }
    }

    /// The value of a prompt's argument: a string, read as the schema's type.
    fn text_value<'a>(&self, raw: Raw<'a>, node: NodeId) -> Option<Instance<'a>> {
        match raw.text() {
            Some(text) => Some(self.validator.read_text(node, &text).into_owned()),
            None if raw.get().starts_with(['{', '[', 'n']) => Instance::read(raw.get()),
            // Some clients send bare numbers and booleans.
            None => Some(self.validator.read_text(node, raw.get())),
        }
    }
}

fn is_long(args: &Args<'_>) -> bool {
    matches!(&args.source, Source::Json(_, whole) if whole.len() > EXPLAINED_BYTES)
}

/// The error for arguments that were rejected for a reason that cannot be told: a string that is not valid Unicode.
fn unreadable() -> ArgumentError {
    ArgumentError {
        field: Cow::Borrowed("arguments"),
        expected_type: Cow::Borrowed("object"),
        actual_type: Cow::Borrowed("object"),
        text: "the arguments have a string that is not valid Unicode, or do not match the schema".to_owned(),
    }
}

fn compiled(schema: &Value) -> Result<Validator, Vec<String>> {
    let validator = Validator::new(schema)?;
    let wrong_defaults = validator.wrong_defaults();
    if wrong_defaults.is_empty() { Ok(validator) } else { Err(wrong_defaults) }
}

/// Asks each type what it checks itself.
fn mark_checked(validator: &mut Validator, types: &[DeclaredType], is_text: bool) {
    let nodes: Vec<(String, NodeId)> = validator.properties().map(|(name, node)| (name.to_owned(), node)).collect();
    let required: Vec<String> =
        nodes.iter().map(|(name, _)| name.clone()).filter(|name| validator.requires(name)).collect();
    let node = |name: &str| nodes.iter().find(|(property, _)| property == name).map(|(_, node)| *node);
    let asked: Vec<_> = types
        .iter()
        .map(|declared| {
            let accepts = declared.accepts;
            move |value: &Instance<'_>| match value {
                Instance::Text(text) if is_text => accepts(text),
                value => serde_json::to_string(value).is_ok_and(|json| accepts(&json)),
            }
        })
        .collect();
    let mut probes = Vec::new();
    for (declared, accepts) in types.iter().zip(&asked).filter(|(declared, _)| !declared.is_narrowed) {
        for name in &declared.names {
            let within = declared.is_flattened.then_some(&**name);
            let is_optional = !required.contains(name);
            probes.extend(node(name).map(|node| Probe { node, within, is_optional, is_text, accepts }));
        }
    }
    validator.mark_checked(&probes);
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::{Args, ArgumentRules, Raw};
    use crate::handler::builder::ArgInfo;
    use crate::handler::tool;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Unit {
        Celsius,
        Kelvin,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Place {
        name: String,
        unit: Option<Unit>,
        height: Vec<(u8, i64)>,
        exact: Option<bool>,
        near: Option<Box<Place>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Bounded {
        #[schemars(range(max = 5))]
        number: u32,
    }

    fn is_checked<T: crate::handler::args::Argument>(arg: ArgInfo) -> bool {
        let mut builder = tool::describe("t");
        let key = builder.arg::<T>(arg);
        let returns = tool::returns::<()>(&mut builder);
        let tool = builder.sync(returns, move |args, _| args.take(&key).map(drop));
        tool.handler.function.has_constraints()
    }

    #[test]
    fn near_miss_of_an_argument_that_was_not_sent_is_found() {
        let schema = serde_json::json!({"type": "object", "properties": {"limit": {}, "query": {}}});
        let rules = ArgumentRules::of_types(&schema, &[], false).unwrap();
        let near = |json: &str| rules.near_miss(&Args::json(Some(Raw::new_unchecked(json))).unwrap());
        assert_eq!(near(r#"{"query":"a","limt":5}"#), Some(("limt".to_owned(), "limit")));
        assert_eq!(near(r#"{"query":"a","dummy":5}"#), None);
        assert_eq!(near(r#"{"limit":1,"limt":5}"#), None, "the argument itself was sent");
    }

    #[test]
    fn arguments_that_types_check_cost_nothing() {
        let arg = || ArgInfo::new("a");
        assert!(!is_checked::<i64>(arg()));
        assert!(!is_checked::<Option<u8>>(arg()));
        assert!(!is_checked::<String>(arg()));
        assert!(!is_checked::<Vec<f64>>(arg()));
        assert!(!is_checked::<Option<Unit>>(arg()));
        assert!(!is_checked::<Place>(arg()));
        assert!(!is_checked::<std::collections::BTreeMap<String, Place>>(arg()));
        assert!(!is_checked::<std::net::Ipv4Addr>(arg()));
        assert!(!is_checked::<serde_json::Value>(arg()));
        assert!(is_checked::<Bounded>(arg()));
        assert!(is_checked::<Vec<Bounded>>(arg()));
        assert!(is_checked::<String>(arg().keyword("maxLength", 5)));
        assert!(is_checked::<Option<i64>>(arg().keyword("minimum", 0)));
    }
}
