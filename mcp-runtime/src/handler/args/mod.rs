//! Arguments: from the caller's JSON, prompt text or URI variables into the handler's types.

pub(super) mod locate;
pub(super) mod missing;
pub(super) mod text;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::builder::Declared;
use super::schema::{Extras, InputSchema};
use crate::jsonrpc::error::{RpcError, shorten, without_position};
use crate::jsonrpc::object::{JsonStr, Object, optional_object};
use crate::jsonrpc::raw::{Raw, type_of};
use crate::outcome::ArgumentError;

/// A type a handler can take by value: decoded from what the caller sent, described by a schema.
///
/// Every type with `serde::Deserialize` and `schemars::JsonSchema` is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as an argument",
    label = "not an argument type",
    note = "arguments are decoded from JSON: add `#[derive(serde::Deserialize, schemars::JsonSchema)]` to it, and to every type inside it",
    note = "arguments are owned: they cannot borrow; what the server provides is borrowed, as in `ctx: &Context`"
)]
pub trait Argument: DeserializeOwned + JsonSchema + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Argument for T {}

/// Whether a `T` can be made of nothing, by serde's own rule for missing fields: true of
/// `Option<_>`, however it is spelled.
pub(crate) fn is_optional<T: DeserializeOwned>() -> bool {
    T::deserialize(missing::Absent).is_ok()
}

/// What there is to know of an argument that arrives as text, which not every type can be read from.
pub(crate) fn declare_text<T: Argument>(of: &str, name: &str, optional: bool) -> Declared {
    let mut schema = InputSchema::new();
    let expected = schema.property::<T>(name, Extras { optional, ..Extras::default() });
    let structured = matches!(&*expected, "object" | "array" | "null");
    assert!(
        !structured,
        "`{of}`: `{name}` arrives as text, which an {expected} cannot be read from: take a `String` and parse it"
    );
    Declared { expected, choices: schema.choices(name) }
}

/// A declared argument: how to find it, read it and complain about it.
///
/// Made where the argument's type is known to be an [`Argument`], so that a type which is none
/// is reported there, once.
#[derive(Debug)]
pub struct Key<T> {
    place: ArgumentSource,
    expected: Cow<'static, str>,
    json: fn(&str) -> Result<T, serde_json::Error>,
    text: fn(&str) -> Result<T, text::Error>,
    absent: Absence<T>,
}

/// Where in the arguments a key looks.
#[derive(Debug, Clone, Copy)]
enum ArgumentSource {
    Named(&'static str),
    /// All of them together: a flattened struct.
    Whole,
}

/// What an argument is when the caller left it out.
#[derive(Debug)]
enum Absence<T> {
    Error,
    Nothing,
    Default(fn() -> T),
}

impl<T: Argument> Key<T> {
    pub(crate) fn new(name: &'static str, expected: Cow<'static, str>, default: Option<fn() -> T>) -> Self {
        let absent = match default {
            Some(default) => Absence::Default(default),
            None if is_optional::<T>() => Absence::Nothing,
            None => Absence::Error,
        };
        Self::at(ArgumentSource::Named(name), expected, absent)
    }

    pub(crate) fn whole() -> Self {
        Self::at(ArgumentSource::Whole, Cow::Borrowed("object"), Absence::Error)
    }

    fn at(place: ArgumentSource, expected: Cow<'static, str>, absent: Absence<T>) -> Self {
        Key { place, expected, json: |raw| serde_json::from_str(raw), text: text::read, absent }
    }
}

/// What the caller sent to one handler.
#[derive(Debug)]
pub struct Args<'a>(Source<'a>);

#[derive(Debug)]
enum Source<'a> {
    /// A tool's `arguments`: JSON of any type, and the whole of it for flattened structs.
    Json(Object<'a>, &'a str),
    /// A prompt's `arguments`: each one text.
    Text(Object<'a>),
    /// What a template's variables matched.
    Uri(Vec<(&'a str, Cow<'a, str>)>),
}

impl<'a> Args<'a> {
    /// A tool's arguments.
    pub(crate) fn json(raw: Option<Raw<'a>>) -> Result<Self, RpcError> {
        let whole = raw.map(Raw::get).filter(|raw| *raw != "null").unwrap_or("{}");
        Ok(Args(Source::Json(optional_object("arguments", raw)?, whole)))
    }

    /// A prompt's arguments.
    pub(crate) fn text(raw: Option<Raw<'a>>) -> Result<Self, RpcError> {
        Ok(Args(Source::Text(optional_object("arguments", raw)?)))
    }

    pub(crate) fn uri(variables: Vec<(&'a str, Cow<'a, str>)>) -> Self {
        Args(Source::Uri(variables))
    }

    /// A tool without arguments takes none: its schema says so, and here it is so.
    pub(crate) fn refuse_any(&self) -> Result<(), ArgumentError> {
        let Source::Json(object, _) = &self.0 else { return Ok(()) };
        match object.iter().next() {
            None => Ok(()),
            Some((name, value)) => Err(ArgumentError {
                field: Cow::Owned(shorten(name).into_owned()),
                expected_type: Cow::Borrowed("nothing"),
                actual_type: Cow::Borrowed(value.kind()),
                text: format!("there is no argument `{}`: call it with {{}}", shorten(name)),
            }),
        }
    }

