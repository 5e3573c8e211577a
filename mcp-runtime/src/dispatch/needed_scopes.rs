//! The scopes that a message needs, found before it is served: for a caller who may do nothing, and for batches, of
//! which no part runs if another part is denied.

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
        for scope in handler.filter(|handler| handler.visible.is_none()).map_or(&[][..], |handler| handler.scopes.all())
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
    all.find(|(_, handler)| !handler.scopes.is_empty()).map(|(name, _)| name.to_owned())
}
