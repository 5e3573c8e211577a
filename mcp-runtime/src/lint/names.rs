//! Names that a model confuses, and names that clients refuse.

use serde_json::Value;

use super::finding::{Findings, Rule, tool_place};
use crate::suggest::{distance, words};
use crate::surface::Surface;
use crate::surface::difference::Place;

pub(super) fn check(surface: &Surface, found: &mut Findings) {
    let tools: Vec<&str> = surface.tools.iter().map(|tool| tool.item.name.as_str()).collect();
    let prompts: Vec<&str> = surface.prompts.iter().map(|prompt| prompt.item.name.as_str()).collect();
    confusing(&tools, tool_place, found);
    confusing(&prompts, |name| Place::new(format!("prompt {name}")), found);
    for tool in surface.tools.iter().map(|tool| &tool.item) {
        let place = tool_place(&tool.name);
        let properties = tool.input_schema.get("properties").and_then(Value::as_object);
        let arguments: Vec<&str> = properties.into_iter().flat_map(|map| map.keys()).map(String::as_str).collect();
        confusing(&arguments, |name| place.then(format!("argument {name}")), found);
        refused_tool(&surface.server.name, &tool.name, &place, found);
        for name in arguments {
            refused_argument(name, &place.then(format!("argument {name}")), found);
        }
    }
}

fn confusing(names: &[&str], place: impl Fn(&str) -> Place, found: &mut Findings) {
    for (at, name) in names.iter().enumerate() {
        for earlier in &names[..at] {
            if let Some(difference) = only_difference(earlier, name) {
                let text = format!("differs from `{earlier}` {difference}: a model may confuse the two");
                let remedy = "rename one so that the names say how the two differ, or make them one";
                found.add(Rule::ConfusingNames, &place(name), text, remedy);
            }
        }
    }
}

/// How two names differ, if it is so little that they are easily confused.
fn only_difference(one: &str, other: &str) -> Option<&'static str> {
    let (mut one, mut other) = (words(one), words(other));
    if one == other || one.concat() == other.concat() {
        return Some("only in case or separators");
    }
    one.sort_unstable();
    other.sort_unstable();
    if one == other {
        return Some("only in the order of its words");
    }
    let singular = |words: &[String]| {
        let mut words: Vec<String> = words.iter().map(|word| singular(word)).collect();
        words.sort_unstable();
        words
    };
    if singular(&one) == singular(&other) {
        return Some("only in a plural");
    }
    one.iter().any(|word| !other.contains(word)).then_some(())?;
    match (&without(&one, &other)[..], &without(&other, &one)[..]) {
        ([one], [other]) if is_misspelt(one, other) => Some("by one letter"),
        _ => None,
    }
}

/// The words that the other name does not have.
fn without<'a>(words: &'a [String], others: &[String]) -> Vec<&'a str> {
    words.iter().filter(|word| !others.contains(word)).map(String::as_str).collect()
}

/// `colour` and `color`; but not `get` and `set`, `batch` and `watch`, or `v1` and `v2`.
fn is_misspelt(one: &str, other: &str) -> bool {
    let is_word = |word: &str| word.len() >= 5 && word.chars().all(char::is_alphabetic);
    is_word(one) && is_word(other) && one.chars().next() == other.chars().next() && distance(one, other) == 1
}

fn singular(word: &str) -> String {
    let stem = match word {
        short if short.len() <= 2 => short,
        _ if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") => word,
        _ => match (word.strip_suffix("ies"), word.strip_suffix('s')) {
            (Some(stem), _) if stem.len() > 1 => return format!("{stem}y"),
            (_, Some(stem)) => stem,
            _ => word,
        },
    };
    stem.to_owned()
}

/// The longest tool name that `OpenAI`'s API and Claude Desktop take.
const LONGEST: usize = 64;

/// Cursor hides a tool if its name and the server's have this many characters together.
const LONGEST_IN_CURSOR: usize = 60;

fn refused_tool(server: &str, name: &str, place: &Place, found: &mut Findings) {
    if name.contains('.') {
        let text = "`.` in the name: MCP allows it; the APIs of OpenAI and Anthropic, and Claude Desktop, refuse it";
        found.add(Rule::RefusedName, place, text, "write `_` or `-` instead: `#[tool(name = \"…\")]`");
    }
    let together = name.len() + server.len();
    if name.len() > LONGEST {
        let length = name.len();
        let text = format!("{length} characters: OpenAI's API and Claude Desktop refuse names over {LONGEST}");
        found.add(Rule::RefusedName, place, text, "shorten the name: `#[tool(name = \"…\")]`");
    } else if together >= LONGEST_IN_CURSOR {
        let text = format!(
            "{together} characters with the server's name: Cursor hides tools where both have {LONGEST_IN_CURSOR} or more"
        );
        found.add(Rule::RefusedName, place, text, "shorten the name of the tool or of the server");
    }
}

/// The Anthropic API checks the names of arguments, not of fields inside them.
fn refused_argument(name: &str, place: &Place, found: &mut Findings) {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(allowed) {
        let text = "the Anthropic API takes argument names of 1 to 64 ASCII letters, digits, `_`, `.` and `-` only";
        found.add(Rule::RefusedName, place, text, "rename it: `#[arg(rename = \"…\")]`");
    }
}
