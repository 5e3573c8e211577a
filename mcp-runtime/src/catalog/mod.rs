//! The catalog: a server's tools, prompts, resources, custom methods and settings.
//!
//! Copy-on-write: a change edits a copy of the tables, which share their items, and replaces the catalog with it.
//! A connection compares a version number with each message, so an unchanged catalog costs one atomic load. No
//! client sees half a change, and each call keeps the snapshot it started with.
//!
//! Capabilities are declared once, when a client connects, and clients keep streams open because of them. So
//! `listChanged` is declared only if the server has a handle or is `dynamic()`, and `subscribe` only if it has
//! subscribable resources or is dynamic.

mod layers;
mod names;
pub(crate) mod pagination;
pub(crate) mod table;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::catalog::pagination::PageCache;
use crate::catalog::table::{AppendOnlyTable, Table};
use crate::era::{Method, Offers};
use crate::error;
use crate::handler::args::rules::ArgumentPolicy;
use crate::handler::builder::Handler;
use crate::handler::custom::{self, CustomMethod};
use crate::handler::layer::Wrap;
use crate::handler::prompt::Prompt;
use crate::handler::resource::{Resource, ResourceAddress};
use crate::handler::tool::Tool;
use crate::handler::uri_template::UriTemplate;
use crate::outcome::Outcome;
use crate::protocol::{Meta, ResourceDescriptor, TemplateDescriptor, ToolDescriptor};
use crate::schema;

/// Everything a server offers. Lists keep the order of registration.
///
/// Not `Clone`: a copy is made to be edited, and must not keep the pages of the original
/// ([`copy_for_edit`](Self::copy_for_edit)).
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Table<Tool>,
    pub(crate) prompts: Table<Prompt>,
    pub(crate) resources: Table<FixedResource>,
    pub(crate) templates: Table<TemplateResource>,
    /// Append-only: `Method::Custom` holds an index into it.
    pub(crate) methods: AppendOnlyTable<CustomMethod<Outcome>>,
    pub(crate) notifications: Table<CustomMethod<error::Result<()>>>,
    pub(crate) page_cache: PageCache,
    pub(crate) settings: Settings,
    /// Whether any tool, removed ones included, has arguments mirrored in HTTP headers.
    pub(crate) has_header_args: bool,
    /// Whether the server serves: layers are around what it has, and are put around what is added.
    is_layered: bool,
}

/// A resource with a fixed URI.
#[derive(Debug)]
pub(crate) struct FixedResource {
    pub(crate) descriptor: ResourceDescriptor,
    pub(crate) handler: Handler,
    pub(crate) subscribable: bool,
}

/// A resource template.
#[derive(Debug)]
pub(crate) struct TemplateResource {
    pub(crate) template: UriTemplate,
    pub(crate) descriptor: TemplateDescriptor,
    pub(crate) handler: Handler,
    pub(crate) subscribable: bool,
}

/// Server-wide settings that requests depend on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    /// Whether clients may stop the server with `shutdown` and `exit`.
    pub(crate) remote_shutdown: bool,
    /// Whether the lists may change while the server runs.
    pub(crate) dynamic: bool,
    /// Whether the handlers' `tracing` events are sent to the clients that called them.
    pub(crate) has_tracing_layer: bool,
    /// The timeout of handlers that do not set one.
    pub(crate) timeout: Option<Duration>,
    pub(crate) page_size: Option<usize>,
    /// How arguments that do not match exactly are treated.
    pub(crate) arguments: ArgumentPolicy,
    /// Whether structured results are checked against their schemas, if the server was told.
    pub(crate) validate_output: Option<bool>,
    pub(crate) extensions: Meta,
    /// The layers around everything that is called.
    pub(crate) layers: Option<Arc<dyn Wrap>>,
}

impl Settings {
    /// Whether structured results are checked against their schemas. By default, debug builds check them.
    pub(crate) fn validates_output(&self) -> bool {
        self.validate_output.unwrap_or(cfg!(debug_assertions))
    }
}

