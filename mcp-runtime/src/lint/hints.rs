//! Tools that delete something, without a hint for clients that ask the user first.

use super::finding::{Findings, Rule, tool_place};
use crate::suggest::words;
use crate::surface::Surface;

/// Verbs after which something is gone.
const DESTRUCTIVE: [&str; 8] = ["delete", "drop", "remove", "destroy", "purge", "erase", "wipe", "truncate"];

pub(super) fn check(surface: &Surface, found: &mut Findings) {
    for tool in surface.tools.iter().map(|tool| &tool.item) {
        let hints = &tool.annotations;
        let place = tool_place(&tool.name);
        if hints.read_only_hint == Some(true) && hints.destructive_hint == Some(true) {
            let text = "`read_only` and `destructive` contradict each other";
            found.add(Rule::MissingHint, &place, text, "leave out the one that is wrong");
        }
        let words = words(&tool.name);
        // `delete_note`, or `notes_delete`.
        let verbs = [words.first(), words.last()];
        let verb = verbs.into_iter().flatten().find(|word| DESTRUCTIVE.contains(&word.as_str()));
        if let (Some(verb), None, None) = (verb, hints.read_only_hint, hints.destructive_hint) {
            let text = format!(
                "the name says `{verb}`, and no hint says whether data is lost: clients cannot tell when to ask the user"
            );
            let remedy = "`#[tool(destructive)]`, or `destructive = false` if nothing is lost";
            found.add(Rule::MissingHint, &place, text, remedy);
        }
    }
}
