//! Whether a caller has the scopes of what they call. Without the feature `auth`, every caller does.
//!
//! A handler that the caller lacks scopes for is not unknown: the refusal names the scopes, so that the client can ask
//! its user for more. Lists leave it out.

#[cfg(feature = "auth")]
use crate::auth::access::Denied;
use crate::call::outbox::Outbox;
#[cfg(feature = "auth")]
use crate::catalog::Catalog;
use crate::dispatch::router::Router;
#[cfg(feature = "auth")]
use crate::handler::args::Args;
use crate::handler::builder::Handler;
use crate::outcome::{Failure, Outcome};

#[cfg(feature = "auth")]
impl Router<'_> {
    /// Lets the caller call a handler, or says all that is missing.
    #[inline]
    pub(in crate::dispatch) fn permit(&self, handler: &Handler) -> Result<(), Failure> {
        self.permit_scopes(scopes_of(handler))
    }

    #[inline]
    fn permit_scopes(&self, scopes: &[Box<str>]) -> Result<(), Failure> {
        let channel = self.invocation.channel;
        match channel.access() {
            Some(access) => access.permit(scopes).map_err(Failure::Forbidden),
            None if scopes.is_empty() || !channel.is_remote() => Ok(()),
            None => Err(Failure::Forbidden(Box::new(Denied::without_authorization(scopes)))),
        }
    }

    /// Lets the caller follow the resources at these URIs, as far as there are any, or says all that is missing. It is what
    /// reading them needs.
    pub(in crate::dispatch) fn permit_uris(&self, uris: &[impl AsRef<str>]) -> Result<(), Failure> {
        let mut scopes = Vec::new();
        for uri in uris {
            add_scopes(&mut scopes, reader(self.catalog, uri.as_ref(), |handler| self.sees(handler)));
        }
        self.permit_scopes(&scopes)
    }

    /// Whether lists show the caller a handler.
    pub(in crate::dispatch) fn lists(&self, handler: &Handler) -> bool {
        self.sees(handler) && (!self.is_scoped(handler) || self.permit(handler).is_ok())
    }

    /// Whether lists show a handler to callers with its scopes only.
    pub(in crate::dispatch) fn is_scoped(&self, handler: &Handler) -> bool {
        let shows_all = self.invocation.channel.access().is_some_and(|access| access.policy.shows_all);
        !shows_all && handler.scopes.is_some()
    }

    /// Whether nothing is for everybody, so that no answer may be shared between callers.
    pub(in crate::dispatch) fn is_protected(&self) -> bool {
        self.invocation.channel.access().is_some_and(|access| !access.policy.optional)
    }
}

#[cfg(not(feature = "auth"))]
#[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with the feature `auth`")]
impl Router<'_> {
    #[inline]
    pub(in crate::dispatch) fn permit(&self, _: &Handler) -> Result<(), Failure> {
        Ok(())
    }

    pub(in crate::dispatch) fn permit_uris(&self, _: &[impl AsRef<str>]) -> Result<(), Failure> {
        Ok(())
    }

    pub(in crate::dispatch) fn lists(&self, handler: &Handler) -> bool {
        self.sees(handler)
    }

    pub(in crate::dispatch) fn is_scoped(&self, _: &Handler) -> bool {
        false
    }

    pub(in crate::dispatch) fn is_protected(&self) -> bool {
        false
    }
}

/// Tells the transport that a caller lacks scopes, or is over a limit: over HTTP, the status says so.
#[inline]
pub(in crate::dispatch) fn note_denial(outbox: &Outbox, outcome: &Outcome) {
    #[cfg(feature = "http")]
    if let Err(Failure::Throttled(throttled)) = outcome {
        outbox.throttle(throttled);
    }
    #[cfg(feature = "auth")]
    if let Err(Failure::Forbidden(denied)) = outcome {
        outbox.deny(denied);
    }
    #[cfg(not(any(feature = "auth", feature = "http")))]
    let _ = (outbox, outcome);
}

/// The scopes of a handler.
#[cfg(feature = "auth")]
fn scopes_of(handler: &Handler) -> &[Box<str>] {
    handler.scopes.as_deref().unwrap_or_default()
}

/// Adds the scopes of a handler that are not there yet.
#[cfg(feature = "auth")]
fn add_scopes(scopes: &mut Vec<Box<str>>, handler: Option<&Handler>) {
    for scope in handler.map_or(&[][..], scopes_of) {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
}

/// The handler that serves a read of the resource at `uri`, of those that the caller sees: its own, or that of the first template
/// whose variables it fits. If it fits none, that of the first that matches: the read is denied there, too.
#[cfg(feature = "auth")]
fn reader<'a>(catalog: &'a Catalog, uri: &str, sees: impl Fn(&Handler) -> bool) -> Option<&'a Handler> {
    let fixed = catalog.resources.get(uri).map(|resource| &resource.handler);
    if let Some(fixed) = fixed.filter(|handler| sees(handler)) {
        return Some(fixed);
    }
    let mut first = None;
    for (_, family) in catalog.templates.iter() {
        let Some(variables) = family.template.matches(uri).filter(|_| sees(&family.handler)) else { continue };
        if family.handler.function.fits(&Args::uri(variables), catalog.settings.arguments).is_ok() {
            return Some(&family.handler);
        }
        first = first.or(Some(&family.handler));
    }
    first
}

