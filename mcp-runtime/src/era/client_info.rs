//! The client: its name and version, and the parameters of its `initialize`.

#[cfg(feature = "http")]
use serde_json::{Map, Value};

use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;
use crate::protocol::Implementation;

/// The capabilities that this crate knows. Others are the business of whoever knows them.
const CAPABILITIES: [&str; 6] = ["elicitation", "experimental", "extensions", "roots", "sampling", "tasks"];

/// Checks the types of a client's capabilities: an object of objects. `path` is where they are, for the error.
///
/// A capability that is null is not declared. An empty list is the `{}` of languages that have one type for both.
pub(super) fn check_capabilities(capabilities: Raw<'_>, path: &str) -> Result<(), RpcError> {
    if capabilities.kind() != "object" {
        return Err(RpcError::wrong_field(path, "object", capabilities.kind()));
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
    for (name, required) in
        [("name", required), ("version", required), ("title", false), ("description", false), ("websiteUrl", false)]
    {
        let actual = match members.get(name) {
            Some(value) if value.kind() == "string" => continue,
            Some(value) => value.kind(),
            None if required => "missing",
            None => continue,
        };
        return Err(RpcError::wrong_field(&format!("{path}.{name}"), "string", actual));
    }
    Ok(())
}

/// A client, as it describes itself.
#[derive(Debug, Default)]
pub(crate) struct ClientInfo {
    info: Option<Implementation>,
    /// The parameters of `initialize`, each as JSON; empty without a session.
    initialize_params: Vec<(Box<str>, Box<str>)>,
}

impl ClientInfo {
    /// The client named in a request's `_meta`.
    pub(crate) fn new(info: Option<Raw<'_>>) -> Self {
        ClientInfo { info: info.and_then(|raw| serde_json::from_str(raw.get()).ok()), initialize_params: Vec::new() }
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
        let info = initialize_params
            .iter()
            .find(|(name, _)| **name == *"clientInfo")
            .map(|(_, value)| Raw::new_unchecked(value));
        ClientInfo { info: ClientInfo::new(info).info, initialize_params }
    }

    /// The parameters of `initialize`, for the session store.
    #[cfg(feature = "http")]
    pub(crate) fn to_remember(&self) -> Map<String, Value> {
        let members = self.initialize_params.iter();
        members.filter_map(|(name, raw)| Some((name.to_string(), serde_json::from_str(raw).ok()?))).collect()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.info.as_ref().map(|info| &*info.name)
    }

    pub(crate) fn version(&self) -> Option<&str> {
        self.info.as_ref().map(|info| &*info.version)
    }

    /// One parameter of `initialize`, as JSON.
    pub(crate) fn initialize_param(&self, name: &str) -> Option<&str> {
        self.initialize_params.iter().find(|(other, _)| **other == *name).map(|(_, value)| &**value)
    }
}