impl Catalog {
    /// The handlers that may serve the resource at `uri`: its own, then those of the templates that match.
    pub(crate) fn resource_handlers<'a>(&'a self, uri: &str) -> impl Iterator<Item = &'a Handler> {
        let fixed = self.resources.get(uri).map(|resource| &resource.handler);
        let families = self.templates.iter().filter(move |(_, family)| family.template.matches(uri).is_some());
        fixed.into_iter().chain(families.map(|(_, family)| &family.handler))
    }

    /// A copy to be edited: it shares the items, and has no rendered pages.
    pub(crate) fn copy_for_edit(&self) -> Self {
        Catalog {
            tools: self.tools.clone(),
            prompts: self.prompts.clone(),
            resources: self.resources.clone(),
            templates: self.templates.clone(),
            methods: self.methods.clone(),
            notifications: self.notifications.clone(),
            page_cache: PageCache::default(),
            settings: self.settings.clone(),
            has_header_args: self.has_header_args,
            is_layered: self.is_layered,
        }
    }

    /// Adds a tool, or says why it cannot be added.
    pub(crate) fn add_tool(&mut self, tool: Tool) -> Result<(), String> {
        let name = tool.name().to_owned();
        check_declaration("tool", &name, &tool.handler)?;
        check_name("tool", &name)?;
        check_unique("tool", &name, self.tools.contains(&name))?;
        self.has_header_args |= !tool.header_args.is_empty();
        let tool = self.layered(tool);
        self.tools.push(&name, tool);
        Ok(())
    }

    /// The descriptor of a tool as clients see it: a strict server forbids unknown arguments.
    pub(crate) fn shown(&self, tool: &Tool) -> ToolDescriptor {
        let mut descriptor = tool.descriptor().clone();
        if self.settings.arguments.strict {
            schema::input::close(&mut descriptor.input_schema);
        }
        descriptor
    }

    /// Adds a prompt, or says why it cannot be added.
    pub(crate) fn add_prompt(&mut self, prompt: Prompt) -> Result<(), String> {
        let name = prompt.name().to_owned();
        check_declaration("prompt", &name, &prompt.handler)?;
        check_name("prompt", &name)?;
        check_unique("prompt", &name, self.prompts.contains(&name))?;
        let prompt = self.layered(prompt);
        self.prompts.push(&name, prompt);
        Ok(())
    }

    /// Adds a resource or a template, or says why it cannot be added.
    pub(crate) fn add_resource(&mut self, resource: Resource) -> Result<(), String> {
        check_declaration("resource", resource.name(), &resource.handler)?;
        let Resource { address, handler, subscribable } = resource;
        match address {
            ResourceAddress::Fixed(descriptor) => {
                let uri = descriptor.uri.clone();
                check_unique("resource", &uri, self.resources.contains(&uri))?;
                let resource = self.layered(FixedResource { descriptor, handler, subscribable });
                self.resources.push(&uri, resource);
            }
            ResourceAddress::Template(template, descriptor) => {
                let uri = descriptor.uri_template.clone();
                if let Some(earlier) = self.templates.all().find(|other| other.template.is_equivalent(&template)) {
                    return Err(format!("`{}` and `{uri}` match the same URIs", earlier.descriptor.uri_template));
                }
                let resource = self.layered(TemplateResource { template, descriptor, handler, subscribable });
                self.templates.push(&uri, resource);
            }
        }
        Ok(())
    }

    /// Adds a custom method, or says why it cannot be added.
    pub(crate) fn add_method(&mut self, method: CustomMethod<Outcome>) -> Result<(), String> {
        custom::check_name(&method.name)?;
        check_unique("method", &method.name, self.methods.contains(&method.name))?;
        self.methods.push(&method.name.clone(), method);
        Ok(())
    }

    /// Adds a custom notification, or says why it cannot be added.
    pub(crate) fn add_notification(&mut self, notification: CustomMethod<error::Result<()>>) -> Result<(), String> {
        custom::check_name(&notification.name)?;
        check_unique("notification", &notification.name, self.notifications.contains(&notification.name))?;
        self.notifications.push(&notification.name.clone(), notification);
        Ok(())
    }

    /// Whether calls of any tool can become tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tools.all().any(|tool| tool.task.is_some())
    }

    /// Whether clients can subscribe to any resource.
    pub(crate) fn accepts_subscriptions(&self) -> bool {
        self.settings.dynamic
            || self.resources.all().any(|resource| resource.subscribable)
            || self.templates.all().any(|template| template.subscribable)
    }

    /// Whether any handler takes a context, or has a layer, which gets one: then it can log.
    fn can_log(&self) -> bool {
        let has_custom = !self.methods.is_empty() || !self.notifications.is_empty();
        let is_layered = |handler: &Handler| self.settings.layers.is_some() || handler.layers.is_some();
        has_custom || self.handlers().any(|handler| handler.takes_context || is_layered(handler))
    }

    fn handlers(&self) -> impl Iterator<Item = &Handler> {
        let tools = self.tools.all().map(|tool| &tool.handler);
        let resources = self.resources.all().map(|resource| &resource.handler);
        tools.chain(resources).chain(self.handlers_with_variables())
    }

    /// The handlers whose arguments clients can complete: prompts and templates.
    fn handlers_with_variables(&self) -> impl Iterator<Item = &Handler> {
        let prompts = self.prompts.all().map(|prompt| &prompt.handler);
        prompts.chain(self.templates.all().map(|template| &template.handler))
    }

    /// The server capabilities, derived from the registered items.
    pub(crate) fn capabilities(&self) -> Value {
        let mut capabilities = json!({});
        for (name, method) in [
            ("completions", Method::Complete),
            ("logging", Method::SetLevel),
            ("tools", Method::ToolsList),
            ("resources", Method::ResourcesList),
            ("prompts", Method::PromptsList),
        ] {
            if self.offers(method) {
                let list_changed = matches!(name, "tools" | "resources" | "prompts") && self.settings.dynamic;
                capabilities[name] = if list_changed { json!({"listChanged": true}) } else { json!({}) };
            }
        }
        if self.accepts_subscriptions() {
            capabilities["resources"]["subscribe"] = json!(true);
        }
        if !self.settings.extensions.is_empty() {
            capabilities["extensions"] = json!(self.settings.extensions);
        }
        capabilities
    }
}

