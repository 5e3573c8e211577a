//! The tokens that a list of tools takes of a model's context.
//!
//! An estimate: tokenizers differ, and clients render tools differently. Four bytes of JSON per token is the usual rule
//! of thumb for English; texts in other scripts take more tokens per character, and more bytes.

use super::finding::{Findings, Rule, tool_place};
use crate::protocol::{Meta, ToolDescriptor};
use crate::surface::Surface;
use crate::surface::difference::Place;

const BYTES_PER_TOKEN: usize = 4;

pub(super) fn check(surface: &Surface, tool_budget: usize, list_budget: usize, found: &mut Findings) {
    let mut all: Vec<(usize, &str)> =
        surface.tools.iter().map(|tool| (of(&tool.item), tool.item.name.as_str())).collect();
    for (tokens, name) in all.iter().filter(|(tokens, _)| *tokens > tool_budget) {
        let text = format!("about {tokens} tokens, over the budget of {tool_budget}");
        let remedy = "shorten its description and its schema, or split the tool";
        found.add(Rule::TokenBudget, &tool_place(name), text, remedy);
    }
    let sum: usize = all.iter().map(|(tokens, _)| tokens).sum();
    if sum > list_budget {
        all.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
        let largest: Vec<String> = all.iter().take(3).map(|(tokens, name)| format!("`{name}` ({tokens})")).collect();
        let count = all.len();
        let text = format!("{count} tools take about {sum} tokens, over the budget of {list_budget}");
        let remedy = format!("shorten the largest, {}; or split the server", largest.join(", "));
        found.add(Rule::TokenBudget, &Place::new("tools"), text, remedy);
    }
}

/// The estimated tokens of a tool's entry in the list, without what only user interfaces read.
pub(crate) fn of(tool: &ToolDescriptor) -> usize {
    let shown = ToolDescriptor { icons: Vec::new(), meta: Meta::new(), ..tool.clone() };
    serde_json::to_string(&shown).map_or(0, |json| json.len().div_ceil(BYTES_PER_TOKEN))
}
