//! [`Instance`]: a JSON value to be checked against a schema, borrowed from its text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

use crate::jsonrpc::error::shorten;
use crate::jsonrpc::object::JsonStr;
use crate::sort;

/// A JSON value. Strings borrow from the text unless they have escapes.
#[derive(Debug, Clone)]
pub(crate) enum Instance<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<Instance<'a>>),
    Object(Vec<(Cow<'a, str>, Instance<'a>)>),
}

/// A number: exact if it is an integer of 64 bits, else a float.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    pub(super) fn of(value: &Value) -> Option<Number> {
        let number = value.as_number()?;
        number.as_i128().map(Number::Integer).or_else(|| number.as_f64().map(Number::Float))
    }

    pub(super) fn as_f64(self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "compared with a float")]
            Number::Integer(number) => number as f64,
            Number::Float(number) => number,
        }
    }

    /// Compares integers exactly, and other numbers as floats.
    pub(super) fn compare(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::Integer(one), Number::Integer(other)) => one.cmp(&other),
            _ => self.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
        }
    }

    /// Whether it is an integer in JSON Schema: `2.0` is one.
    pub(super) fn is_whole(self) -> bool {
        match self {
            Number::Integer(_) => true,
            Number::Float(number) => number.fract() == 0.0,
        }
    }

    /// Whether it is a multiple of `step`. Decimal fractions are inexact as floats, so the last digits may differ.
    pub(super) fn is_multiple_of(self, step: Number) -> bool {
        match (self.exact(), step.exact()) {
            (Some(number), Some(step)) if step != 0 => number % step == 0,
            _ => {
                let times = self.as_f64() / step.as_f64();
                (times - times.round()).abs() <= 4.0 * f64::EPSILON * times.abs()
            }
        }
    }

    /// The integer, if it is one, and exact.
    pub(super) fn exact(self) -> Option<i128> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match self {
            Number::Integer(number) => Some(number),
            #[expect(clippy::cast_possible_truncation, reason = "whole, and small enough to be exact")]
            Number::Float(number) => (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i128),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(number) => number.fmt(f),
            Number::Float(number) => number.fmt(f),
        }
    }
}

impl<'a> Instance<'a> {
    /// Reads JSON text that is known to be valid. `None` if it has a string that is not valid Unicode.
    pub(crate) fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// A view of a value.
    pub(crate) fn of(value: &'a Value) -> Self {
        // Reading a value never fails: it has every type that `Instance` has.
        Instance::deserialize(value).unwrap_or(Instance::Null)
    }

    /// The same value, independent of its text.
    pub(crate) fn into_owned(self) -> Instance<'static> {
        match self {
            Instance::Null => Instance::Null,
            Instance::Bool(value) => Instance::Bool(value),
            Instance::Number(number) => Instance::Number(number),
            Instance::Text(text) => Instance::Text(Cow::Owned(text.into_owned())),
            Instance::List(items) => Instance::List(items.into_iter().map(Instance::into_owned).collect()),
            Instance::Object(members) => {
                let members =
                    members.into_iter().map(|(name, value)| (Cow::Owned(name.into_owned()), value.into_owned()));
                Instance::Object(members.collect())
            }
        }
    }

    /// The JSON Schema name of its type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Instance::Null => "null",
            Instance::Bool(_) => "boolean",
            Instance::Number(number) if number.is_whole() => "integer",
            Instance::Number(_) => "number",
            Instance::Text(_) => "string",
            Instance::List(_) => "array",
            Instance::Object(_) => "object",
        }
    }

    /// The value under `key` of an object.
    pub(super) fn get(&self, key: &str) -> Option<&Instance<'a>> {
        match self {
            Instance::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Whether it equals a constant of a schema. Numbers are equal by value: `1` is `1.0`.
    pub(super) fn equals(&self, constant: &Value) -> bool {
        match (self, constant) {
            (Instance::Null, Value::Null) => true,
            (Instance::Bool(one), Value::Bool(other)) => one == other,
            (Instance::Text(one), Value::String(other)) => one == other,
            (Instance::Number(one), Value::Number(_)) => {
                Number::of(constant).is_some_and(|other| one.compare(other).is_eq())
            }
            (Instance::List(items), Value::Array(others)) => {
                items.len() == others.len() && items.iter().zip(others).all(|(item, other)| item.equals(other))
            }
            (Instance::Object(members), Value::Object(others)) => {
                let same = |(name, value): &(Cow<'_, str>, Instance<'_>)| {
                    others.get(&**name).is_some_and(|other| value.equals(other))
                };
                members.len() == others.len() && members.iter().all(same)
            }
            _ => false,
        }
    }

    /// A text that is the same for equal values: numbers by value, objects in any order.
    pub(super) fn canonical(&self) -> String {
        match self {
            Instance::Number(number @ Number::Float(_)) if number.is_whole() => format!("{}", number.as_f64()),
            Instance::List(items) => items.iter().fold("[".to_owned(), |text, item| text + &item.canonical() + ","),
            Instance::Object(members) => {
                let members: Vec<String> =
                    members.iter().map(|(name, value)| format!("{name:?}:{}", value.canonical())).collect();
                let members: Vec<&str> = members.iter().map(String::as_str).collect();
                format!("{{{}", sort::by_text(&members, |member| member).join(","))
            }
            other => serde_json::to_string(other).unwrap_or_default(),
        }
    }

    /// What it is, for an error text: its value if that is short, else its type.
    pub(super) fn describe(&self) -> String {
        const LONG: usize = 60;
        match self {
            Instance::Null => "null".to_owned(),
            Instance::Bool(value) => value.to_string(),
            Instance::Number(number) => number.to_string(),
            Instance::Text(text) if text.len() <= LONG => format!("the string {text:?}"),
            Instance::Text(text) => format!("the string {:?}", shorten(text)),
            Instance::List(items) if items.is_empty() => "an empty list".to_owned(),
            Instance::List(items) => format!("a list of {}", count(items.len(), "item")),
            Instance::Object(_) => "an object".to_owned(),
        }
    }
}

/// `1 item`, `2 items`.
pub(super) fn count(number: usize, of: &str) -> String {
    format!("{number} {of}{}", if number == 1 { "" } else { "s" })
}

impl<'de: 'a, 'a> Deserialize<'de> for Instance<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Instance<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Instance::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Instance::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Instance::Number(Number::Integer(value.into())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Instance::Number(Number::Integer(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Instance::Number(Number::Float(value)))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Instance::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Instance::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Instance::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((JsonStr(name), value)) = entries.next_entry()? {
            members.push((name, value));
        }
        Ok(Instance::Object(members))
    }
}

impl Serialize for Instance<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Instance::Null => serializer.serialize_unit(),
            Instance::Bool(value) => serializer.serialize_bool(*value),
            Instance::Number(Number::Integer(number)) => serializer.serialize_i128(*number),
            Instance::Number(Number::Float(number)) => serializer.serialize_f64(*number),
            Instance::Text(text) => serializer.serialize_str(text),
            Instance::List(items) => serializer.collect_seq(items),
            Instance::Object(members) => serializer.collect_map(members.iter().map(|(name, value)| (name, value))),
        }
    }
}
