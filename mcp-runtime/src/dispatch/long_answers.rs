//! Which calls take turns: those of handlers that have given long answers.

use crate::call::blocking::profile::{BlockingProfile, LONG, some_answers_are_long};
use crate::catalog::Catalog;
use crate::era::Method;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;

/// The length to expect of the answer to a request, if the handler that it names has given long ones lately.
pub(crate) fn expected(catalog: &Catalog, method: &str, params: &Object<'_>) -> Option<usize> {
    profile(catalog, method, params)?.long_answer()
}

/// A request has been answered at once, with so many bytes.
#[inline]
pub(crate) fn answered(catalog: &Catalog, method: Method, params: &Object<'_>, length: usize) {
    if (length > LONG || some_answers_are_long())
        && let Some(profile) = profile(catalog, method.name(), params)
    {
        profile.answered(length);
    }
}

/// What is known about the handler that a request names, whether its caller may see it or not.
#[cold]
fn profile<'a>(catalog: &'a Catalog, method: &str, params: &Object<'_>) -> Option<&'a BlockingProfile> {
    let text = |name| params.get(name).and_then(Raw::text);
    let handler = match method {
        "tools/call" => &catalog.tools.get(&text("name")?)?.handler,
        "prompts/get" => &catalog.prompts.get(&text("name")?)?.handler,
        "resources/read" => catalog.resource_handlers(&text("uri")?).next()?,
        _ => return None,
    };
    Some(&handler.blocking)
}
