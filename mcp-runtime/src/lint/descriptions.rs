//! Tools, prompts and arguments without a description.

use serde_json::Value;

use super::finding::{Findings, Rule, tool_place};
use crate::surface::Surface;
use crate::surface::difference::Place;

pub(super) fn check(surface: &Surface, found: &mut Findings) {
    for tool in surface.tools.iter().map(|tool| &tool.item) {
        let place = tool_place(&tool.name);
        if is_blank(tool.description.as_deref()) {
            missing(&place, "a model chooses a tool by its description", "write a doc comment on the function", found);
        }
        let properties = tool.input_schema.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            if is_blank(description(schema, &tool.input_schema)) {
                argument(&place, name, found);
            }
        }
    }
    for prompt in surface.prompts.iter().map(|prompt| &prompt.item) {
        let place = Place::new(format!("prompt {}", prompt.name));
        if is_blank(prompt.description.as_deref()) {
            missing(&place, "users choose a prompt by its description", "write a doc comment on the function", found);
        }
        for argument in prompt.arguments.iter().filter(|argument| is_blank(argument.description.as_deref())) {
            self::argument(&place, &argument.name, found);
        }
    }
}

fn argument(place: &Place, name: &str, found: &mut Findings) {
    let place = place.then(format!("argument {name}"));
    missing(&place, "its name alone tells what to fill in", "write a doc comment on the parameter", found);
}

fn missing(place: &Place, why: &str, remedy: &str, found: &mut Findings) {
    let remedy = format!("{remedy}, or set `description = \"…\"`");
    found.add(Rule::MissingDescription, place, format!("no description; {why}"), remedy);
}

/// The description of an argument: its own, or that of its type.
fn description<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a str> {
    let own = |schema: &'a Value| schema.get("description").and_then(Value::as_str);
    let target = || root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?).and_then(own);
    own(schema).or_else(target)
}

fn is_blank(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}
