//! The names of a [`Catalog`], for telemetry: what a client may name is endless, what a server offers is not.

use std::borrow::Cow;
use std::sync::Arc;

use super::Catalog;
use crate::era::{Method, Names};
use crate::jsonrpc::object::{Object, optional_object};
use crate::jsonrpc::raw::Raw;

impl Names for Catalog {
    fn custom_method(&self, name: &str) -> Option<&str> {
        self.methods.at(self.methods.index_of(name)?).map(|method| &*method.name)
    }

    fn custom_notification(&self, name: &str) -> Option<&str> {
        self.notifications.get(name).map(|notification| &*notification.name)
    }

    fn target(&self, method: Method, params: &Object<'_>) -> Option<&Arc<str>> {
        match method {
            Method::ToolsCall => self.tools.name(&text(params, "name")?),
            Method::PromptsGet => self.prompts.name(&text(params, "name")?),
            Method::ResourcesRead | Method::Subscribe | Method::Unsubscribe => self.resource(&text(params, "uri")?),
            Method::Complete => {
                let reference = optional_object("ref", params.get("ref")).ok()?;
                match text(&reference, "uri") {
                    Some(uri) => self.templates.name(&uri).or_else(|| self.resource(&uri)),
                    None => self.prompts.name(&text(&reference, "name")?),
                }
            }
            _ => None,
        }
    }
}

impl Catalog {
    fn resource(&self, uri: &str) -> Option<&Arc<str>> {
        let family = || self.templates.name_where(|family| family.template.matches(uri).is_some());
        self.resources.name(uri).or_else(family)
    }
}

fn text<'a>(params: &Object<'a>, key: &str) -> Option<Cow<'a, str>> {
    params.get(key).and_then(Raw::text)
}
