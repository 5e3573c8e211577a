//! Routes a request: finds the handler of its method, checks that the caller sees it, and takes the first step. Lists
//! are rendered here, too.
//!
//! A handler that `visible_if` hides from a caller does not exist for that caller: not in lists, calls, completions,
//! subscriptions or suggestions. A list that depends on the caller is never declared cacheable for others.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::ask;
use crate::call::invocation::{Invocation, Origin, ReadRequest, extract};
use crate::call::run::{PendingCall, Started};
use crate::catalog::Catalog;
use crate::catalog::pagination::{Cursor, ListKind};
use crate::era::{self, Accepted, Method, encode};
use crate::handler::args::Args;
use crate::handler::builder::Handler;
use crate::handler::completion::{self, Reference};
use crate::handler::output;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::{Raw, to_text};
use crate::outcome::{Failure, Reply, Step};
use crate::protocol::{CacheHint, Revision};
use crate::server::core::Core;
use crate::task::{self, Job};
use crate::throttle::places::Entry;

/// One call on its way to its handler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Router<'a> {
    pub(crate) core: &'a Core,
    pub(crate) catalog: &'a Catalog,
    pub(crate) invocation: &'a Invocation<'a>,
}

/// Finds the handler of a call and takes its first step.
#[inline]
pub(crate) fn route<'a>(
    core: &'a Core,
    catalog: &'a Catalog,
    call: &Accepted<'a>,
    invocation: &'a Invocation<'a>,
) -> Result<Started, Failure> {
    Router { core, catalog, invocation }.start(call)
}

impl<'a> Router<'a> {
    #[inline]
    fn start(&self, call: &Accepted<'a>) -> Result<Started, Failure> {
        self.count(call.method)?;
        let params = &call.params;
        match call.method {
            Method::Initialize => Ok(Reply::Initialized(Box::new(self.capabilities())).into()),
            Method::Discover => Ok(self.discover().into()),
            Method::ToolsCall => self.call_tool(params),
            Method::PromptsGet => self.get_prompt(params),
            Method::ResourcesRead => self.read_resource(params),
            Method::Complete => self.complete(params),
            Method::ToolsList => self.list(params, ListKind::Tools),
            Method::PromptsList => self.list(params, ListKind::Prompts),
            Method::ResourcesList => self.list(params, ListKind::Resources),
            Method::TemplatesList => self.list(params, ListKind::Templates),
            Method::TasksGet | Method::TasksResult | Method::TasksList | Method::TasksUpdate | Method::TasksCancel => {
                Ok(Started { step: super::tasks::method(self, call)?, timeout: None, dialogue: None, blocking: None })
            }
            Method::Custom(index) => self.custom(index, call),
            // The connection has applied these already.
            Method::Ping
            | Method::SetLevel
            | Method::Shutdown
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::Listen => Ok(Reply::Empty.into()),
        }
    }

    /// The server's capabilities, in the format of the caller's revision.
    fn capabilities(&self) -> Value {
        let mut capabilities = self.catalog.capabilities();
        if self.catalog.has_tasks() {
            let listed = self.invocation.channel.principal().is_some();
            era::encode::task::declare(&mut capabilities, self.invocation.envelope.revision, listed);
        }
        capabilities
    }

    fn discover(&self) -> Reply {
        let cache = self.core.info.caches.server;
        Reply::Discovered(Box::new(self.capabilities()), if self.is_protected() { cache.unshared() } else { cache })
    }

    #[inline]
    fn call_tool(&self, params: &Object<'a>) -> Result<Started, Failure> {
        let name = params.string("name")?;
        let tool = self.catalog.tools.get(&name).filter(|tool| self.sees(&tool.handler));
        let tool = tool.ok_or_else(|| {
            let known = self.catalog.tools.iter().filter(|(_, tool)| self.lists(&tool.handler));
            unknown("tool", &name, known.map(|(name, _)| name))
        })?;
        self.permit(&tool.handler)?;
        let entry = self.enter(&tool.handler, "this tool")?;
        let args = Args::json(params.get("arguments"))?;
        match task::wanted(self.invocation, self.catalog, tool)? {
            None => self.started(&tool.handler, &args, entry),
            Some(job) => Ok(self.task(job, &tool.handler, &args, entry)),
        }
    }

