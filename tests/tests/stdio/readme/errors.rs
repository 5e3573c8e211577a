//! `docs/book/errors.md` quotes messages as the sources have them, and the messages that lead to it find their section.

use std::fs;
use std::path::Path;

use super::{anchors, page, root};

/// The sources as one line each: literals over several lines are joined, and escapes are what they stand for.
pub(super) fn sources() -> Vec<String> {
    let mut texts = Vec::new();
    for folder in ["mcp-runtime/src", "mcp-macros/src", "mcp-redis/src", "tests/ui/fail"] {
        read(&root().join(folder), &mut texts);
    }
    texts
}

fn read(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "stderr") {
            let text = fs::read_to_string(&path).unwrap();
            let mut joined = String::new();
            for part in text.split("\\\n") {
                joined.push_str(if joined.is_empty() { part } else { part.trim_start() });
            }
            texts.push(joined.replace("\\\"", "\"").replace("\\\\", "\\").replace("{{", "{").replace("}}", "}"));
        }
    }
}

/// Whether a source has the message: what stands between `…`, in this order.
pub(super) fn occurs(message: &str, source: &str) -> bool {
    let parts: Vec<&str> = message.split('…').filter(|part| !part.trim().is_empty()).collect();
    let Some((first, others)) = parts.split_first() else { return false };
    source.match_indices(first).any(|(at, _)| {
        // what differs is short in a literal: `{name}`
        let after = &source[at + first.len()..];
        let mut rest = after.char_indices().nth(600).map_or(after, |(end, _)| &after[..end]);
        others.iter().all(|part| rest.split_once(part).map(|(_, after)| rest = after).is_some())
    })
}

#[test]
fn quoted_messages_are_in_the_sources() {
    let (page, sources) = (page("docs/book/errors.md"), sources());
    let messages: Vec<&str> = page.blocks("text").into_iter().flat_map(str::lines).collect();
    assert!(messages.len() > 50, "{}", messages.len());
    let lost: Vec<_> =
        messages.into_iter().filter(|message| !sources.iter().any(|source| occurs(message, source))).collect();
    assert!(lost.is_empty(), "no source says: {lost:#?}");
}

#[test]
fn a_message_that_nobody_says_is_found() {
    let sources = sources();
    assert!(!sources.iter().any(|source| occurs("there are three …s `…`; …", source)));
    assert!(!sources.iter().any(|source| occurs("`…` cannot be returned from a toool", source)));
}

#[test]
fn messages_lead_to_sections_of_the_page() {
    let anchors = anchors(&page("docs/book/errors.md").text);
    let sources = sources();
    let links = sources.iter().flat_map(|source| source.split("{PAGE}#").skip(1));
    let linked: Vec<&str> = links.filter_map(|rest| rest.split(['"', ' ', '\\']).next()).collect();
    assert!(linked.len() > 10, "{linked:?}");
    for link in linked {
        assert!(anchors.iter().any(|anchor| anchor == link), "{link} is no section of docs/book/errors.md");
    }
}

#[test]
fn every_rule_of_lint_has_a_section() {
    let rules = fs::read_to_string(root().join("mcp-runtime/src/lint/finding.rs")).unwrap();
    let rules: Vec<&str> = rules.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(rules.len() > 6);
    let text = page("docs/book/errors.md").text;
    for rule in rules {
        assert!(text.contains(&format!("\n### {rule}\n")), "docs/book/errors.md has no section {rule}");
    }
}
