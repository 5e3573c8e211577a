//! What a client said of itself.

#[cfg(feature = "http")]
use serde_json::{Map, Value};

use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;
use crate::protocol::Implementation;

/// A client, by its own account.
#[derive(Debug, Default)]
pub(crate) struct ClientInfo {
    info: Option<Implementation>,
    /// What it said when it opened its session; nothing where there is none.
    initialize_params: Vec<(Box<str>, Box<str>)>,
}

impl ClientInfo {
    /// The client a request names.
    pub(crate) fn new(info: Option<Raw<'_>>) -> Self {
        ClientInfo { info: info.and_then(|raw| serde_json::from_str(raw.get()).ok()), initialize_params: Vec::new() }
    }

    /// The client that sent `initialize` with these parameters.
    pub(crate) fn initialize_params(params: &Object<'_>) -> Self {
        let initialize_params = params.iter().map(|(name, value)| (name.into(), value.get().into())).collect();
        ClientInfo { initialize_params, ..ClientInfo::new(params.get("clientInfo")) }
    }

    /// The client that sent an `initialize` with these members, some time ago.
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

    /// What it said in `initialize`, to be remembered.
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

    /// One member of its greeting.
    pub(crate) fn initialize_param(&self, name: &str) -> Option<&str> {
        self.initialize_params.iter().find(|(other, _)| **other == *name).map(|(_, value)| &**value)
    }
}
