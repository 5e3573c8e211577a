//! Arguments: decodes a call's JSON, prompt strings or URI variables into the handler's types.
//!
//! Arguments are decoded one by one, each through a [`Key`]. A hidden struct with derives would take longer to
//! compile, and one missing derive of the user's would be several errors.

pub(crate) mod checked;
pub(crate) mod default;
pub(super) mod locate;
pub(super) mod missing;
pub(crate) mod own_context;
pub(crate) mod rules;
pub(super) mod text;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::jsonrpc::error::{RpcError, shorten, without_position};
use crate::jsonrpc::object::{JsonStr, Object, optional_object};
use crate::jsonrpc::raw::{Raw, to_text, type_of};
use crate::outcome::{ArgumentError, ArgumentErrors};

/// A type that a handler can take by value: decoded from the caller's input, and described by a schema.
///
/// Implemented for every type with `serde::Deserialize` and `schemars::JsonSchema`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as an argument",
    label = "not an argument type",
    note = "arguments are decoded from JSON: add `#[derive(serde::Deserialize, schemars::JsonSchema)]` to it, and to every type inside it",
    note = "`JsonSchema` must be that of schemars 1, as in `mcp_runtime::schemars`; for a type of another crate, enable the crate's feature: `schemars = {{ version = \"1\", features = [\"chrono04\"] }}`",
    note = "arguments are owned: they cannot borrow; what the server provides is borrowed, as in `ctx: &Context`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#arguments"
)]
pub trait Argument: DeserializeOwned + JsonSchema + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Argument for T {}

/// Whether a `T` may be missing, by serde's own rule for missing fields: true of `Option<_>`,
/// however it is spelled.
pub(crate) fn is_optional<T: DeserializeOwned>() -> bool {
    T::deserialize(missing::Absent).is_ok()
}

/// A declared argument: how to find and decode it, and how to report errors.
///
/// Created where the argument's type is written, so the compiler reports a type that is not an
/// [`Argument`] there, once.
#[derive(Debug)]
pub struct Key<T> {
    selector: Selector,
    expected: Cow<'static, str>,
    json: fn(&str) -> Result<T, serde_json::Error>,
    text: fn(&str) -> Result<T, text::Error>,
    absent: Absence<T>,
}

/// Which of the arguments a key selects.
#[derive(Debug, Clone, Copy)]
enum Selector {
    Named(&'static str),
    /// All of them, for a flattened struct.
    Whole,
}

/// The value of a missing argument.
#[derive(Debug)]
enum Absence<T> {
    Error,
    Null,
    Default(fn() -> T),
}

impl<T: Argument> Key<T> {
    pub(crate) fn new(name: &'static str, expected: Cow<'static, str>, default: Option<fn() -> T>) -> Self {
        let absent = match default {
            Some(default) => Absence::Default(default),
            None if is_optional::<T>() => Absence::Null,
            None => Absence::Error,
        };
        Self::at(Selector::Named(name), expected, absent)
    }

    pub(crate) fn whole() -> Self {
        Self::at(Selector::Whole, Cow::Borrowed("object"), Absence::Error)
    }

    /// Whether JSON text decodes into a `T`.
    pub(super) fn accepts_json(json: &str) -> bool {
        serde_json::from_str::<T>(json).is_ok()
    }

    /// Whether plain text decodes into a `T`.
    pub(super) fn accepts_text(text: &str) -> bool {
        text::read::<T>(text).is_ok()
    }

    fn at(selector: Selector, expected: Cow<'static, str>, absent: Absence<T>) -> Self {
        Key { selector, expected, json: |raw| serde_json::from_str(raw), text: text::read, absent }
    }
}

/// The arguments of one call.
#[derive(Debug)]
pub struct Args<'a> {
    source: Source<'a>,
    /// How many of them have been taken, to notice the others.
    taken: Cell<usize>,
}

#[derive(Debug)]
enum Source<'a> {
    /// A tool's `arguments`: JSON of any type, and the whole text of it for flattened structs.
    Json(Object<'a>, &'a str),
    /// A prompt's `arguments`: strings.
    Text(Object<'a>),
    /// The matched variables of a URI template.
    Uri(Vec<(&'a str, Cow<'a, str>)>),
}

