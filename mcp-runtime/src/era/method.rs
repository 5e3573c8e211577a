//! Request methods, and the revisions that have them.

use std::sync::Arc;

use crate::jsonrpc::error::{RpcError, shorten};
use crate::jsonrpc::object::Object;
use crate::protocol::Revision;

/// The methods a server offers.
pub(crate) trait Offers {
    /// Whether the server has the capability of a method. Without it, the method is unknown.
    fn offers(&self, method: Method) -> bool;
    /// The index of the custom method called `name`.
    fn custom_method(&self, name: &str) -> Option<usize>;
    /// The names of all custom methods.
    fn custom_methods(&self) -> impl Iterator<Item = &str>;
}

/// The names a server gives to what it offers. All others are the client's invention.
pub(crate) trait Names {
    /// The name of a custom method, if it is one.
    fn custom_method(&self, name: &str) -> Option<&str>;
    /// The name of a custom notification, if it is one.
    fn custom_notification(&self, name: &str) -> Option<&str>;
    /// The name of what a request is for, if the server has it.
    fn target(&self, method: Method, params: &Object<'_>) -> Option<&Arc<str>>;
}

/// A method of the protocol, or a custom one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Ping,
    Discover,
    ToolsList,
    ToolsCall,
    ResourcesList,
    TemplatesList,
    ResourcesRead,
    PromptsList,
    PromptsGet,
    Complete,
    SetLevel,
    Subscribe,
    Unsubscribe,
    Listen,
    TasksGet,
    TasksResult,
    TasksList,
    TasksUpdate,
    TasksCancel,
    /// A custom method, by its index in the catalog.
    Custom(usize),
    /// Not in any revision; some clients know it from the Language Server Protocol.
    Shutdown,
}

/// Methods of the protocol that this server never answers. No similar name is suggested for them.
const OTHERS: [&str; 4] = ["elicitation/create", "roots/list", "sampling/createMessage", "skills/list"];

impl Method {
    const ALL: [Method; 21] = [
        Self::ToolsCall,
        Self::ToolsList,
        Self::ResourcesRead,
        Self::ResourcesList,
        Self::TemplatesList,
        Self::PromptsGet,
        Self::PromptsList,
        Self::Complete,
        Self::Ping,
        Self::Initialize,
        Self::Discover,
        Self::SetLevel,
        Self::Subscribe,
        Self::Unsubscribe,
        Self::Listen,
        Self::TasksGet,
        Self::TasksResult,
        Self::TasksList,
        Self::TasksUpdate,
        Self::TasksCancel,
        Self::Shutdown,
    ];

    /// The method called `name`. A method that only other revisions have, or that the server does not offer, is
    /// unknown.
    pub(crate) fn find(name: &str, revision: Revision, catalog: &impl Offers) -> Result<Self, RpcError> {
        let here = |method: &Method| method.is_in(revision);
        let found = Self::ALL.iter().copied().filter(here).find(|method| method.name() == name);
        if found.is_some_and(|method| !catalog.offers(method)) {
            return Err(unknown(name));
        }
        found.or_else(|| Self::custom(name, catalog)).ok_or_else(|| {
            let known = OTHERS.contains(&name) || Self::ALL.iter().any(|method| method.name() == name);
            let meant =
                |method: &Method| !known && here(method) && catalog.offers(*method) && *method != Self::Shutdown;
            let offered = Self::ALL.iter().copied().filter(meant).map(|method| -> &str { method.name() });
            let own = catalog.custom_methods();
            unknown(name).suggest(name, offered.chain(own))
        })
    }

    /// The name of the protocol's method called `name`, in whatever revision.
    pub(crate) fn known(name: &str) -> Option<&'static str> {
        Self::ALL.iter().map(|method| method.name()).find(|known| *known == name)
    }

    /// The custom method called `name`.
    pub(crate) fn custom(name: &str, catalog: &impl Offers) -> Option<Self> {
        catalog.custom_method(name).map(Self::Custom)
    }

    fn is_in(self, revision: Revision) -> bool {
        match self {
            Self::Initialize | Self::Ping | Self::SetLevel | Self::Subscribe | Self::Unsubscribe | Self::Shutdown => {
                !revision.is_modern()
            }
            Self::Discover | Self::Listen | Self::TasksUpdate => revision.is_modern(),
            Self::TasksGet | Self::TasksCancel => revision >= Revision::V2025_11_25,
            Self::TasksResult | Self::TasksList => revision == Revision::V2025_11_25,
            _ => true,
        }
    }

    /// Whether only the modern era has a method called `name`.
    pub(crate) fn is_modern_only(name: &str) -> bool {
        matches!(name, "server/discover" | "subscriptions/listen")
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::Discover => "server/discover",
            Self::ToolsList => "tools/list",
            Self::ToolsCall => "tools/call",
            Self::ResourcesList => "resources/list",
            Self::TemplatesList => "resources/templates/list",
            Self::ResourcesRead => "resources/read",
            Self::PromptsList => "prompts/list",
            Self::PromptsGet => "prompts/get",
            Self::Complete => "completion/complete",
            Self::SetLevel => "logging/setLevel",
            Self::Subscribe => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
            Self::Listen => "subscriptions/listen",
            Self::TasksGet => "tasks/get",
            Self::TasksResult => "tasks/result",
            Self::TasksList => "tasks/list",
            Self::TasksUpdate => "tasks/update",
            Self::TasksCancel => "tasks/cancel",
            Self::Custom(_) => "the method",
            Self::Shutdown => "shutdown",
        }
    }
}

pub(crate) fn unknown(name: &str) -> RpcError {
    RpcError::new(RpcError::METHOD_NOT_FOUND, format!("Method not found: {}", shorten(name)))
}