    /// Starts a call that may become a task: at once, or when its handler calls `start_task`.
    fn task(&self, job: Arc<Job>, handler: &Handler, args: &Args<'_>, entry: Option<Box<Entry>>) -> Started {
        let invocation = Invocation { job: Some(&job), ..*self.invocation };
        // A `visible_if` predicate may have made the dialogue already.
        if let Some(dialogue) = invocation.channel.dialogue() {
            dialogue.plan(Arc::clone(&job));
        }
        let started = match (Router { invocation: &invocation, ..*self }).started(handler, args, entry) {
            Err(failure) => Started { step: Step::Ready(Err(failure)), timeout: None, dialogue: None, blocking: None },
            Ok(started) => started,
        };
        let owed = match &started.step {
            Step::Ready(answer) => job.is_owed(answer),
            // A handler without a context never calls `start_task`.
            Step::Future(_) | Step::Blocking(_) => !job.asks_first || started.dialogue.is_none(),
        };
        if !owed {
            return started;
        }
        let dialogue = started.dialogue.clone();
        let ready = dialogue.map(|dialogue| -> task::Ready { Box::new(move |job| dialogue.settle(job)) });
        let work = PendingCall::of_task(Arc::clone(invocation.channel.core), started);
        Started { step: Step::Future(task::launch(job, work, ready)), timeout: None, dialogue: None, blocking: None }
    }

    /// Starts the call of a task again, which another replica has begun.
    #[cfg(feature = "http")]
    pub(super) fn rerun(&self, params: &Object<'a>) -> Result<PendingCall, Failure> {
        let name = params.string("name")?;
        let tool = self.catalog.tools.get(&name);
        let tool = tool.ok_or_else(|| unknown("tool", &name, std::iter::empty()))?;
        let entry = self.enter_again(&tool.handler);
        let started = self.started(&tool.handler, &Args::json(params.get("arguments"))?, entry)?;
        Ok(PendingCall::of_task(Arc::clone(self.invocation.channel.core), started))
    }

    fn get_prompt(&self, params: &Object<'a>) -> Result<Started, Failure> {
        let name = params.string("name")?;
        let handler = self.prompt(&name)?;
        self.permit(handler)?;
        let entry = self.enter(handler, "this prompt")?;
        let args = Args::text(params.get("arguments"))?;
        self.started(handler, &args, entry)
    }