impl<'a> From<Source<'a>> for Args<'a> {
    fn from(source: Source<'a>) -> Self {
        Args { source, taken: Cell::new(0) }
    }
}

impl<'a> Args<'a> {
    /// A tool's arguments.
    pub(crate) fn json(raw: Option<Raw<'a>>) -> Result<Self, RpcError> {
        let whole = raw.map(Raw::get).filter(|raw| *raw != "null").unwrap_or("{}");
        Ok(Args::from(Source::Json(optional_object("arguments", raw)?, whole)))
    }

    /// A prompt's arguments.
    pub(crate) fn text(raw: Option<Raw<'a>>) -> Result<Self, RpcError> {
        Ok(Args::from(Source::Text(optional_object("arguments", raw)?)))
    }

    pub(crate) fn uri(variables: Vec<(&'a str, Cow<'a, str>)>) -> Self {
        Args::from(Source::Uri(variables))
    }

    /// Whether there are arguments that no key has taken. A flattened struct may have taken any of them.
    pub(crate) fn has_untaken(&self) -> bool {
        matches!(&self.source, Source::Json(object, _) if self.taken.get() < object.len())
    }

    /// Whether an argument was sent.
    pub(crate) fn has(&self, name: &str) -> bool {
        match &self.source {
            Source::Json(object, _) | Source::Text(object) => object.get(name).is_some(),
            Source::Uri(variables) => variables.iter().any(|(variable, _)| *variable == name),
        }
    }

    /// Decodes all arguments into one value.
    pub(super) fn whole<T: DeserializeOwned>(&self) -> Result<T, ArgumentErrors> {
        let Source::Json(object, whole) = &self.source else { return Err(vec![self.not_json()]) };
        self.taken.set(object.len());
        serde_json::from_str(whole).map_err(|error| vec![explain(whole, &error)])
    }

    fn not_json(&self) -> ArgumentError {
        let source = if matches!(self.source, Source::Uri(_)) { "a URI" } else { "text" };
        ArgumentError {
            field: Cow::Borrowed("arguments"),
            expected_type: Cow::Borrowed("object"),
            actual_type: Cow::Borrowed("string"),
            text: format!("the arguments come from {source}"),
        }
    }

    /// All arguments that arrived as text, by name.
    pub(super) fn texts(&self) -> HashMap<String, String> {
        match &self.source {
            Source::Json(object, _) | Source::Text(object) => {
                let text = |raw: Raw<'_>| raw.text().map_or_else(|| raw.get().to_owned(), Cow::into_owned);
                let sent = object.iter().filter(|(_, raw)| raw.get() != "null");
                sent.map(|(name, raw)| (name.to_owned(), text(raw))).collect()
            }
            Source::Uri(variables) => {
                variables.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect()
            }
        }
    }

    /// All arguments, as a JSON object.
    pub(super) fn to_json(&self) -> String {
        let member = |name: &str, value: &str| format!("{}:{value}", to_text(&name.into()));
        let members: Vec<String> = match &self.source {
            Source::Json(_, whole) => return (*whole).to_owned(),
            Source::Text(object) => object.iter().map(|(name, raw)| member(name, raw.get())).collect(),
            Source::Uri(variables) => {
                variables.iter().map(|(name, text)| member(name, &to_text(&(&**text).into()))).collect()
            }
        };
        format!("{{{}}}", members.join(","))
    }

    /// Decodes the argument that `key` selects.
    pub fn take<T>(&self, key: &Key<T>) -> Result<T, ArgumentErrors> {
        match (&self.source, key.selector) {
            (Source::Json(object, _), Selector::Named(name)) => {
                let raw = object.get(name);
                self.taken.set(self.taken.get() + usize::from(raw.is_some()));
                key.read_json(raw.map(Raw::get))
            }
            (Source::Json(_, whole), Selector::Whole) => key.read_json(Some(whole)),
            (Source::Text(object), Selector::Named(name)) => key.read_prompt(object.get(name)),
            (Source::Uri(variables), Selector::Named(name)) => {
                match variables.iter().find(|(variable, _)| *variable == name) {
                    Some((_, value)) => key.read_text(value),
                    None => key.when_absent(),
                }
            }
            (Source::Text(_) | Source::Uri(_), Selector::Whole) => key.when_absent(),
        }
    }
}

