//! Tools that return structured JSON without saying what is in it.

use super::finding::{Findings, Rule, tool_place};
use crate::surface::Surface;

pub(super) fn check(surface: &Surface, found: &mut Findings) {
    for tool in surface.tools.iter().filter(|tool| tool.returns_plain_json) {
        let text = "returns structured JSON without an `outputSchema`: models and programs cannot tell what is in it";
        let remedy = "return `Json<T>` for a type that derives `JsonSchema`; a `Value` and an `Option` have no schema";
        found.add(Rule::MissingOutputSchema, &tool_place(&tool.item.name), text, remedy);
    }
}