    fn prompt(&self, name: &str) -> Result<&'a Handler, Failure> {
        let catalog = self.catalog;
        let found = catalog.prompts.get(name).map(|prompt| &prompt.handler).filter(|handler| self.sees(handler));
        found.ok_or_else(|| {
            let known = catalog.prompts.iter().filter(|(_, prompt)| self.lists(&prompt.handler));
            unknown("prompt", name, known.map(|(name, _)| name))
        })
    }

    fn read_resource(&self, params: &Object<'_>) -> Result<Started, Failure> {
        let uri = params.string("uri")?;
        let read = |handler: &Handler, args: &Args<'_>| {
            let entry = self.enter(handler, "this resource")?;
            let restricted = handler.visible.is_some() || self.is_scoped(handler) || self.is_protected();
            let read = Some(ReadRequest { uri: &uri, restricted });
            let invocation = Invocation { read, ..*self.invocation };
            Router { invocation: &invocation, ..*self }.started(handler, args, entry)
        };
        if let Some(resource) = self.catalog.resources.get(&uri).filter(|resource| self.sees(&resource.handler)) {
            self.permit(&resource.handler)?;
            return read(&resource.handler, &Args::uri(Vec::new()));
        }
        let mut mismatch = None;
        for (_, family) in self.catalog.templates.iter() {
            let Some(variables) = family.template.matches(&uri) else { continue };
            if !self.sees(&family.handler) {
                continue;
            }
            let args = Args::uri(variables);
            if let Err(denied) = self.permit(&family.handler) {
                // If the variables do not parse, another template may match, with scopes of its own.
                if family.handler.function.fits(&args, self.catalog.settings.arguments).is_ok() {
                    return Err(denied);
                }
                mismatch = mismatch.or(Some(denied));
                continue;
            }
            let outcome = match self.unfit(&family.handler, &args) {
                None => read(&family.handler, &args).inspect_err(|failure| self.uncount(&family.handler, failure)),
                Some(unfit) => Err(unfit),
            };
            match outcome {
                // The variables do not parse: another template may match.
                Err(Failure::Arguments(error)) => mismatch = mismatch.or(Some(Failure::Arguments(error))),
                outcome => return outcome,
            }
        }
        Err(mismatch.unwrap_or_else(|| Failure::ResourceNotFound(uri.into_owned())))
    }

    /// Whether clients can subscribe to the resource at `uri`. `None` if the resource is unknown.
    pub(crate) fn is_subscribable(&self, uri: &str) -> Option<bool> {
        let fixed = self.catalog.resources.get(uri).map(|resource| (&resource.handler, resource.subscribable));
        let families = self.catalog.templates.iter().filter(|(_, family)| family.template.matches(uri).is_some());
        let families = families.map(|(_, family)| (&family.handler, family.subscribable));
        let seen = fixed.into_iter().chain(families).filter(|(handler, _)| self.sees(handler));
        seen.map(|(_, subscribable)| subscribable || self.catalog.settings.dynamic).reduce(|one, other| one || other)
    }

    fn complete(&self, params: &Object<'_>) -> Result<Started, Failure> {
        let request = completion::CompletionRequest::read(params, self.invocation.envelope.completion_context(params))?;
        let handler = match &request.reference {
            Reference::Prompt(name) => self.prompt(name)?,
            Reference::Resource(uri) => self.template(uri)?,
        };
        self.permit(handler)?;
        Ok(Started {
            step: match &handler.layered_completion {
                None => handler.completers.start(request),
                Some(complete) => complete(request, Origin::Request(self.invocation)),
            },
            timeout: self.timeout(handler),
            dialogue: None,
            blocking: None,
        })
    }

    /// The template with the text `uri`, or else the first template that matches it. In this order, because the
    /// text of one template may match another.
    fn template(&self, uri: &str) -> Result<&'a Handler, Failure> {
        let seen = || self.catalog.templates.iter().filter(|(_, family)| self.sees(&family.handler));
        let found = seen().find(|(template, _)| *template == uri);
        let found = found.or_else(|| seen().find(|(_, family)| family.template.matches(uri).is_some()));
        let (_, family) = found.ok_or_else(|| unknown("resource template", uri, std::iter::empty()))?;
        Ok(&family.handler)
    }

    /// Calls a custom method. Its parameters are the request's, without the protocol's `_meta`.
    fn custom(&self, index: usize, call: &Accepted<'a>) -> Result<Started, Failure> {
        let method = self.catalog.methods.at(index).ok_or_else(|| era::unknown_method("?"))?;
        let params = custom_params(call.raw_params, &call.params);
        let future = (method.call)(extract(Origin::Request(self.invocation)), &params)
            .map_err(|error| Failure::Arguments(vec![error]))?;
        let dialogue = self.invocation.channel.dialogue();
        Ok(Started { step: Step::Future(future), timeout: self.catalog.settings.timeout, dialogue, blocking: None })
    }

    fn started(&self, handler: &Handler, args: &Args<'_>, entry: Option<Box<Entry>>) -> Result<Started, Failure> {
        for capability in &handler.requires {
            ask::required(*capability, self.invocation).map_err(Failure::MissingCapability)?;
        }
        #[cfg(feature = "auth")]
        let scoped = Invocation { scopes: handler.scopes.as_ref(), ..*self.invocation };
        #[cfg(feature = "auth")]
        let invocation = if scoped.scopes.is_some() { &scoped } else { self.invocation };
        #[cfg(not(feature = "auth"))]
        let invocation = self.invocation;
        let settings = &self.catalog.settings;
        // A handler that is known to block occupies a thread, as those do that say so.
        let _permit = handler.blocking.is_blocking().then(|| self.core.blocking_threads.permit()).transpose()?;
        let call = || handler.function.call(args, Origin::Request(invocation), settings.arguments);
        let step = handler.blocking.run(call, |step| matches!(step, Ok(Step::Ready(_)) | Err(_)));
        let mut step = step.map_err(Failure::Arguments)?;
        if let Some(schema) = handler.output.as_ref().filter(|_| settings.validates_output()) {
            step = output::check::checked(step, schema, handler.layered);
        }
        if let Some(entry) = entry {
            step = self.in_place(step, *entry);
        }
        let blocking = matches!(step, Step::Future(_)).then(|| Arc::clone(&handler.blocking));
        Ok(Started { step, timeout: self.timeout(handler), dialogue: self.invocation.channel.dialogue(), blocking })
    }

    fn timeout(&self, handler: &Handler) -> Option<Duration> {
        handler.timeout.or(self.catalog.settings.timeout)
    }

    pub(super) fn sees(&self, handler: &Handler) -> bool {
        sees(self.invocation, handler)
    }

    fn list(&self, params: &Object<'_>, list: ListKind) -> Result<Started, Failure> {
        let cursor = Cursor::read(params.get("cursor"), list)?;
        let revision = self.invocation.envelope.revision;
        let page = match cursor {
            None if !self.depends_on_caller(list) => {
                self.catalog.page_cache.first_page(list, revision, || self.page(list, revision, None))
            }
            cursor => self.page(list, revision, cursor),
        };
        Ok(Reply::List(page).into())
    }

    /// Whether the list differs between callers: some of its entries have a `visible_if` predicate, or scopes.
    fn depends_on_caller(&self, list: ListKind) -> bool {
        let Catalog { tools, prompts, resources, templates, .. } = self.catalog;
        let depends = |handler: &Handler| handler.visible.is_some() || self.is_scoped(handler);
        match list {
            ListKind::Tools => tools.iter().any(|(_, tool)| depends(&tool.handler)),
            ListKind::Prompts => prompts.iter().any(|(_, prompt)| depends(&prompt.handler)),
            ListKind::Resources => resources.iter().any(|(_, resource)| depends(&resource.handler)),
            ListKind::Templates => templates.iter().any(|(_, family)| depends(&family.handler)),
        }
    }

    fn page(&self, list: ListKind, revision: Revision, cursor: Option<Cursor>) -> Arc<str> {
        let (Catalog { tools, prompts, resources, templates, .. }, caches) = (self.catalog, self.core.info.caches);
        // Each list has another type of item; what follows is compiled once for all of them.
        let mut names: Vec<&str> = Vec::new();
        let (write, cache): (encode::ItemWriter<'_>, _) = match list {
            ListKind::Tools => {
                names.extend(tools.iter().filter(|(_, tool)| self.lists(&tool.handler)).map(|(name, _)| name));
                let shown = |tool| encode::tool_descriptor(self.catalog.shown(tool), revision);
                (&move |name, out| encode::item(tools.get(name).map(shown).as_ref(), out), caches.tools)
            }
            ListKind::Prompts => {
                names.extend(prompts.iter().filter(|(_, prompt)| self.lists(&prompt.handler)).map(|(name, _)| name));
                (&|name, out| encode::item(prompts.get(name).map(|prompt| &prompt.descriptor), out), caches.prompts)
            }
            ListKind::Resources => {
                names.extend(resources.iter().filter(|(_, fixed)| self.lists(&fixed.handler)).map(|(uri, _)| uri));
                (&|uri, out| encode::item(resources.get(uri).map(|fixed| &fixed.descriptor), out), caches.resources)
            }
            ListKind::Templates => {
                names.extend(templates.iter().filter(|(_, family)| self.lists(&family.handler)).map(|(uri, _)| uri));
                (&|uri, out| encode::item(templates.get(uri).map(|family| &family.descriptor), out), caches.resources)
            }
        };
        self.render(list, &names, write, cursor, cache)
    }

    /// Renders one page of a list. `names` are the entries the caller sees; `write` appends one of them.
    fn render(
        &self,
        list: ListKind,
        names: &[&str],
        write: encode::ItemWriter<'_>,
        cursor: Option<Cursor>,
        cache: Option<CacheHint>,
    ) -> Arc<str> {
        let start = cursor.map_or(0, |cursor| cursor.start(names.iter().copied()));
        let end =
            self.catalog.settings.page_size.map_or(names.len(), |size| start.saturating_add(size).min(names.len()));
        let next = (end < names.len()).then(|| Cursor::after(end - 1, names[end - 1]).encode(list));
        let mut cache = cache.unwrap_or(self.core.info.caches.server);
        if self.depends_on_caller(list) || self.is_protected() {
            cache = cache.unshared();
        }
        let page = encode::Page { member: list.member(), names: &names[start..end], write, next: next.as_deref() };
        encode::list(&self.core.info, self.invocation.envelope.revision, &page, cache)
    }
}

/// Whether the caller sees a handler. Hidden handlers are treated as unknown.
pub(crate) fn sees(invocation: &Invocation<'_>, handler: &Handler) -> bool {
    handler.visible.as_ref().is_none_or(|visible| visible.allows(&extract(Origin::Request(invocation))))
}

/// The parameters of a custom method or notification, without the protocol's `_meta`.
pub(crate) fn custom_params<'a>(raw: Option<Raw<'a>>, params: &Object<'a>) -> Cow<'a, str> {
    match raw {
        Some(raw) if params.get("_meta").is_none() && raw.get() != "null" => Cow::Borrowed(raw.get()),
        None => Cow::Borrowed("{}"),
        Some(_) => {
            let members: Vec<String> = params
                .iter()
                .filter(|(name, _)| *name != "_meta")
                .map(|(name, value)| format!("{}:{}", to_text(&name.into()), value.get()))
                .collect();
            Cow::Owned(format!("{{{}}}", members.join(",")))
        }
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    RpcError::invalid_params(format!("Unknown {what}: {}", shorten(name))).suggest(name, known).into()
}
