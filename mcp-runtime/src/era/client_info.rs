//! The client: its name and version, and the parameters of its `initialize`.

#[cfg(feature = "http")]
use serde_json::{Map, Value};

use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;

/// The capabilities that this crate knows. Others are the business of whoever knows them.
const CAPABILITIES: [&str; 6] = ["elicitation", "experimental", "extensions", "roots", "sampling", "tasks"];

/// What is text in a client's description of itself.
const INFO_STRINGS: [&str; 5] = ["name", "version", "title", "description", "websiteUrl"];

/// Checks the types of a client's capabilities: an object of objects. `path` is where they are, for the error.
///
/// A capability that is null is not declared. An empty list is the `{}` of languages that have one type for both.
pub(super) fn check_capabilities(capabilities: Raw<'_>, path: &str) -> Result<(), RpcError> {
    if capabilities.kind() != "object" {
        return Err(RpcError::wrong_field(path, "object", capabilities.kind()));
    }
    // Most clients have none, and in 2026-07-28 they say so in every request.
    if capabilities.get() == "{}" {
        return Ok(());
    }
    for (name, settings) in capabilities.members().flatten() {
        let fits = match settings.kind() {
            "object" | "null" => true,
            "array" => settings.get()[1..].trim_start() == "]",
            _ => false,
        };
        if !fits && CAPABILITIES.contains(&&*name) {
            return Err(RpcError::wrong_field(&format!("{path}.{name}"), "object", settings.kind()));
        }
    }
    Ok(())
}

/// Checks the types of a client's description of itself. In sessions, clients may leave out what is `required`.
pub(super) fn check_info(info: Raw<'_>, path: &str, required: bool) -> Result<(), RpcError> {
    let members = Object::read(info).map_err(|_| RpcError::wrong_field(path, "object", info.kind()))?;
    let wrong = |name: &str, actual: &str| RpcError::wrong_field(&format!("{path}.{name}"), "string", actual);
    for (name, value) in members.iter() {
        if value.kind() != "string" && INFO_STRINGS.contains(&name) {
            return Err(wrong(name, value.kind()));
        }
    }
    let missing = || ["name", "version"].into_iter().find(|name| members.get(name).is_none());
    match required.then(missing).flatten() {
        Some(name) => Err(wrong(name, "missing")),
        None => Ok(()),
    }
}

/// A client, as it describes itself.
#[derive(Debug, Default)]
pub(crate) struct ClientInfo {
    name_and_version: Option<(Box<str>, Box<str>)>,
    /// The parameters of `initialize`, each as JSON; empty without a session.
    initialize_params: Vec<(Box<str>, Box<str>)>,
}

impl ClientInfo {
    /// The client named in a request's `_meta`.
    pub(crate) fn new(info: Option<Raw<'_>>) -> Self {
        let info = info.and_then(|raw| Object::read(raw).ok()).unwrap_or_default();
        let text = |name: &str| info.get(name).and_then(Raw::text).map(|text| Box::from(&*text));
        ClientInfo { name_and_version: text("name").zip(text("version")), initialize_params: Vec::new() }
    }

    /// The client that sent `initialize` with these parameters.
    pub(crate) fn initialize_params(params: &Object<'_>) -> Self {
        let initialize_params = params.iter().map(|(name, value)| (name.into(), value.get().into())).collect();
        ClientInfo { initialize_params, ..ClientInfo::new(params.get("clientInfo")) }
    }

    /// The client of a stored session, from the parameters of its `initialize`.
    #[cfg(feature = "http")]
    pub(crate) fn remembered(initialize_params: &Map<String, Value>) -> Self {
        let members = initialize_params.iter();
        let initialize_params: Vec<(Box<str>, Box<str>)> =
            members.map(|(name, value)| (name.as_str().into(), value.to_string().into())).collect();
        let info = initialize_params.iter().find(|(name, _)| **name == *"clientInfo");
        let info = ClientInfo::new(info.map(|(_, value)| Raw::new_unchecked(value)));
        ClientInfo { initialize_params, ..info }
    }

    /// The parameters of `initialize`, for the session store.
    #[cfg(feature = "http")]
    pub(crate) fn to_remember(&self) -> Map<String, Value> {
        let members = self.initialize_params.iter();
        members.filter_map(|(name, raw)| Some((name.to_string(), serde_json::from_str(raw).ok()?))).collect()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name_and_version.as_ref().map(|(name, _)| &**name)
    }

    pub(crate) fn version(&self) -> Option<&str> {
        self.name_and_version.as_ref().map(|(_, version)| &**version)
    }

    /// One parameter of `initialize`, as JSON.
    pub(crate) fn initialize_param(&self, name: &str) -> Option<&str> {
        self.initialize_params.iter().find(|(other, _)| **other == *name).map(|(_, value)| &**value)
    }
}