impl Offers for Catalog {
    fn offers(&self, method: Method) -> bool {
        let Settings { dynamic, remote_shutdown, has_tracing_layer, .. } = self.settings;
        match method {
            Method::Initialize | Method::Ping | Method::Discover | Method::Custom(_) => true,
            Method::Shutdown => remote_shutdown,
            Method::SetLevel => has_tracing_layer || dynamic || self.can_log(),
            Method::ToolsList | Method::ToolsCall => dynamic || !self.tools.is_empty(),
            Method::PromptsList | Method::PromptsGet => dynamic || !self.prompts.is_empty(),
            Method::ResourcesList | Method::TemplatesList | Method::ResourcesRead => {
                dynamic || !self.resources.is_empty() || !self.templates.is_empty()
            }
            Method::Complete => self.handlers_with_variables().any(|handler| !handler.completers.is_empty()),
            Method::TasksGet | Method::TasksResult | Method::TasksList | Method::TasksUpdate | Method::TasksCancel => {
                self.has_tasks()
            }
            Method::Subscribe | Method::Unsubscribe => self.accepts_subscriptions(),
            Method::Listen => dynamic || self.accepts_subscriptions() || self.has_tasks(),
        }
    }

    fn custom_method(&self, name: &str) -> Option<usize> {
        self.methods.index_of(name)
    }

    fn custom_methods(&self) -> impl Iterator<Item = &str> {
        self.methods.iter().map(|(name, _)| name)
    }
}

/// The mistakes in the declaration of a handler, each on a line of its own.
fn check_declaration(what: &str, name: &str, handler: &Handler) -> Result<(), String> {
    let problems: Vec<String> = handler.problems.iter().map(|why| format!("{what} `{name}`: {why}")).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn check_unique(what: &str, name: &str, taken: bool) -> Result<(), String> {
    let remedy = match what {
        "resource" => "give one another URI",
        "method" | "notification" => "rename one",
        _ => "rename one, or mount it with `mount_as`",
    };
    if taken { Err(format!("there are two {what}s `{name}`; {remedy}")) } else { Ok(()) }
}

/// <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names>
fn check_name(what: &str, name: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.len() > 128 {
        return Err(format!("{what} name `{name}` must have 1 to 128 characters"));
    }
    match name.chars().find(|c| !allowed(*c)) {
        Some(bad) => {
            Err(format!("{what} name `{name}` contains `{bad}`; allowed are ASCII letters, digits, `_`, `-` and `.`"))
        }
        None => Ok(()),
    }
}
