//! Checks a value against the nodes of a schema.

use std::borrow::Cow;
use std::collections::HashSet;

use super::compiled::Validator;
use super::node::{ListRule, NodeId, NumberRule, Rule, TextRule, Types};
use super::pattern::Pattern;
use super::problem::Problem;
use crate::jsonrpc::error::shorten;
use crate::schema::instance::{Instance, Number, count};

/// How much of a schema is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    All,
    /// Only what decoding into the handler's type does not check.
    BeyondTypes,
}

/// More problems than these are counted, not told.
const TOLD: usize = 10;

/// The visits of nodes per value, and in all: nested alternatives would otherwise multiply.
const VISITS_PER_VALUE: usize = 200;
const VISITS: usize = 4_000_000;

impl Validator {
    /// All problems of a value, in the order of the schema.
    pub(crate) fn problems(&self, id: NodeId, instance: &Instance<'_>) -> Vec<Problem> {
        let mut checker = Checker::new(self, Depth::All, instance);
        checker.check(id, instance);
        checker.problems
    }

    /// Whether a value matches. Builds no error texts.
    pub(crate) fn accepts(&self, id: NodeId, instance: &Instance<'_>, depth: Depth) -> bool {
        let mut checker = Checker::new(self, depth, instance);
        checker.quiet = true;
        checker.check(id, instance);
        !checker.failed
    }

    /// The defaults that their own schemas reject.
    pub(crate) fn wrong_defaults(&self) -> Vec<String> {
        let defaults = self.nodes.iter().enumerate().filter_map(|(index, node)| Some((index, node.default.as_ref()?)));
        let problems = defaults.flat_map(|(index, default)| {
            let id = NodeId(index);
            let name = self.properties().find(|(_, node)| *node == id).map(|(name, _)| format!(" of `{name}`"));
            let problems = self.problems(id, &Instance::of(default)).into_iter();
            problems.map(move |problem| {
                format!("the default{} does not match: {problem}", name.clone().unwrap_or_default())
            })
        });
        problems.collect()
    }
}

pub(super) struct Checker<'v> {
    pub(super) validator: &'v Validator,
    depth: Depth,
    /// Whether only the verdict matters.
    pub(super) quiet: bool,
    failed: bool,
    path: String,
    pub(super) problems: Vec<Problem>,
    visits: usize,
}

impl<'v> Checker<'v> {
    pub(super) fn new(validator: &'v Validator, depth: Depth, instance: &Instance<'_>) -> Self {
        let visits = size(instance).saturating_mul(VISITS_PER_VALUE).clamp(validator.nodes.len(), VISITS);
        let (path, problems) = (String::new(), Vec::new());
        Checker { validator, depth, quiet: false, failed: false, path, problems, visits }
    }

    pub(super) fn check(&mut self, id: NodeId, instance: &Instance<'_>) {
        let node = self.validator.node(id);
        if self.is_decided() || (self.depth == Depth::BeyondTypes && node.checked_by_type) {
            return;
        }
        if self.visits == 0 {
            return self.report("value", "a value that can be checked in reasonable time", instance);
        }
        self.visits -= 1;
        if self.depth == Depth::BeyondTypes && node.is_own_checked {
            return self.descend(id, instance);
        }
        if !node.types.allow(instance) {
            return self.wrong(id, instance);
        }
        for rule in &node.rules {
            self.rule(id, rule, instance);
        }
    }

    /// Checks what is inside a value whose type checks the rest: it may accept more names than the schema shows, such as
    /// those of `#[serde(alias)]`.
    fn descend(&mut self, id: NodeId, instance: &Instance<'_>) {
        // serde reads a struct from a list of its fields, too, where nothing would be checked.
        if matches!(instance, Instance::List(_)) && !self.validator.node(id).types.allow(instance) {
            return self.wrong(id, instance);
        }
        for rule in &self.validator.node(id).rules {
            match (rule, instance) {
                (Rule::List(rule), Instance::List(items)) => self.items(rule, items),
                (Rule::Object(rule), Instance::Object(members)) => {
                    for (name, value) in members {
                        if let Some(node) = rule.property(name).or(rule.others) {
                            self.at(name, |checker| checker.check(node, value));
                        }
                    }
                }
                (Rule::List(_) | Rule::Object(_), _) => {}
                _ => self.rule(id, rule, instance),
            }
        }
    }