/// Turns serde's error about `raw` into one that names the field.
pub(crate) fn explain(raw: &str, error: &serde_json::Error) -> ArgumentError {
    let why = locate::plain(&without_position(error));
    let locate::Located { path, value } = locate::locate(raw, error);
    // For a missing field, the position is that of the object that lacks it.
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
    fn read_json(&self, raw: Option<&str>) -> Result<T, ArgumentErrors> {
        match raw {
            None => self.when_absent(),
            // Models send null for arguments they do not want to set.
            Some("null") if matches!(self.absent, Absence::Default(_)) => self.when_absent(),
            Some(raw) if self.violates_schema(raw) => {
                let actual = type_of(raw);
                Err(self.wrong(actual, &format!("invalid type: {actual}, expected {}", self.expected)))
            }
            Some(raw) => (self.json)(raw)
                .or_else(|error| self.read_whole_number(raw).ok_or_else(|| self.decode_error(raw, &error))),
        }
    }

    /// Whether serde would accept what the schema forbids: a struct from an array, an enum from an object.
    fn violates_schema(&self, raw: &str) -> bool {
        match &*self.expected {
            "object" => raw.starts_with('['),
            "string" => raw.starts_with('{'),
            _ => false,
        }
    }

    /// Reads `2.0` as an integer: it is one in JSON Schema, and to clients whose numbers are all floats.
    fn read_whole_number(&self, raw: &str) -> Option<T> {
        if self.expected != "integer" {
            return None;
        }
        let (integer, fraction) = raw.split_once('.')?;
        let is_zero = !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
        if is_zero { (self.json)(integer).ok() } else { None }
    }

    /// The error for JSON that could not be decoded, with the path to the wrong value.
    fn decode_error(&self, raw: &str, error: &serde_json::Error) -> ArgumentErrors {
        let inner = explain(raw, error);
        match self.selector {
            _ if inner.field == "params" => self.wrong(type_of(raw), &locate::plain(&without_position(error))),
            Selector::Whole => vec![inner],
            Selector::Named(name) => {
                let field = format!("{name}.{}", inner.field);
                let text = inner.text.replacen(&*inner.field, &field, 1);
                vec![ArgumentError { field: Cow::Owned(field), text, ..inner }]
            }
        }
    }

    /// Prompt arguments are strings. A bare number or boolean is read as its text, since some clients
    /// send them.
    fn read_prompt(&self, raw: Option<Raw<'_>>) -> Result<T, ArgumentErrors> {
        match raw.map(Raw::get) {
            None | Some("null") => self.when_absent(),
            Some(raw) if raw.starts_with('"') => match serde_json::from_str::<JsonStr<'_>>(raw) {
                Ok(JsonStr(text)) => self.read_text(&text),
                Err(error) => Err(self.wrong("string", &without_position(&error))),
            },
            Some(raw) if raw.starts_with(['{', '[']) => Err(self.wrong(type_of(raw), "prompt arguments are strings")),
            Some(raw) => self.read_text(raw),
        }
    }

    fn read_text(&self, text: &str) -> Result<T, ArgumentErrors> {
        (self.text)(text).map_err(|error| self.wrong("string", &error.to_string()))
    }

    fn when_absent(&self) -> Result<T, ArgumentErrors> {
        match self.absent {
            Absence::Default(default) => Ok(default()),
            Absence::Null => (self.json)("null").map_err(|error| self.wrong("missing", &without_position(&error))),
            Absence::Error => {
                let text = format!("`{}` is missing; it is of type {}", self.name(), self.expected);
                Err(self.error("missing", text))
            }
        }
    }

    fn name(&self) -> &'static str {
        match self.selector {
            Selector::Named(name) => name,
            Selector::Whole => "arguments",
        }
    }

    fn wrong(&self, actual: &'static str, why: &str) -> ArgumentErrors {
        self.error(actual, format!("`{}`: {why}", self.name()))
    }

    fn error(&self, actual: &'static str, text: String) -> ArgumentErrors {
        vec![ArgumentError {
            field: Cow::Borrowed(self.name()),
            expected_type: self.expected.clone(),
            actual_type: Cow::Borrowed(actual),
            text,
        }]
    }
}
