//! Puts layers around what a catalog has: once, when the server begins to serve, and around what is added later.

use crate::catalog::table::Table;
use crate::catalog::{Catalog, FixedResource, Settings, TemplateResource};
use crate::handler::builder::Handler;
use crate::handler::custom::CustomMethod;
use crate::handler::layer::call::CallKind;
use crate::handler::layer::{self, Wrapped};
use crate::handler::prompt::Prompt;
use crate::handler::tool::Tool;
use crate::outcome::Outcome;

/// What layers can be put around.
pub(super) trait Layered {
    /// Whether there are layers to be put around it.
    fn has_own(&self) -> bool;
    /// Puts its own layers and those of the server around it.
    fn put(&mut self, settings: &Settings);
}

impl Catalog {
    /// Puts layers around everything that is here. Fails if something is in use: it is shared then.
    pub(crate) fn put_layers(&mut self) -> Result<(), String> {
        self.is_layered = true;
        let Catalog { tools, prompts, resources, templates, methods, settings, .. } = self;
        let put = put_around(tools, settings)
            && put_around(prompts, settings)
            && put_around(resources, settings)
            && put_around(templates, settings)
            && methods.edit_all(|_| settings.layers.is_some(), |method| method.put(settings));
        if put { Ok(()) } else { Err("a handle changed the lists while the server began to serve".to_owned()) }
    }

    /// Puts layers around an item that is added to a running server.
    pub(super) fn layered<T: Layered>(&self, mut item: T) -> T {
        if self.is_layered {
            item.put(&self.settings);
        }
        item
    }
}

fn put_around<T: Layered>(table: &mut Table<T>, settings: &Settings) -> bool {
    table.edit_all(|item| settings.layers.is_some() || item.has_own(), |item| item.put(settings))
}

/// Puts layers around a handler.
fn put(handler: &mut Handler, settings: &Settings, kind: CallKind, name: &str, is_template: bool) {
    let wrapped = Wrapped { kind, name, is_template, annotations: None, policy: settings.arguments };
    layer::wrap(settings.layers.as_ref(), handler, wrapped);
}

impl Layered for Tool {
    fn has_own(&self) -> bool {
        self.handler.layers.is_some()
    }

    fn put(&mut self, settings: &Settings) {
        let Tool { descriptor, handler, .. } = self;
        let (name, annotations) = (&*descriptor.name, Some(&descriptor.annotations));
        let policy = settings.arguments;
        let wrapped = Wrapped { kind: CallKind::Tool, name, is_template: false, annotations, policy };
        layer::wrap(settings.layers.as_ref(), handler, wrapped);
    }
}

impl Layered for Prompt {
    fn has_own(&self) -> bool {
        self.handler.layers.is_some()
    }

    fn put(&mut self, settings: &Settings) {
        put(&mut self.handler, settings, CallKind::Prompt, &self.descriptor.name, false);
    }
}

impl Layered for FixedResource {
    fn has_own(&self) -> bool {
        self.handler.layers.is_some()
    }

    fn put(&mut self, settings: &Settings) {
        put(&mut self.handler, settings, CallKind::Resource, &self.descriptor.uri, false);
    }
}

impl Layered for TemplateResource {
    fn has_own(&self) -> bool {
        self.handler.layers.is_some()
    }

    fn put(&mut self, settings: &Settings) {
        put(&mut self.handler, settings, CallKind::Resource, &self.descriptor.uri_template, true);
    }
}

impl Layered for CustomMethod<Outcome> {
    fn has_own(&self) -> bool {
        false
    }

    fn put(&mut self, settings: &Settings) {
        if let Some(layers) = &settings.layers {
            layers.method(self);
        }
    }
}