    /// The value of the argument `key` stands for.
    pub fn take<T>(&self, key: &Key<T>) -> Result<T, ArgumentError> {
        match (&self.0, key.place) {
            (Source::Json(object, _), ArgumentSource::Named(name)) => key.read_json(object.get(name).map(Raw::get)),
            (Source::Json(_, whole), ArgumentSource::Whole) => key.read_json(Some(whole)),
            (Source::Text(object), ArgumentSource::Named(name)) => key.read_prompt(object.get(name)),
            (Source::Uri(variables), ArgumentSource::Named(name)) => {
                match variables.iter().find(|(variable, _)| *variable == name) {
                    Some((_, value)) => key.read_text(value),
                    None => key.when_absent(),
                }
            }
            (Source::Text(_) | Source::Uri(_), ArgumentSource::Whole) => key.when_absent(),
        }
    }
}

/// What is wrong with the parameters of a method, and where.
pub(crate) fn explain(raw: &str, error: &serde_json::Error) -> ArgumentError {
    let why = locate::plain(&without_position(error));
    let locate::Located { path, value } = locate::locate(raw, error);
    // Where something is missing, the error is at what it is missing from.
    let missing = why.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    let names = [&*path, missing.unwrap_or_default()];
    let field = names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(".");
    let field = if field.is_empty() { "params".to_owned() } else { shorten(&field).into_owned() };
    let expected_type = locate::expected(&why).unwrap_or(Cow::Borrowed("value"));
    let actual_type = Cow::Borrowed(if missing.is_some() { "missing" } else { type_of(value) });
    let text = if missing.is_some() { format!("`{field}` is missing") } else { format!("`{field}`: {why}") };
    ArgumentError { field: Cow::Owned(field), expected_type, actual_type, text }
}

impl<T> Key<T> {
    fn read_json(&self, raw: Option<&str>) -> Result<T, ArgumentError> {
        match raw {
            None => self.when_absent(),
            // Models send null for what they do not want to set.
            Some("null") if matches!(self.absent, Absence::Default(_)) => self.when_absent(),
            Some(raw) if self.contradicts(raw) => {
                let actual = type_of(raw);
                Err(self.wrong(actual, &format!("invalid type: {actual}, expected {}", self.expected)))
            }
            Some(raw) => {
                (self.json)(raw).or_else(|error| self.whole_number(raw).ok_or_else(|| self.misfit(raw, &error)))
            }
        }
    }

    /// Whether serde would accept what the schema does not: a struct from a list, an enum from an object.
    fn contradicts(&self, raw: &str) -> bool {
        match &*self.expected {
            "object" => raw.starts_with('['),
            "string" => raw.starts_with('{'),
            _ => false,
        }
    }

    /// `2.0` is an integer to JSON Schema, and to clients whose numbers are all floats.
    fn whole_number(&self, raw: &str) -> Option<T> {
        let (integer, fraction) = raw.split_once('.').filter(|_| self.expected == "integer")?;
        let zero = !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
        zero.then(|| (self.json)(integer).ok()).flatten()
    }

    /// The error for JSON that could not be decoded, with the path to what did not fit.
    fn misfit(&self, raw: &str, error: &serde_json::Error) -> ArgumentError {
        let inner = explain(raw, error);
        match self.place {
            _ if inner.field == "params" => self.wrong(type_of(raw), &locate::plain(&without_position(error))),
            ArgumentSource::Whole => inner,
            ArgumentSource::Named(name) => {
                let field = format!("{name}.{}", inner.field);
                let text = inner.text.replacen(&*inner.field, &field, 1);
                ArgumentError { field: Cow::Owned(field), text, ..inner }
            }
        }
    }

    /// Prompt arguments are strings; a client that sends a bare number means its text.
    fn read_prompt(&self, raw: Option<Raw<'_>>) -> Result<T, ArgumentError> {
        match raw.map(Raw::get) {
            None | Some("null") => self.when_absent(),
            Some(raw) if raw.starts_with('"') => match serde_json::from_str::<JsonStr<'_>>(raw) {
                Ok(JsonStr(text)) => self.read_text(&text),
                Err(error) => Err(self.wrong("string", &without_position(&error))),
            },
            Some(raw) if raw.starts_with(['{', '[']) => Err(self.wrong(type_of(raw), "a prompt's arguments are text")),
            Some(raw) => self.read_text(raw),
        }
    }

    fn read_text(&self, text: &str) -> Result<T, ArgumentError> {
        (self.text)(text).map_err(|error| self.wrong("string", &error.to_string()))
    }

    fn when_absent(&self) -> Result<T, ArgumentError> {
        match self.absent {
            Absence::Default(default) => Ok(default()),
            Absence::Nothing => (self.json)("null").map_err(|error| self.wrong("missing", &without_position(&error))),
            Absence::Error => {
                let text = format!("`{}` is missing; it is of type {}", self.name(), self.expected);
                Err(self.error("missing", text))
            }
        }
    }

    fn name(&self) -> &'static str {
        match self.place {
            ArgumentSource::Named(name) => name,
            ArgumentSource::Whole => "arguments",
        }
    }

    fn wrong(&self, actual: &'static str, why: &str) -> ArgumentError {
        self.error(actual, format!("`{}`: {why}", self.name()))
    }

    fn error(&self, actual: &'static str, text: String) -> ArgumentError {
        ArgumentError {
            field: Cow::Borrowed(self.name()),
            expected_type: self.expected.clone(),
            actual_type: Cow::Borrowed(actual),
            text,
        }
    }
}