#[cfg(all(feature = "auth", feature = "http"))]
pub(crate) use needed::{NeededScopes, first_with_scopes, needed_by};

/// The scopes that a message needs, found before it is served: for a caller who may do nothing, and for batches, of
/// which no part runs if another part is denied.
#[cfg(all(feature = "auth", feature = "http"))]
mod needed {
    use super::{add_scopes, reader};
    use std::borrow::Cow;

    use crate::catalog::Catalog;
    use crate::era::{self, batch};
    use crate::handler::builder::Handler;
    use crate::jsonrpc::object::{Object, optional_object};
    use crate::jsonrpc::raw::Raw;
    use crate::jsonrpc::{self, Id, Message, Request, depth};
    use crate::limits::Limits;
    use crate::subscription::Filter;

    /// What a message needs.
    pub(crate) struct NeededScopes {
        /// Of all its requests, each once.
        pub(crate) scopes: Vec<Box<str>>,
        /// The id of a single request, as JSON text; else `null`.
        pub(crate) id: String,
        /// The task that a single request is about: it needs the scopes of its tool, too. No revision with batches has tasks.
        pub(crate) task: Option<String>,
    }

    /// The scopes that a frame needs beside those of every call. One that is malformed needs none: it is answered with what
    /// is wrong with it.
    pub(crate) fn needed_by(catalog: &Catalog, frame: &[u8], limits: &Limits) -> NeededScopes {
        let mut needed = NeededScopes { scopes: Vec::new(), id: Id::NULL.as_str().to_owned(), task: None };
        if depth::exceeds(frame, limits.depth) {
            return needed;
        }
        if frame.trim_ascii_start().first() == Some(&b'[') {
            for element in batch::elements(frame, limits.batch).unwrap_or_default() {
                if let Ok(Message::Request(request)) = batch::element(element) {
                    needed.add(catalog, &request, limits);
                }
            }
        } else if let Ok(Message::Request(request)) = jsonrpc::parse(frame) {
            request.id.as_str().clone_into(&mut needed.id);
            needed.add(catalog, &request, limits);
        }
        needed
    }

    impl NeededScopes {
        fn add(&mut self, catalog: &Catalog, request: &Request<'_>, limits: &Limits) {
            let Ok(params) = era::read(request) else { return };
            let params = params.params();
            match &*request.method {
                "subscriptions/listen" => {
                    for uri in followed(params, limits).unwrap_or_default() {
                        self.add_handler(resource(catalog, &uri));
                    }
                }
                "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" => self.task = text(params, "taskId"),
                method => self.add_handler(handler(catalog, method, params)),
            }
        }

        /// To some callers, a handler with a predicate does not exist; the router asks it first.
        fn add_handler(&mut self, handler: Option<&Handler>) {
            add_scopes(&mut self.scopes, handler.filter(|handler| handler.visible.is_none()));
        }
    }

    /// The resources that a stream is to follow.
    fn followed(params: &Object<'_>, limits: &Limits) -> Option<Vec<String>> {
        let filter = Filter::read(&optional_object("notifications", params.get("notifications")).ok()?).ok()?;
        (filter.size() <= limits.subscriptions).then(|| filter.resources().to_vec())
    }

    fn text(params: &Object<'_>, name: &str) -> Option<String> {
        params.get(name).and_then(Raw::text).map(Cow::into_owned)
    }

    /// The handler that a request is for.
    fn handler<'a>(catalog: &'a Catalog, method: &str, params: &Object<'_>) -> Option<&'a Handler> {
        let prompt = |name: String| catalog.prompts.get(&name).map(|prompt| &prompt.handler);
        match method {
            "tools/call" => catalog.tools.get(&text(params, "name")?).map(|tool| &tool.handler),
            "prompts/get" => prompt(text(params, "name")?),
            "resources/read" | "resources/subscribe" => resource(catalog, &text(params, "uri")?),
            "completion/complete" => {
                let reference = optional_object("ref", params.get("ref")).ok()?;
                match text(&reference, "uri") {
                    Some(uri) => template(catalog, &uri),
                    None => prompt(text(&reference, "name")?),
                }
            }
            _ => None,
        }
    }

    fn resource<'a>(catalog: &'a Catalog, uri: &str) -> Option<&'a Handler> {
        reader(catalog, uri, |_| true)
    }

    fn template<'a>(catalog: &'a Catalog, uri: &str) -> Option<&'a Handler> {
        let mut families = catalog.templates.iter().map(|(_, family)| family);
        let matching = || families.find(|family| family.template.matches(uri).is_some());
        catalog.templates.get(uri).or_else(matching).map(|family| &family.handler)
    }

    /// The name of some handler that has scopes.
    pub(crate) fn first_with_scopes(catalog: &Catalog) -> Option<String> {
        let tools = catalog.tools.iter().map(|(name, tool)| (name, &tool.handler));
        let prompts = catalog.prompts.iter().map(|(name, prompt)| (name, &prompt.handler));
        let resources = catalog.resources.iter().map(|(uri, resource)| (uri, &resource.handler));
        let templates = catalog.templates.iter().map(|(uri, family)| (uri, &family.handler));
        let mut all = tools.chain(prompts).chain(resources).chain(templates);
        all.find(|(_, handler)| handler.scopes.is_some()).map(|(name, _)| name.to_owned())
    }
}
