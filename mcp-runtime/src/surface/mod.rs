//! The surface of a server: everything its clients rely on, as data that can be recorded, compared and checked.
//!
//! Not part of it: the version, which changes with every release; the size and the age of a resource, which change
//! with its contents; hidden differences between callers (`visible_if`): items that only some callers see are in it.

mod compare;
pub(crate) mod difference;
mod items;
mod schema;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::protocol::{Icon, Meta, PromptDescriptor, ResourceDescriptor, TemplateDescriptor, ToolDescriptor};
pub(crate) use compare::compare;

/// Everything a server offers, in the order of registration.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Surface {
    pub(crate) server: Identity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<String>,
    /// As in the newest revision.
    #[serde(default)]
    pub(crate) capabilities: Meta,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<Offered<ToolDescriptor>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) prompts: Vec<Offered<PromptDescriptor>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<Offered<ResourceDescriptor>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_templates: Vec<Offered<TemplateDescriptor>>,
    /// Custom requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) methods: Vec<String>,
    /// Custom notifications.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notifications: Vec<String>,
}

#[cfg(all(feature = "cli", feature = "auth-fetch"))]
impl Surface {
    /// The scopes of all handlers, each once.
    pub(crate) fn scopes(&self) -> Vec<String> {
        let (tools, prompts) = (self.tools.iter().map(|tool| &tool.scopes), self.prompts.iter().map(|one| &one.scopes));
        let resources = self.resources.iter().map(|resource| &resource.scopes);
        let templates = self.resource_templates.iter().map(|template| &template.scopes);
        let mut all: Vec<String> = tools.chain(prompts).chain(resources).chain(templates).flatten().cloned().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// A server's description of itself, without its version.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Identity {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) website_url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) icons: Vec<Icon>,
}

/// An item of a list, with the properties that clients depend on and lists do not show.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Offered<T> {
    #[serde(flatten)]
    pub(crate) item: T,
    /// The capabilities a client must have, as in `requires(…)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) requires: Vec<String>,
    /// The scopes its callers need, beside those of every call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) scopes: Vec<String>,
    /// Whether clients can subscribe to the resource.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) subscribe: bool,
    /// Whether a tool returns structured JSON that no schema describes. Not part of the contract.
    #[serde(skip)]
    pub(crate) returns_plain_json: bool,
    /// Why layers of a tool never do anything, and what to do about each. Not part of the contract.
    #[serde(skip)]
    pub(crate) idle_layers: Vec<(&'static str, &'static str)>,
}

impl Surface {
    /// The text of a contract: stable, made to be read in a diff.
    pub(crate) fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).unwrap_or_else(|why| panic!("the surface is not JSON: {why}"));
        text + "\n"
    }

    pub(crate) fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}
