//! Random files of users: what `install` adds, `uninstall` takes away, and nothing else changes.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::Place;

/// Where a JSON value may have space: nothing, spaces, lines, comments.
fn space() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => "[a-z ]{0,6}".prop_map(|text| format!("/*{text}*/")),
        1 => "[a-z {},\"]{0,6}".prop_map(|text| format!("//{text}\n")),
    ]
}

/// A text of JSON with comments, and its value.
fn json() -> impl Strategy<Value = (String, Value)> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zA-Z\"\\\\/ äß\n{}]{0,8}".prop_map(Value::from),
    ]
    .prop_map(|value| (value.to_string(), value));
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (prop::collection::vec((inner.clone(), space(), space()), 0..4), any::<bool>(), space()).prop_map(list),
            (prop::collection::vec(("[a-f]{1,3}", inner, space(), space()), 0..4), any::<bool>(), space())
                .prop_map(object),
        ]
    })
}

type Item = ((String, Value), String, String);
type Member = (String, (String, Value), String, String);

fn list((items, comma, end): (Vec<Item>, bool, String)) -> (String, Value) {
    let values = items.iter().map(|((_, value), ..)| value.clone()).collect();
    let texts: Vec<String> = items.into_iter().map(|((text, _), before, after)| before + &text + &after).collect();
    let comma = if comma && !texts.is_empty() { "," } else { "" };
    (format!("[{}{comma}{end}]", texts.join(",")), values)
}

fn object((members, comma, end): (Vec<Member>, bool, String)) -> (String, Value) {
    let mut values = Map::new();
    let mut texts = Vec::new();
    for (name, (text, value), before, after) in members {
        if values.insert(name.clone(), value).is_none() {
            texts.push(format!("{before}\"{name}\"{after}:{before}{text}{after}"));
        } else {
            // no name twice
            let last = texts.len().to_string();
            values.insert(name.clone() + &last, Value::Null);
            texts.push(format!("\"{name}{last}\": null"));
        }
    }
    let comma = if comma && !texts.is_empty() { "," } else { "" };
    (format!("{{{}{comma}{end}}}", texts.join(",")), values.into())
}

/// A whole file: an object, which may have servers.
fn file() -> impl Strategy<Value = String> {
    let members = prop::collection::vec(("[a-f]{1,3}", json(), space(), space()), 0..3);
    let servers = prop::option::of(prop::collection::vec(("[g-m]{1,3}", json(), space(), space()), 0..3));
    (members, servers, any::<bool>(), space(), space(), space()).prop_map(
        |(mut members, servers, comma, before, inside, after)| {
            if let Some(servers) = servers {
                let table = object((servers, comma, inside.clone()));
                members.push(("mcpServers".to_owned(), table, before.clone(), inside.clone()));
            }
            format!("{before}{}{after}", object((members, comma, inside)).0)
        },
    )
}

/// The comments of a text.
fn comments(text: &str) -> Vec<String> {
    let mut comments = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '/']) {
        rest = &rest[at..];
        let length = match rest.as_bytes() {
            [b'"', ..] => {
                let mut escaped = false;
                let end = rest[1..].find(|letter| {
                    let ends = letter == '"' && !escaped;
                    escaped = letter == '\\' && !escaped;
                    ends
                });
                end.unwrap() + 2
            }
            [b'/', b'*', ..] => rest.find("*/").unwrap() + 2,
            _ => rest.find('\n').unwrap_or(rest.len()),
        };
        if rest.starts_with('/') {
            comments.push(rest[..length].trim_end().to_owned());
        }
        rest = &rest[length..];
    }
    comments
}

/// The value of a text with comments, without the table of servers if it is empty.
fn value(text: &str) -> Value {
    let mut plain = String::new();
    let mut rest = text;
    for comment in comments(text) {
        let (before, after) = split_at_comment(rest, &comment);
        plain.push_str(before);
        rest = after;
    }
    plain.push_str(rest);
    // trailing commas: outside of strings, the generator writes a comma right before the space of the end
    let json = without_trailing_commas(&plain);
    let mut value: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}\nof {text}"));
    if value.get("mcpServers").is_some_and(|servers| servers == &Value::Object(Map::new())) {
        value.as_object_mut().unwrap().remove("mcpServers");
    }
    value
}

/// Splits a text at a comment, which is not in a string.
fn split_at_comment<'a>(text: &'a str, comment: &str) -> (&'a str, &'a str) {
    let mut in_string = false;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        if !in_string && text[at..].starts_with(comment) {
            return (&text[..at], &text[at + comment.len()..]);
        }
        in_string ^= letter == '"' && !escaped;
        escaped = in_string && letter == '\\' && !escaped;
    }
    panic!("no {comment:?} in {text:?}");
}

fn without_trailing_commas(text: &str) -> String {
    let mut plain = String::new();
    let (mut in_string, mut escaped) = (false, false);
    for (at, letter) in text.char_indices() {
        let next = text[at + letter.len_utf8()..].trim_start().chars().next();
        if letter == ',' && !in_string && matches!(next, Some('}' | ']')) {
            continue;
        }
        plain.push(letter);
        in_string ^= letter == '"' && !escaped;
        escaped = in_string && letter == '\\' && !escaped;
    }
    plain
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn uninstall_undoes_install(text in file()) {
        let place = Place::linux();
        place.write("home/.cursor/mcp.json", &text);
        place.install("cursor");
        let installed = place.read("home/.cursor/mcp.json");
        prop_assert_eq!(&value(&installed)["mcpServers"]["weather"]["command"], "/opt/weather/bin/weather");
        prop_assert_eq!(comments(&installed), comments(&text));
        place.uninstall("cursor");
        let removed = place.read("home/.cursor/mcp.json");
        prop_assert_eq!(value(&removed), value(&text));
        prop_assert_eq!(comments(&removed), comments(&text));
    }

    #[test]
    fn random_text_is_edited_or_refused_whole(text in "[\\[\\]{}\",:a/* \n1=.#-]{0,40}") {
        for (client, path) in [
            ("cursor", "home/.cursor/mcp.json"),
            ("codex", "home/.codex/config.toml"),
            ("goose", "home/.config/goose/config.yaml"),
        ] {
            let place = Place::linux();
            place.write(path, &text);
            match place.run(mcp_runtime::cli::install::InstallCommand::Install, client) {
                Ok(_) => {
                    place.uninstall(client);
                }
                Err(error) => {
                    prop_assert_eq!(error.code(), 1);
                    prop_assert_eq!(place.read(path), text.clone());
                }
            }
        }
    }
}
