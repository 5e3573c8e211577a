//! Calls to handlers: the tables of what is registered, and the way from a method to a function.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};

use crate::args::Args;
use crate::complete::{self, Reference};
use crate::context::{Caller, Line};
use crate::era::{Accepted, Method, encode};
use crate::error::{Failure, RpcError, shorten};
use crate::jsonrpc::Id;
use crate::object::{Key, Object, type_of};
use crate::prompt::Prompt;
use crate::protocol::{ResourceDescriptor, Revision, TemplateDescriptor};
use crate::reply::{List, Reply};
use crate::resource::{Place, Resource};
use crate::server::Core;
use crate::spec::{Handler, Step};
use crate::tool::Tool;
use crate::uri_template::UriTemplate;

/// What a server offers. Lists keep the order of registration.
#[derive(Debug, Default)]
pub(crate) struct Router {
    tools: Table<Tool>,
    prompts: Table<Prompt>,
    resources: Table<(ResourceDescriptor, Handler)>,
    templates: Vec<(UriTemplate, TemplateDescriptor, Handler)>,
    lists: [[OnceLock<Box<str>>; Revision::ALL.len()]; 4],
    /// Whether clients may end the server with `shutdown` and `exit`.
    pub(crate) ends_on_request: bool,
}

/// Things found by name and listed in order.
#[derive(Debug)]
struct Table<T> {
    items: Vec<T>,
    index: HashMap<Box<str>, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { items: Vec::new(), index: HashMap::new() }
    }
}

impl<T> Table<T> {
    fn get(&self, name: &str) -> Option<&T> {
        self.index.get(name).map(|at| &self.items[*at])
    }

    #[track_caller]
    fn insert(&mut self, what: &str, name: &str, item: T) {
        let earlier = self.index.insert(name.into(), self.items.len());
        assert!(earlier.is_none(), "there are two {what}s `{name}`; {}", remedy(what));
        self.items.push(item);
    }
}

/// What to do about two things of one name.
fn remedy(what: &str) -> &'static str {
    match what {
        "resource" => "give one another URI",
        _ => "rename one, or mount it with `mount_as`",
    }
}

/// A call on its way: the handler's first step, and how long it may take.
pub(crate) struct Started {
    pub(crate) step: Step,
    pub(crate) timeout: Option<Duration>,
}

impl From<Reply> for Started {
    fn from(reply: Reply) -> Self {
        Started { step: Step::Ready(Ok(reply)), timeout: None }
    }
}

impl Router {
    pub(crate) fn new() -> Self {
        Router { ends_on_request: true, ..Router::default() }
    }

    #[track_caller]
    pub(crate) fn add_tool(&mut self, tool: Tool) {
        let name = tool.name().to_owned();
        check_name("tool", &name);
        self.tools.insert("tool", &name, tool);
    }

    #[track_caller]
    pub(crate) fn add_prompt(&mut self, prompt: Prompt) {
        let name = prompt.name().to_owned();
        check_name("prompt", &name);
        self.prompts.insert("prompt", &name, prompt);
    }

    #[track_caller]
    pub(crate) fn add_resource(&mut self, resource: Resource) {
        match resource.place {
            Place::Fixed(descriptor) => {
                let uri = descriptor.uri.clone();
                self.resources.insert("resource", &uri, (descriptor, resource.handler));
            }
            Place::Template(template, descriptor) => {
                if let Some((_, earlier, _)) = self.templates.iter().find(|(other, ..)| other.same_places(&template)) {
                    panic!("`{}` and `{}` match the same URIs", earlier.uri_template, descriptor.uri_template);
                }
                self.templates.push((template, descriptor, resource.handler));
            }
        }
    }

    /// Whether a method's capability is one this server has; if not, the method does not exist.
    pub(crate) fn offers(&self, method: Method) -> bool {
        match method {
            Method::Initialize | Method::Ping | Method::Discover => true,
            Method::Shutdown => self.ends_on_request,
            // Only a handler with a context can log.
            Method::SetLevel => self.handlers().any(|handler| handler.takes_context),
            Method::ToolsList | Method::ToolsCall => !self.tools.items.is_empty(),
            Method::PromptsList | Method::PromptsGet => !self.prompts.items.is_empty(),
            Method::ResourcesList | Method::TemplatesList | Method::ResourcesRead => {
                !self.resources.items.is_empty() || !self.templates.is_empty()
            }
            Method::Complete => self.handlers_with_variables().any(|handler| !handler.completers.is_empty()),
        }
    }

