//! The parameters of `completion/complete`.

use std::borrow::Cow;

use serde_json::json;

use crate::jsonrpc::error::{RpcError, shorten};
use crate::jsonrpc::object::{JsonStr, Object, optional_object};
use crate::jsonrpc::raw::Raw;
use crate::protocol::CompletionContext;

/// A completion request: which argument, and what the user has typed so far.
#[derive(Debug)]
pub(crate) struct CompletionRequest<'a> {
    pub(crate) reference: Reference<'a>,
    pub(crate) argument: Cow<'a, str>,
    pub(crate) typed: Cow<'a, str>,
    pub(crate) others: CompletionContext,
}

/// The prompt or template whose argument is completed.
#[derive(Debug)]
pub(crate) enum Reference<'a> {
    /// The prompt with this name.
    Prompt(Cow<'a, str>),
    /// The template with this text, or a template that matches this URI.
    Resource(Cow<'a, str>),
}

impl<'a> CompletionRequest<'a> {
    /// Reads `params`. `context` is passed separately, as not every revision has it.
    pub(crate) fn read(params: &Object<'a>, context: Option<Raw<'a>>) -> Result<Self, RpcError> {
        let reference = Reference::read(&required(params, "ref")?)?;
        let fields = required(params, "argument")?;
        let (argument, typed) = (string(&fields, "argument", "name")?, string(&fields, "argument", "value")?);
        let others = others(context, &argument)?;
        Ok(CompletionRequest { reference, argument, typed, others })
    }
}

impl<'a> Reference<'a> {
    fn read(fields: &Object<'a>) -> Result<Self, RpcError> {
        match &*string(fields, "ref", "type")? {
            "ref/prompt" => Ok(Reference::Prompt(string(fields, "ref", "name")?)),
            "ref/resource" => Ok(Reference::Resource(string(fields, "ref", "uri")?)),
            _ => Err(RpcError::invalid_params("Invalid params: `ref.type` is neither `ref/prompt` nor `ref/resource`")
                .with_data(json!({"field": "ref.type", "allowed": ["ref/prompt", "ref/resource"]}))),
        }
    }
}

/// The arguments already filled in, without `argument` itself, which some clients repeat.
fn others(context: Option<Raw<'_>>, argument: &str) -> Result<CompletionContext, RpcError> {
    const FIELD: &str = "context.arguments";
    let context = optional_object("context", context)?;
    let arguments = optional_object(FIELD, context.get("arguments"))?;
    let texts = arguments.iter().map(|(name, raw)| Ok((name, text(Some(raw), FIELD, name)?)));
    texts.filter(|pair| !matches!(pair, Ok((name, _)) if *name == argument)).collect()
}

/// Reads a member that must be an object.
fn required<'a>(params: &Object<'a>, field: &str) -> Result<Object<'a>, RpcError> {
    match params.get(field) {
        Some(raw) if raw.kind() == "object" => optional_object(field, Some(raw)),
        other => Err(RpcError::wrong_field(field, "object", other.map_or("missing", |raw| raw.kind()))),
    }
}

/// Reads a member of the object `parent` that must be a string.
fn string<'a>(fields: &Object<'a>, parent: &str, name: &str) -> Result<Cow<'a, str>, RpcError> {
    text(fields.get(name), parent, name)
}

/// Reads `raw`, which must be a string.
fn text<'a>(raw: Option<Raw<'a>>, parent: &str, name: &str) -> Result<Cow<'a, str>, RpcError> {
    match raw.and_then(|raw| serde_json::from_str(raw.get()).ok()) {
        Some(JsonStr(text)) => Ok(text),
        None => {
            let actual = raw.map_or("missing", |raw| raw.kind());
            Err(RpcError::wrong_field(&shorten(&format!("{parent}.{name}")), "string", actual))
        }
    }
}
