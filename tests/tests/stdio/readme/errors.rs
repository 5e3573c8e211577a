//! `docs/book/errors.md` quotes messages as the sources have them. The messages that lead to it find their section, and
//! every section has messages that lead to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use http::StatusCode;

use super::{anchors, page, root};

/// The sections that no message leads to.
const UNLINKED: &[(&str, &str)] = &[
    ("attributes", "a macro's error has no notes, and is at the token to change"),
    ("futures-that-are-not-send", "the compiler's own message"),
    ("431", "hyper's response"),
    ("invalid-arguments", "for the model, which follows no links"),
    ("no-answer", "for the handler, and by `?` for the model"),
];

/// The group whose sections no message leads to: codes are for client programs.
const CODES: &str = "JSON-RPC codes";

/// The errors of the compiler that need no section: the label or the note is the whole answer.
const SELF_EXPLAINING: [&str; 3] = ["is not an amount of work", "is not a total", "is not a socket that"];

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

/// The headings of the page's sections, those of one group or all.
fn sections(group: Option<&str>) -> BTreeSet<String> {
    let text = page("docs/book/errors.md").text;
    let groups =
        text.split("\n## ").skip(1).filter(|text| group.is_none_or(|group| text.lines().next() == Some(group)));
    groups.flat_map(|text| text.lines().filter_map(|line| line.strip_prefix("### "))).map(str::to_owned).collect()
}

/// A file of the runtime, without its tests.
fn runtime(path: &str) -> String {
    let text = fs::read_to_string(root().join("mcp-runtime/src").join(path)).unwrap();
    text.split("#[cfg(test)]").next().unwrap().to_owned()
}

/// The statuses of errors that the HTTP transport sends: those it names, and those that tokens are refused with.
fn statuses() -> BTreeSet<String> {
    let mut texts = Vec::new();
    read(&root().join("mcp-runtime/src/transport/http"), &mut texts);
    let texts = texts.iter().filter_map(|text| text.split("#[cfg(test)]").next());
    let names = texts.flat_map(|text| text.split("StatusCode::").skip(1)).filter_map(|rest| {
        let name = rest.split(|letter: char| !letter.is_ascii_uppercase() && letter != '_').next()?;
        (name.len() > 1).then_some(name)
    });
    let known: Vec<StatusCode> = (100..600).filter_map(|status| StatusCode::from_u16(status).ok()).collect();
    let number = |name: &str| {
        let is_named = |status: &&StatusCode| {
            status.canonical_reason().is_some_and(|reason| reason.to_uppercase().replace(' ', "_") == name)
        };
        known.iter().find(is_named).unwrap_or_else(|| panic!("which status is {name}?")).as_u16()
    };
    let gate = runtime("auth/gate.rs");
    let of_tokens = gate.split("Closed { status: ").skip(1).map(|rest| rest[..3].parse().unwrap());
    let all = names.map(number).chain(of_tokens);
    all.filter(|status| *status >= 400).map(|status| status.to_string()).collect()
}

fn rules() -> Vec<String> {
    let rules = runtime("lint/finding.rs");
    rules.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// The sections that mistakes in the set-up lead to.
fn mistakes() -> Vec<String> {
    let text = runtime("error/sections.rs");
    let named = text.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"'));
    named.chain(["set-up"]).map(str::to_owned).collect()
}

/// The address of the page, as messages have it.
fn address() -> String {
    let text = runtime("error.rs");
    text.split_once("PAGE: &str = \"").unwrap().1.split('"').next().unwrap().to_owned()
}

/// The sections that messages of the runtime lead to.
fn linked() -> BTreeSet<String> {
    let mut texts = Vec::new();
    read(&root().join("mcp-runtime/src"), &mut texts);
    let mut linked = BTreeSet::new();
    for link in ["{PAGE}#".to_owned(), format!("{}#", address())] {
        let links = texts.iter().flat_map(|text| text.split(&*link).skip(1));
        let found: Vec<&str> = links.filter_map(|rest| rest.split(['"', ' ', '\\']).next()).collect();
        assert!(found.len() > 10, "{link}: {found:?}");
        for section in found {
            match section {
                "{status}" => linked.extend(statuses()),
                "{rule}" => linked.extend(rules().into_iter().chain(["lint".to_owned()])),
                "{section}" => linked.extend(mistakes()),
                section => drop(linked.insert(section.to_owned())),
            }
        }
    }
    linked
}

#[test]
fn messages_lead_to_sections_of_the_page() {
    let anchors = anchors(&page("docs/book/errors.md").text);
    for link in linked() {
        assert!(anchors.contains(&link), "{link} is no section of docs/book/errors.md");
    }
}

/// The second of two would get an anchor that nobody expects.
#[test]
fn headings_differ() {
    let anchors = anchors(&page("docs/book/errors.md").text);
    assert_eq!(anchors.iter().collect::<BTreeSet<_>>().len(), anchors.len(), "{anchors:?}");
}

#[test]
fn messages_lead_to_every_section() {
    let (linked, codes) = (linked(), sections(Some(CODES)));
    for section in sections(None).difference(&codes) {
        let anchor = anchors(&format!("# {section}")).remove(0);
        let exemption = UNLINKED.iter().find(|(unlinked, _)| *unlinked == anchor);
        match exemption {
            None => assert!(linked.contains(&anchor), "no message leads to `{section}`: add a link, or a reason"),
            Some((_, why)) => assert!(!linked.contains(&anchor), "a message leads to `{section}`, although: {why}"),
        }
    }
    let anchors = anchors(&page("docs/book/errors.md").text);
    assert!(UNLINKED.iter().all(|(unlinked, _)| anchors.iter().any(|anchor| anchor == unlinked)), "{UNLINKED:?}");
}

#[test]
fn errors_of_the_compiler_lead_to_the_page() {
    let mut texts = Vec::new();
    read(&root().join("mcp-runtime/src"), &mut texts);
    let notes = texts.iter().flat_map(|text| text.split("diagnostic::on_unimplemented(").skip(1));
    let notes: Vec<&str> = notes.map(|rest| rest.split("pub trait").next().unwrap()).collect();
    assert!(notes.len() > 20, "{}", notes.len());
    let link = format!("note = \"see {}#", address());
    for note in notes {
        let explains_itself = SELF_EXPLAINING.iter().any(|words| note.contains(words));
        assert_eq!(note.matches(&*link).count(), usize::from(!explains_itself), "{note}");
    }
}

#[test]
fn every_status_has_a_section() {
    let mut expected = statuses();
    assert!(expected.len() > 10, "{expected:?}");
    expected.insert("431".to_owned());
    assert_eq!(sections(Some("HTTP statuses")), expected);
}

#[test]
fn every_code_has_a_section() {
    let codes = runtime("jsonrpc/error.rs");
    let codes = codes.split(": i32 = ").skip(1).filter_map(|rest| rest.split(';').next());
    let codes: BTreeSet<String> = codes.map(str::to_owned).collect();
    assert!(codes.len() > 10, "{codes:?}");
    assert_eq!(sections(Some(CODES)), codes);
}

#[test]
fn every_rule_of_lint_has_a_section() {
    let rules = rules();
    assert!(rules.len() > 6);
    assert_eq!(sections(Some("Lint")), rules.into_iter().collect());
}
