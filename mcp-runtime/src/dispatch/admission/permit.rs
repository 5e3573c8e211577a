//! Whether a caller has the scopes of what they call. Without the feature `auth`, every caller does.
//!
//! A handler that the caller lacks scopes for is not unknown: the refusal names the scopes, so that the client can ask
//! its user for more. Lists leave it out.

#[cfg(feature = "auth")]
use crate::auth::access::Denied;
use crate::call::outbox::Outbox;
use crate::dispatch::router::Router;
use crate::handler::builder::Handler;
use crate::outcome::{Failure, Outcome};

#[cfg(feature = "auth")]
impl Router<'_> {
    /// Lets the caller call a handler, or says all that is missing.
    #[inline]
    pub(in crate::dispatch) fn permit(&self, handler: &Handler) -> Result<(), Failure> {
        let (channel, scopes) = (self.invocation.channel, scopes_of(handler));
        match channel.access() {
            Some(access) => access.permit(scopes).map_err(Failure::Forbidden),
            None if scopes.is_empty() || !channel.is_remote() => Ok(()),
            None => Err(Failure::Forbidden(Box::new(Denied::without_authorization(scopes)))),
        }
    }

    /// Lets the caller follow the resource at `uri`, if there is one.
    pub(in crate::dispatch) fn permit_uri(&self, uri: &str) -> Result<(), Failure> {
        let mut denied = Ok(());
        for handler in self.handlers_at(uri) {
            denied = self.permit(handler);
            if denied.is_ok() {
                break;
            }
        }
        denied
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

    pub(in crate::dispatch) fn permit_uri(&self, _: &str) -> Result<(), Failure> {
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

#[cfg(all(feature = "auth", feature = "http"))]
pub(crate) use needed::{first_with_scopes, needed_by};

/// The scopes that a message needs, found before it is served: for a caller who may do nothing, and for batches, of
/// which no part runs if another part is denied.
#[cfg(all(feature = "auth", feature = "http"))]
mod needed {
    use super::scopes_of;
    use std::borrow::Cow;

    use crate::catalog::Catalog;
    use crate::era::{self, batch};
    use crate::handler::builder::Handler;
    use crate::jsonrpc::object::{Object, optional_object};
    use crate::jsonrpc::raw::Raw;
    use crate::jsonrpc::{self, Id, Message, Request, depth};
    use crate::limits::Limits;

    /// What a message needs.
    pub(crate) struct NeededScopes {
        /// Of all its requests, each once.
        pub(crate) scopes: Vec<Box<str>>,
        /// The id of a single request, as JSON text; else `null`.
        pub(crate) id: String,
    }

    /// The scopes that a frame needs beside those of every call. One that is malformed needs none: it is answered with what
    /// is wrong with it.
    pub(crate) fn needed_by(catalog: &Catalog, frame: &[u8], limits: &Limits) -> NeededScopes {
        let mut needed = NeededScopes { scopes: Vec::new(), id: Id::NULL.as_str().to_owned() };
        if depth::exceeds(frame, limits.depth) {
            return needed;
        }
        if frame.trim_ascii_start().first() == Some(&b'[') {
            for element in batch::elements(frame, limits.batch).unwrap_or_default() {
                if let Ok(Message::Request(request)) = batch::element(element) {
                    needed.add(catalog, &request);
                }
            }
        } else if let Ok(Message::Request(request)) = jsonrpc::parse(frame) {
            request.id.as_str().clone_into(&mut needed.id);
            needed.add(catalog, &request);
        }
        needed
    }

    impl NeededScopes {
        fn add(&mut self, catalog: &Catalog, request: &Request<'_>) {
            let Ok(params) = era::read(request) else { return };
            let handler = handler(catalog, &request.method, params.params());
            // To some callers, a handler with a predicate does not exist; the router asks it first.
            for scope in
                handler.filter(|handler| handler.visible.is_none()).map_or(&[][..], |handler| scopes_of(handler))
            {
                if !self.scopes.contains(scope) {
                    self.scopes.push(scope.clone());
                }
            }
        }
    }

    /// The handler that a request is for.
    fn handler<'a>(catalog: &'a Catalog, method: &str, params: &Object<'_>) -> Option<&'a Handler> {
        let text = |params: &Object<'_>, name: &str| params.get(name).and_then(Raw::text).map(Cow::into_owned);
        let prompt = |name: String| catalog.prompts.get(&name).map(|prompt| &prompt.handler);
        match method {
            "tools/call" => catalog.tools.get(&text(params, "name")?).map(|tool| &tool.handler),
            "prompts/get" => prompt(text(params, "name")?),
            "resources/read" | "resources/subscribe" => resource(catalog, &text(params, "uri")?),
            "completion/complete" => {
                let reference = optional_object("ref", params.get("ref")).ok()?;
                match text(&reference, "uri") {
                    Some(uri) => resource(catalog, &uri),
                    None => prompt(text(&reference, "name")?),
                }
            }
            _ => None,
        }
    }

    fn resource<'a>(catalog: &'a Catalog, uri: &str) -> Option<&'a Handler> {
        let fixed = catalog.resources.get(uri).map(|resource| &resource.handler);
        let template = || catalog.templates.get(uri).map(|family| &family.handler);
        let matching = || {
            let mut families = catalog.templates.iter().map(|(_, family)| family);
            families.find(|family| family.template.matches(uri).is_some()).map(|family| &family.handler)
        };
        fixed.or_else(template).or_else(matching)
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
