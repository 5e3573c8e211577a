//! The names of a [`Catalog`], for telemetry: what a client may name is endless, what a server offers is not.

use super::Catalog;
use crate::era::{Method, Names};
use crate::handler::prompt::Prompt;
use crate::handler::tool::Tool;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;

impl Names for Catalog {
    fn custom_method(&self, name: &str) -> Option<&str> {
        self.methods.at(self.methods.index_of(name)?).map(|method| &*method.name)
    }

    fn target(&self, method: Method, params: &Object<'_>) -> Option<&str> {
        let named = |key: &str| params.get(key).and_then(Raw::text);
        match method {
            Method::ToolsCall => self.tools.get(&named("name")?).map(Tool::name),
            Method::PromptsGet => self.prompts.get(&named("name")?).map(Prompt::name),
            Method::ResourcesRead | Method::Subscribe | Method::Unsubscribe => {
                let uri = named("uri")?;
                let fixed = self.resources.get(&uri).map(|resource| resource.descriptor.uri.as_str());
                let family = || self.templates.iter().find(|(_, family)| family.template.matches(&uri).is_some());
                fixed.or_else(|| family().map(|(template, _)| template))
            }
            _ => None,
        }
    }
}
