//! The surface of a [`Server`]: what it offers, taken from its catalog without serving it.

use super::Server;
use crate::ask::ClientCapability;
use crate::catalog::{FixedResource, TemplateResource};
use crate::era;
use crate::handler::builder::Handler;
use crate::handler::tool::Tool;
use crate::protocol::{Annotations, Implementation, Meta, ResourceDescriptor, Revision, TemplateDescriptor};
use crate::surface::{Identity, Offered, Surface};

impl Server {
    /// Everything the server offers now, disabled items excluded. Panics if the set-up has mistakes.
    pub(crate) fn surface(&self) -> Surface {
        self.assert_set_up();
        let catalog = self.shared.catalog();
        let mut capabilities = catalog.capabilities();
        if catalog.has_tasks() {
            era::encode::task::declare(&mut capabilities, Revision::LATEST, false);
        }
        let Implementation { name, version: _, title, description, website_url, icons } = self.info.clone();
        Surface {
            server: Identity { name, title, description, website_url, icons },
            instructions: self.instructions.clone(),
            capabilities: capabilities.as_object().cloned().unwrap_or_else(Meta::new),
            tools: catalog
                .tools
                .iter()
                .map(|(_, tool)| Offered {
                    returns_plain_json: tool.returns_plain_json,
                    idle_layers: idle_layers(tool),
                    ..offered(catalog.shown(tool), &tool.handler)
                })
                .collect(),
            prompts: catalog
                .prompts
                .iter()
                .map(|(_, prompt)| offered(prompt.descriptor.clone(), &prompt.handler))
                .collect(),
            resources: catalog.resources.iter().map(|(_, resource)| fixed(resource)).collect(),
            resource_templates: catalog.templates.iter().map(|(_, template)| templated(template)).collect(),
            methods: catalog.methods.iter().map(|(name, _)| name.to_owned()).collect(),
            notifications: catalog.notifications.iter().map(|(name, _)| name.to_owned()).collect(),
        }
    }
}

/// Why layers of a tool never do anything, and what to do about each.
fn idle_layers(tool: &Tool) -> Vec<(&'static str, &'static str)> {
    let idle = tool.handler.layers.iter().flat_map(|layers| layers.idle(&tool.descriptor.annotations));
    idle.map(|idle| (idle.text, idle.remedy)).collect()
}

fn offered<T>(item: T, handler: &Handler) -> Offered<T> {
    let requires = handler.requires.iter().map(|capability| name(*capability).to_owned()).collect();
    #[cfg(feature = "auth")]
    let scopes = handler.scopes.iter().flat_map(|scopes| scopes.iter()).map(ToString::to_string).collect();
    #[cfg(not(feature = "auth"))]
    let scopes = Vec::new();
    Offered { item, requires, scopes, subscribe: false, returns_plain_json: false, idle_layers: Vec::new() }
}

/// A resource without its size and its age, which change with its contents.
fn fixed(resource: &FixedResource) -> Offered<ResourceDescriptor> {
    let mut descriptor = resource.descriptor.clone();
    descriptor.size = None;
    forget_age(&mut descriptor.annotations);
    Offered { subscribe: resource.subscribable, ..offered(descriptor, &resource.handler) }
}

fn templated(template: &TemplateResource) -> Offered<TemplateDescriptor> {
    let mut descriptor = template.descriptor.clone();
    forget_age(&mut descriptor.annotations);
    Offered { subscribe: template.subscribable, ..offered(descriptor, &template.handler) }
}

fn forget_age(annotations: &mut Annotations) {
    annotations.last_modified = None;
}

/// The capability as `requires(…)` names it.
fn name(capability: ClientCapability) -> &'static str {
    match capability {
        ClientCapability::Elicitation => "elicitation",
        ClientCapability::ElicitationUrl => "elicitation_url",
        ClientCapability::Sampling => "sampling",
        ClientCapability::SamplingTools => "sampling_tools",
        ClientCapability::SamplingContext => "sampling_context",
        ClientCapability::Roots => "roots",
        ClientCapability::Tasks => "tasks",
    }
}