    fn items(&mut self, rule: &ListRule, items: &[Instance<'_>]) {
        for (index, item) in items.iter().enumerate() {
            if let Some(node) = rule.prefix.get(index).copied().or(rule.items) {
                self.at_index(index, |checker| checker.check(node, item));
            }
        }
    }

    fn rule(&mut self, id: NodeId, rule: &Rule, instance: &Instance<'_>) {
        match (rule, instance) {
            (Rule::OneOf(values), _) if !values.iter().any(|value| instance.equals(value)) => self.wrong(id, instance),
            (Rule::Number(rule), Instance::Number(number)) if !rule.allows(*number) => self.wrong(id, instance),
            (Rule::Text(rule), Instance::Text(text)) => self.text(id, rule, text),
            (Rule::List(rule), Instance::List(items)) => self.list(id, rule, items, instance),
            (Rule::Object(rule), Instance::Object(members)) => self.object(id, rule, members, instance),
            (Rule::Ref(target), _) => self.check(*target, instance),
            (Rule::All(_) | Rule::Any(_) | Rule::Exactly(_) | Rule::Not(_) | Rule::If(..), _) => {
                self.combination(id, rule, instance);
            }
            _ => {}
        }
    }

    fn text(&mut self, id: NodeId, rule: &TextRule, text: &str) {
        let bounded = rule.size.min.is_some() || rule.size.max.is_some();
        if bounded && !rule.size.allows(text.chars().count()) {
            let expected = self.validator.describe(id);
            return self.expected(id, &expected, &count(text.chars().count(), "character"), "string");
        }
        if let Some(format) = rule.format.filter(|format| !format.fits(text)) {
            return self.report(format.name(), &format.describe(), &Instance::Text(text.into()));
        }
        match &rule.pattern {
            Some(_) if text.len() > Pattern::LONGEST_TEXT => {
                let got = format!("a string of {} bytes, too long to be compared with it", text.len());
                let expected = self.validator.describe(id);
                self.expected(id, &expected, &got, "string");
            }
            Some(pattern) if !pattern.fits(text) => self.wrong(id, &Instance::Text(text.into())),
            _ => {}
        }
    }

    fn list(&mut self, id: NodeId, rule: &ListRule, items: &[Instance<'_>], instance: &Instance<'_>) {
        if !rule.size.allows(items.len()) {
            return self.wrong(id, instance);
        }
        self.items(rule, items);
        if rule.unique {
            let mut seen = HashSet::with_capacity(items.len());
            if let Some(twice) = items.iter().find(|item| !seen.insert(item.canonical())) {
                let expected = self.validator.describe(id);
                self.expected(id, &expected, &format!("{} twice", twice.describe()), "array");
            }
        }
        if let Some((node, size)) = &rule.contains {
            let matching = items.iter().filter(|item| self.is_valid(*node, item)).count();
            if !size.allows(matching) {
                let expected = format!("a list that contains {}", self.validator.describe(*node));
                self.expected(id, &expected, &instance.describe(), "array");
            }
        }
    }

    /// Whether a value matches a node, whatever has been found so far.
    pub(super) fn is_valid(&mut self, id: NodeId, instance: &Instance<'_>) -> bool {
        let before = (self.quiet, self.failed, self.depth);
        (self.quiet, self.failed, self.depth) = (true, false, Depth::All);
        self.check(id, instance);
        let valid = !self.failed;
        (self.quiet, self.failed, self.depth) = before;
        valid
    }

    /// Whether more checks would add nothing.
    pub(super) fn is_decided(&self) -> bool {
        if self.quiet { self.failed } else { self.problems.len() >= TOLD }
    }

    /// Runs `check` one level deeper, at the property `name`.
    pub(super) fn at(&mut self, name: &str, check: impl FnOnce(&mut Self)) {
        if self.quiet {
            return check(self);
        }
        let length = self.path.len();
        self.enter(name);
        check(self);
        self.path.truncate(length);
    }

    fn enter(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(&shorten(name));
    }

    fn at_index(&mut self, index: usize, check: impl FnOnce(&mut Self)) {
        if self.quiet { check(self) } else { self.at(&index.to_string(), check) }
    }

    /// Reports that a value is not what its schema describes.
    pub(super) fn wrong(&mut self, id: NodeId, instance: &Instance<'_>) {
        if self.quiet {
            self.failed = true;
            return;
        }
        let expected = self.validator.describe(id);
        self.expected(id, &expected, &instance.describe(), instance.type_name());
    }

    pub(super) fn expected(&mut self, id: NodeId, expected: &str, got: &str, actual_type: &'static str) {
        let expected_type = self.validator.type_name(id);
        self.tell(expected_type, actual_type.into(), |place| format!("{place}expected {expected}, got {got}"));
    }

    fn report(&mut self, expected_type: &'static str, expected: &str, instance: &Instance<'_>) {
        self.tell(expected_type.into(), instance.type_name().into(), |place| {
            format!("{place}expected {expected}, got {}", instance.describe())
        });
    }

    /// Adds a problem at the current path; `text` gets the beginning of the sentence, which names the path.
    pub(super) fn tell(
        &mut self,
        expected_type: Cow<'static, str>,
        actual_type: Cow<'static, str>,
        text: impl FnOnce(&str) -> String,
    ) {
        self.failed = true;
        if self.quiet {
            return;
        }
        let text = text(&self.place());
        self.add(expected_type, actual_type, text);
    }

    /// The beginning of a sentence about the current path.
    fn place(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!("`{}`: ", self.path) }
    }

    fn add(&mut self, expected_type: Cow<'static, str>, actual_type: Cow<'static, str>, text: String) {
        let field = if self.path.is_empty() { Cow::Borrowed("arguments") } else { Cow::Owned(self.path.clone()) };
        self.problems.push(Problem { field, expected_type, actual_type, text });
    }
}

/// How many values there are in a value.
fn size(instance: &Instance<'_>) -> usize {
    match instance {
        Instance::List(items) => items.iter().map(size).sum::<usize>() + 1,
        Instance::Object(members) => members.iter().map(|(_, value)| size(value)).sum::<usize>() + 1,
        _ => 1,
    }
}

impl Types {
    pub(super) fn allow(self, instance: &Instance<'_>) -> bool {
        match instance {
            Instance::Null => self.contains(Types::NULL),
            Instance::Bool(_) => self.contains(Types::BOOLEAN),
            Instance::Number(number) => {
                self.contains(Types::NUMBER) || (self.contains(Types::INTEGER) && number.is_whole())
            }
            Instance::Text(_) => self.contains(Types::TEXT),
            Instance::List(_) => self.contains(Types::LIST),
            Instance::Object(_) => self.contains(Types::OBJECT),
        }
    }
}

impl NumberRule {
    fn allows(&self, number: Number) -> bool {
        self.minimum.is_none_or(|min| number.compare(min).is_ge())
            && self.maximum.is_none_or(|max| number.compare(max).is_le())
            && self.above.is_none_or(|min| number.compare(min).is_gt())
            && self.below.is_none_or(|max| number.compare(max).is_lt())
            && self.multiple_of.is_none_or(|step| number.is_multiple_of(step))
    }
}
