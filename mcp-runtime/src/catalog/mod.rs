//! What a server offers: its tools, prompts, resources and methods of its own, and the settings that
//! decide how they are offered. Changed by copying; whoever serves a call keeps the copy it began with.

pub(crate) mod pagination;
pub(crate) mod table;

use std::time::Duration;

use serde_json::{Value, json};

use crate::catalog::pagination::PageCache;
use crate::catalog::table::Table;
use crate::era::{Method, Offers};
use crate::error;
use crate::handler::builder::Handler;
use crate::handler::custom::{self, CustomMethod};
use crate::handler::prompt::Prompt;
use crate::handler::resource::{Resource, ResourceAddress};
use crate::handler::tool::Tool;
use crate::handler::uri_template::UriTemplate;
use crate::outcome::Outcome;
use crate::protocol::{Meta, ResourceDescriptor, TemplateDescriptor};

/// Everything a server offers. Lists keep the order of registration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Table<Tool>,
    pub(crate) prompts: Table<Prompt>,
    pub(crate) resources: Table<FixedResource>,
    pub(crate) templates: Table<TemplateResource>,
    pub(crate) methods: Table<CustomMethod<Outcome>>,
    pub(crate) notifications: Table<CustomMethod<error::Result<()>>>,
    pub(crate) rendered: PageCache,
    pub(crate) settings: Settings,
    /// Whether a tool has, or had, arguments that headers mirror.
    pub(crate) has_header_args: bool,
}

/// A resource at one URI.
#[derive(Debug)]
pub(crate) struct FixedResource {
    pub(crate) descriptor: ResourceDescriptor,
    pub(crate) handler: Handler,
    pub(crate) announced: bool,
}

/// The resources of a template.
#[derive(Debug)]
pub(crate) struct TemplateResource {
    pub(crate) template: UriTemplate,
    pub(crate) descriptor: TemplateDescriptor,
    pub(crate) handler: Handler,
    pub(crate) announced: bool,
}

/// How things are offered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    /// Whether clients may end the server with `shutdown` and `exit`.
    pub(crate) ends_on_request: bool,
    /// Whether what is offered may change while it is served.
    pub(crate) dynamic: bool,
    /// Whether what handlers say to `tracing` is sent to their clients.
    pub(crate) forwards_logs: bool,
    /// How long a call may take that has no limit of its own.
    pub(crate) timeout: Option<Duration>,
    pub(crate) page_size: Option<usize>,
    pub(crate) extensions: Meta,
}

impl Catalog {
    /// Adds a tool; the error says why not.
    pub(crate) fn add_tool(&mut self, tool: Tool) -> Result<(), String> {
        let name = tool.name().to_owned();
        check_name("tool", &name)?;
        vacant("tool", &name, self.tools.contains(&name))?;
        self.has_header_args |= !tool.header_args.is_empty();
        self.tools.push(&name, tool);
        Ok(())
    }

    /// Adds a prompt; the error says why not.
    pub(crate) fn add_prompt(&mut self, prompt: Prompt) -> Result<(), String> {
        let name = prompt.name().to_owned();
        check_name("prompt", &name)?;
        vacant("prompt", &name, self.prompts.contains(&name))?;
        self.prompts.push(&name, prompt);
        Ok(())
    }

    /// Adds a resource or a template; the error says why not.
    pub(crate) fn add_resource(&mut self, resource: Resource) -> Result<(), String> {
        let Resource { place, handler, announced } = resource;
        match place {
            ResourceAddress::Fixed(descriptor) => {
                let uri = descriptor.uri.clone();
                vacant("resource", &uri, self.resources.contains(&uri))?;
                self.resources.push(&uri, FixedResource { descriptor, handler, announced });
            }
            ResourceAddress::Template(template, descriptor) => {
                let uri = descriptor.uri_template.clone();
                if let Some(earlier) = self.templates.all().find(|other| other.template.same_places(&template)) {
                    return Err(format!("`{}` and `{uri}` match the same URIs", earlier.descriptor.uri_template));
                }
                self.templates.push(&uri, TemplateResource { template, descriptor, handler, announced });
            }
        }
        Ok(())
    }

    /// Adds a method of the server's own; the error says why not.
    pub(crate) fn add_method(&mut self, method: CustomMethod<Outcome>) -> Result<(), String> {
        custom::check_name(&method.name)?;
        vacant("method", &method.name, self.methods.contains(&method.name))?;
        self.methods.push(&method.name.clone(), method);
        Ok(())
    }

    /// Adds a notification the server takes; the error says why not.
    pub(crate) fn add_notification(&mut self, own: CustomMethod<error::Result<()>>) -> Result<(), String> {
        custom::check_name(&own.name)?;
        vacant("notification", &own.name, self.notifications.contains(&own.name))?;
        self.notifications.push(&own.name.clone(), own);
        Ok(())
    }

    /// Whether some call may become a task.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tools.all().any(|tool| tool.task.is_some())
    }

    /// Whether clients can be told when a resource has changed.
    pub(crate) fn announces_updates(&self) -> bool {
        let resources = self.resources.all().any(|resource| resource.announced);
        self.settings.dynamic || resources || self.templates.all().any(|family| family.announced)
    }

    /// Whether some handler has a context to log with.
    fn can_log(&self) -> bool {
        let own = !self.methods.is_empty() || !self.notifications.is_empty();
        own || self.handlers().any(|handler| handler.takes_context)
    }

    fn handlers(&self) -> impl Iterator<Item = &Handler> {
        let tools = self.tools.all().map(|tool| &tool.handler);
        let resources = self.resources.all().map(|resource| &resource.handler);
        tools.chain(resources).chain(self.handlers_with_variables())
    }

    /// The handlers whose arguments can be completed.
    fn handlers_with_variables(&self) -> impl Iterator<Item = &Handler> {
        let prompts = self.prompts.all().map(|prompt| &prompt.handler);
        prompts.chain(self.templates.all().map(|family| &family.handler))
    }

    /// The capabilities that follow from what is registered.
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
                let changes = matches!(name, "tools" | "resources" | "prompts") && self.settings.dynamic;
                capabilities[name] = if changes { json!({"listChanged": true}) } else { json!({}) };
            }
        }
        if self.announces_updates() {
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
        let Settings { dynamic, ends_on_request, forwards_logs, .. } = self.settings;
        match method {
            Method::Initialize | Method::Ping | Method::Discover | Method::Custom(_) => true,
            Method::Shutdown => ends_on_request,
            Method::SetLevel => forwards_logs || dynamic || self.can_log(),
            Method::ToolsList | Method::ToolsCall => dynamic || !self.tools.is_empty(),
            Method::PromptsList | Method::PromptsGet => dynamic || !self.prompts.is_empty(),
            Method::ResourcesList | Method::TemplatesList | Method::ResourcesRead => {
                dynamic || !self.resources.is_empty() || !self.templates.is_empty()
            }
            Method::Complete => self.handlers_with_variables().any(|handler| !handler.completers.is_empty()),
            Method::TasksGet | Method::TasksResult | Method::TasksList | Method::TasksUpdate | Method::TasksCancel => {
                self.has_tasks()
            }
            Method::Subscribe | Method::Unsubscribe => self.announces_updates(),
            Method::Listen => dynamic || self.announces_updates() || self.has_tasks(),
        }
    }

    fn custom_method(&self, name: &str) -> Option<usize> {
        self.methods.position(name)
    }

    fn custom_methods(&self) -> impl Iterator<Item = &str> {
        self.methods.iter().map(|(name, _)| name)
    }
}

fn vacant(what: &str, name: &str, taken: bool) -> Result<(), String> {
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
