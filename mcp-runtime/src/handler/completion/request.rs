//! The parameters of `completion/complete`.

use std::borrow::Cow;

use serde_json::json;

use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::{Object, optional_object, required_string};
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
        let argument = required_string(fields.get("name"), "argument.name")?;
        let typed = required_string(fields.get("value"), "argument.value")?;
        let others = others(context, &argument)?;
        Ok(CompletionRequest { reference, argument, typed, others })
    }
}

impl<'a> Reference<'a> {
    fn read(fields: &Object<'a>) -> Result<Self, RpcError> {
        match &*required_string(fields.get("type"), "ref.type")? {
            "ref/prompt" => Ok(Reference::Prompt(required_string(fields.get("name"), "ref.name")?)),
            "ref/resource" => Ok(Reference::Resource(required_string(fields.get("uri"), "ref.uri")?)),
            _ => Err(RpcError::invalid_params("Invalid params: `ref.type` is neither `ref/prompt` nor `ref/resource`")
                .with_data(json!({"field": "ref.type", "allowed": ["ref/prompt", "ref/resource"]}))),
        }
    }
}

/// The arguments already filled in, without `argument` itself, which some clients repeat.
fn others(context: Option<Raw<'_>>, argument: &str) -> Result<CompletionContext, RpcError> {
    const FIELD: &str = "context.arguments";
    let context = optional_object("context", context)?;
    let filled_in = optional_object(FIELD, context.get("arguments"))?;
    let text = |name: &str, raw| required_string(Some(raw), format_args!("{FIELD}.{name}"));
    let texts = filled_in.iter().map(|(name, raw)| Ok((name, text(name, raw)?)));
    texts.filter(|pair| !matches!(pair, Ok((name, _)) if *name == argument)).collect()
}

/// Reads a member that must be an object.
fn required<'a>(params: &Object<'a>, field: &str) -> Result<Object<'a>, RpcError> {
    match params.get(field) {
        Some(raw) if raw.kind() == "object" => optional_object(field, Some(raw)),
        other => Err(RpcError::wrong_field(field, "object", other.map_or("missing", |raw| raw.kind()))),
    }
}
