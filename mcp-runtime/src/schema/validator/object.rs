//! Checks the members of an object.

use std::borrow::Cow;

use super::check::{Checker, Depth};
use super::compiled::Validator;
use super::node::{NodeId, ObjectRule, Rule, Types};
use super::problem::Problem;
use crate::jsonrpc::error::shorten;
use crate::schema::instance::{Instance, count};
use crate::suggest::closest;

type Members<'a> = [(Cow<'a, str>, Instance<'a>)];

/// An error lists at most this many names.
const LISTED: usize = 12;
/// As many unknown names are compared with a missing one; comparison is quadratic.
const COMPARED: usize = 16;

impl Checker<'_> {
    pub(super) fn object(&mut self, id: NodeId, rule: &ObjectRule, members: &Members<'_>, instance: &Instance<'_>) {
        if self.quiet && self.has_other_tag(rule, instance) {
            return self.wrong(id, instance);
        }
        let null_is_absent = id == Validator::ROOT && self.validator.null_is_absent;
        for (name, value) in members {
            if self.is_decided() {
                return;
            }
            let unset = null_is_absent && matches!(value, Instance::Null) && !rule.requires(name);
            if unset && rule.property(name).is_some() {
                continue;
            }
            self.member(rule, name, value);
        }
        self.missing(rule, members, instance);
        if let Some(node) = rule.unevaluated {
            self.unevaluated(id, node, members, instance);
        }
        if !rule.size.allows(members.len()) {
            let got = count(members.len(), "member");
            self.expected(id, &sized(rule), &got, "object");
        }
    }

    /// Whether a constant member has another value. Looked at before the others, so that the variants of a tagged enum
    /// are told apart at once.
    fn has_other_tag(&self, rule: &ObjectRule, instance: &Instance<'_>) -> bool {
        rule.properties.iter().any(|(name, node)| match &self.validator.node(*node).rules[..] {
            [Rule::OneOf(values)] => {
                instance.get(name).is_some_and(|sent| !values.iter().any(|value| sent.equals(value)))
                    && !(self.validator.null_is_absent && matches!(instance.get(name), Some(Instance::Null)))
            }
            _ => false,
        })
    }

    fn member(&mut self, rule: &ObjectRule, name: &str, value: &Instance<'_>) {
        if let Some(names) = rule.names {
            self.at(name, |checker| checker.check(names, &Instance::Text(name.into())));
        }
        let mut declared = false;
        if let Some(node) = rule.property(name) {
            declared = true;
            self.at(name, |checker| checker.check(node, value));
        }
        for (_, node) in rule.patterns.iter().filter(|(pattern, _)| pattern.fits(name)) {
            declared = true;
            self.at(name, |checker| checker.check(*node, value));
        }
        if let (false, Some(others)) = (declared, rule.others) {
            self.other(rule, others, name, value);
        }
    }

    /// Checks a member that the schema does not name.
    fn other(&mut self, rule: &ObjectRule, node: NodeId, name: &str, value: &Instance<'_>) {
        if self.validator.node(node).types != Types::NONE {
            return self.at(name, |checker| checker.check(node, value));
        }
        let known: Vec<&str> = rule.properties.iter().map(|(name, _)| &**name).collect();
        self.at(name, |checker| checker.unknown(name, &known, value));
    }

    fn unknown(&mut self, name: &str, known: &[&str], value: &Instance<'_>) {
        // Suggestions cost time, and nobody reads these.
        if self.quiet {
            return self.tell("nothing".into(), value.type_name().into(), |_| String::new());
        }
        let hint = match closest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.is_empty() => "leave it out; nothing is expected here".to_owned(),
            None => format!("expected {}", listed(known)),
        };
        self.tell("nothing".into(), value.type_name().into(), |place| {
            format!("{} is unknown; {hint}", place.trim_end_matches(": "))
        });
    }

    fn missing(&mut self, rule: &ObjectRule, members: &Members<'_>, instance: &Instance<'_>) {
        for name in rule.required.iter().filter(|name| instance.get(name).is_none()) {
            if self.is_decided() {
                return;
            }
            self.lacks(rule, name, members, "");
        }
        for (name, others) in rule.needs.iter().filter(|(name, _)| instance.get(name).is_some()) {
            for other in others.iter().filter(|other| instance.get(other).is_none()) {
                self.lacks(rule, other, members, &format!(" beside `{name}`"));
            }
        }
        for (_, node) in rule.implies.iter().filter(|(name, _)| instance.get(name).is_some()) {
            self.check(*node, instance);
        }
    }

    /// Reports a missing member, and a sent one that may have been meant for it.
    fn lacks(&mut self, rule: &ObjectRule, name: &str, members: &Members<'_>, why: &str) {
        if self.quiet {
            return self.tell("value".into(), "missing".into(), |_| String::new());
        }
        let node = rule.property(name);
        let validator = self.validator;
        let expected = || node.map_or_else(|| "a value".to_owned(), |node| validator.describe(node));
        let strangers = members.iter().map(|(name, _)| &**name).filter(|name| rule.property(name).is_none());
        let strangers = strangers.take(COMPARED);
        let meant = closest(name, strangers).map(|sent| format!("; `{}` was sent: is that it?", shorten(sent)));
        let expected_type = node.map_or(Cow::Borrowed("value"), |node| validator.type_name(node));
        self.at(name, |checker| {
            checker.tell(expected_type, "missing".into(), |place| {
                let place = place.trim_end_matches(": ");
                format!("{place} is missing{why}: expected {}{}", expected(), meant.unwrap_or_default())
            });
        });
    }

    /// Checks the members that no subschema has evaluated.
    fn unevaluated(&mut self, id: NodeId, node: NodeId, members: &Members<'_>, instance: &Instance<'_>) {
        for (name, value) in members {
            if self.is_decided() {
                return;
            }
            if !self.is_evaluated(id, name, instance, false) {
                if self.validator.node(node).types == Types::NONE {
                    self.at(name, |checker| checker.unknown(name, &[], value));
                } else {
                    self.at(name, |checker| checker.check(node, value));
                }
            }
        }
    }

    /// Whether a node, or one in it that applies to the same object, says something of a member.
    fn is_evaluated(&mut self, id: NodeId, name: &str, instance: &Instance<'_>, is_nested: bool) -> bool {
        let validator = self.validator;
        validator.node(id).rules.iter().any(|rule| match rule {
            Rule::Object(rule) => {
                rule.property(name).is_some()
                    || rule.patterns.iter().any(|(pattern, _)| pattern.fits(name))
                    || rule.others.is_some()
                    || (is_nested && rule.unevaluated.is_some())
                    || rule.implies.iter().any(|(key, node)| {
                        instance.get(key).is_some() && self.is_evaluated(*node, name, instance, true)
                    })
            }
            Rule::Ref(target) => self.is_evaluated(*target, name, instance, true),
            Rule::All(nodes) => nodes.iter().any(|node| self.is_evaluated(*node, name, instance, true)),
            Rule::Any(nodes) | Rule::Exactly(nodes) => nodes
                .iter()
                .any(|node| self.is_valid(*node, instance) && self.is_evaluated(*node, name, instance, true)),
            Rule::If(condition, then, otherwise) => {
                let holds = self.is_valid(*condition, instance);
                let branch = if holds { then } else { otherwise };
                (holds && self.is_evaluated(*condition, name, instance, true))
                    || branch.is_some_and(|node| self.is_evaluated(node, name, instance, true))
            }
            Rule::OneOf(_) | Rule::Number(_) | Rule::Text(_) | Rule::List(_) | Rule::Not(_) => false,
        })
    }
}

impl Validator {
    /// The problem of a member that nothing declares, beside those that `known` names.
    pub(crate) fn unknown_member(&self, name: &str, known: &[&str], instance: &Instance<'_>) -> Option<Problem> {
        let value = instance.get(name)?;
        let mut checker = Checker::new(self, Depth::All, value);
        checker.at(name, |checker| checker.unknown(name, known, value));
        checker.problems.pop()
    }
}

fn sized(rule: &ObjectRule) -> String {
    match (rule.size.min, rule.size.max) {
        (Some(min), Some(max)) => format!("an object with {min} to {max} members"),
        (Some(min), None) => format!("an object with at least {min} members"),
        (None, Some(max)) => format!("an object with at most {max} members"),
        (None, None) => "an object".to_owned(),
    }
}

/// `` `a`, `b` or `c` ``, shortened if there are many.
fn listed(names: &[&str]) -> String {
    let mut names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if names.len() > LISTED {
        let more = names.len() - LISTED;
        names.truncate(LISTED);
        return format!("{} or {more} more", names.join(", "));
    }
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