    fn handlers(&self) -> impl Iterator<Item = &Handler> {
        let tools = self.tools.items.iter().map(|tool| &tool.handler);
        let resources = self.resources.items.iter().map(|(_, handler)| handler);
        tools.chain(resources).chain(self.handlers_with_variables())
    }

    /// The handlers whose arguments can be completed.
    fn handlers_with_variables(&self) -> impl Iterator<Item = &Handler> {
        let prompts = self.prompts.items.iter().map(|prompt| &prompt.handler);
        prompts.chain(self.templates.iter().map(|(.., handler)| handler))
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
                capabilities[name] = json!({});
            }
        }
        capabilities
    }

    /// Finds the handler of a call and takes its first step.
    pub(crate) fn start(&self, id: Id<'_>, call: &Accepted<'_>, line: &Line<'_>) -> Result<Started, Failure> {
        if !self.offers(call.method) {
            return Err(crate::era::unknown_method(call.method.name()).into());
        }
        let caller = Caller { id, envelope: &call.envelope, line, uri: "" };
        let params = &call.params;
        match call.method {
            Method::Initialize => Ok(Reply::Initialized.into()),
            Method::Discover => Ok(Reply::Discovered.into()),
            Method::Ping | Method::SetLevel | Method::Shutdown => Ok(Reply::Empty.into()),
            Method::ToolsCall => self.call_tool(params, &caller),
            Method::PromptsGet => self.get_prompt(params, &caller),
            Method::ResourcesRead => self.read_resource(params, caller),
            Method::Complete => self.complete(params, &caller),
            Method::ToolsList => list(call, List::Tools),
            Method::PromptsList => list(call, List::Prompts),
            Method::ResourcesList => list(call, List::Resources),
            Method::TemplatesList => list(call, List::Templates),
        }
    }

    fn call_tool<'a>(&self, params: &Object<'a>, caller: &Caller<'a>) -> Result<Started, Failure> {
        let Key(name) = string(params, "name")?;
        let tool = self.tools.get(&name).ok_or_else(|| self.unknown_tool(&name))?;
        let args = Args::json(params.get("arguments"))?;
        started(&tool.handler, &args, caller)
    }

    fn get_prompt<'a>(&self, params: &Object<'a>, caller: &Caller<'a>) -> Result<Started, Failure> {
        let Key(name) = string(params, "name")?;
        let prompt = self.prompts.get(&name).ok_or_else(|| self.unknown_prompt(&name))?;
        let args = Args::text(params.get("arguments"))?;
        started(&prompt.handler, &args, caller)
    }

    fn read_resource(&self, params: &Object<'_>, caller: Caller<'_>) -> Result<Started, Failure> {
        let Key(uri) = string(params, "uri")?;
        let caller = Caller { uri: &uri, ..caller };
        if let Some((_, handler)) = self.resources.get(&uri) {
            return started(handler, &Args::uri(Vec::new()), &caller);
        }
        let mut misfit = None;
        for (template, _, handler) in &self.templates {
            let Some(variables) = template.matches(&uri) else { continue };
            match started(handler, &Args::uri(variables), &caller) {
                // The variables are of other types: the next template may be meant.
                Err(Failure::Arguments(error)) => misfit = misfit.or(Some(Failure::Arguments(error))),
                outcome => return outcome,
            }
        }
        Err(misfit.unwrap_or_else(|| Failure::ResourceNotFound(uri.into_owned())))
    }

    fn unknown_tool(&self, name: &str) -> Failure {
        unknown("tool", name, self.tools.items.iter().map(Tool::name))
    }

    fn unknown_prompt(&self, name: &str) -> Failure {
        unknown("prompt", name, self.prompts.items.iter().map(Prompt::name))
    }

    fn complete(&self, params: &Object<'_>, caller: &Caller<'_>) -> Result<Started, Failure> {
        let request = complete::Request::read(params, caller.envelope.completion_context(params))?;
        let handler = match &request.reference {
            Reference::Prompt(name) => &self.prompts.get(name).ok_or_else(|| self.unknown_prompt(name))?.handler,
            Reference::Resource(uri) => self.template(uri)?,
        };
        Ok(Started { step: handler.completers.start(request), timeout: handler.timeout })
    }

    /// The template `uri` is, or else the first it matches: a template matches the text of some others.
    fn template(&self, uri: &str) -> Result<&Handler, Failure> {
        let is = |(_, descriptor, _): &&(_, TemplateDescriptor, _)| descriptor.uri_template == uri;
        let matches = |(template, ..): &&(UriTemplate, _, _)| template.matches(uri).is_some();
        let found = self.templates.iter().find(is).or_else(|| self.templates.iter().find(matches));
        let (.., handler) = found.ok_or_else(|| unknown("resource template", uri, std::iter::empty()))?;
        Ok(handler)
    }

    /// The result of a list, rendered the first time a revision asks for it.
    pub(crate) fn list(&self, list: List, core: &Core, revision: Revision) -> &str {
        self.lists[list as usize][revision as usize].get_or_init(|| match list {
            List::Tools => encode::list(core, revision, "tools", &self.tool_descriptors(revision)),
            List::Prompts => {
                let prompts: Vec<_> = self.prompts.items.iter().map(|prompt| &prompt.descriptor).collect();
                encode::list(core, revision, "prompts", &prompts)
            }
            List::Resources => {
                let resources: Vec<_> = self.resources.items.iter().map(|(descriptor, _)| descriptor).collect();
                encode::list(core, revision, "resources", &resources)
            }
            List::Templates => {
                let templates: Vec<_> = self.templates.iter().map(|(_, descriptor, _)| descriptor).collect();
                encode::list(core, revision, "resourceTemplates", &templates)
            }
        })
    }

    fn tool_descriptors(&self, revision: Revision) -> Vec<crate::protocol::ToolDescriptor> {
        let mut descriptors: Vec<_> = self.tools.items.iter().map(|tool| tool.descriptor().clone()).collect();
        for descriptor in &mut descriptors {
            descriptor.output_schema.take_if(|schema| !encode::keeps_output_schema(schema, revision));
        }
        descriptors
    }
}

fn started<'a>(handler: &Handler, args: &Args<'a>, caller: &Caller<'a>) -> Result<Started, Failure> {
    let step = handler.call(args, caller).map_err(Failure::Arguments)?;
    Ok(Started { step, timeout: handler.timeout })
}

fn list(call: &Accepted<'_>, list: List) -> Result<Started, Failure> {
    match call.params.get("cursor").map(|raw| type_of(raw.get())) {
        None | Some("null") => Ok(Reply::List(list).into()),
        // Lists come whole, so no cursor was ever given out.
        Some("string") => {
            let error = RpcError::invalid_params("Invalid params: unknown `cursor`: the list has one page");
            Err(error.with_data(json!({"field": "cursor"})).into())
        }
        Some(other) => Err(RpcError::wrong_field("cursor", "string", other).into()),
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    RpcError::invalid_params(format!("Unknown {what}: {}", shorten(name))).suggest(name, known).into()
}

fn string<'a>(params: &Object<'a>, field: &str) -> Result<Key<'a>, Failure> {
    let raw = params.get(field).ok_or_else(|| RpcError::wrong_field(field, "string", "missing"))?;
    serde_json::from_str(raw.get()).map_err(|_| RpcError::wrong_field(field, "string", type_of(raw.get())).into())
}

/// <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names>
#[track_caller]
fn check_name(what: &str, name: &str) {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    assert!(!name.is_empty() && name.len() <= 128, "{what} name `{name}` must have 1 to 128 characters");
    if let Some(bad) = name.chars().find(|c| !allowed(*c)) {
        panic!("{what} name `{name}` contains `{bad}`; allowed are ASCII letters, digits, `_`, `-` and `.`");
    }
}
