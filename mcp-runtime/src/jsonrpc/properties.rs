//! Property tests of the parser: every spelling of a message is read as the same message.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use proptest::collection::{btree_map, vec};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use serde_json::Value;
use serde_json::value::RawValue;

use super::object::Object;
use super::raw::Raw;
use super::{Message, Notification, Request, parse};

/// A message, and one of the ways to write it.
#[derive(Debug, Clone)]
struct Printed {
    kind: Kind,
    /// The JSON text of `params`, if there are any.
    params: Option<String>,
    /// A bit for each character of a string, repeated every 64: whether it is written as an escape.
    escapes: u64,
    /// The whitespace between any two tokens of the message.
    space: &'static str,
    /// The number of places by which the members are rotated.
    first: usize,
    /// Unknown members.
    unknown: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
enum Kind {
    Request { id: String, method: String },
    Notification { method: String },
    Response { id: String, member: &'static str },
}

/// Text with characters that need escapes, may have them, or take several bytes.
fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => any::<char>(),
        4 => proptest::char::range(' ', '~'),
        1 => Just('"'),
        1 => Just('\\'),
        1 => Just('\u{0}'),
        1 => Just('\u{2028}'),
        1 => Just('🦀'),
    ];
    vec(character, 0..12).prop_map(String::from_iter)
}

/// A string as JSON, with escapes by the bits of `escapes` and where JSON requires them.
fn quoted(text: &str, escapes: u64) -> String {
    let mut json = String::from('"');
    for (at, character) in text.chars().enumerate() {
        if escapes >> (at % 64) & 1 == 1 {
            let mut units = [0; 2];
            json.extend(character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            let plain = serde_json::to_string(&character).unwrap();
            json.push_str(&plain[1..plain.len() - 1]);
        }
    }
    json + "\""
}

/// The JSON text of an id.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        Just("-0".to_owned()),
        vec(1..=9_u8, 1..60).prop_map(|digits| digits.iter().map(u8::to_string).collect()),
        (text(), any::<u64>()).prop_map(|(text, escapes)| quoted(&text, escapes)),
    ]
}

/// The JSON text of any value.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(text(), inner, 0..5).prop_map(|members| members.into_iter().collect::<Value>()),
        ]
    });
    (value, any::<bool>()).prop_map(|(value, pretty)| if pretty { format!("{value:#}") } else { value.to_string() })
}

fn printed() -> impl Strategy<Value = Printed> {
    let kind = prop_oneof![
        2 => (id(), text()).prop_map(|(id, method)| Kind::Request { id, method }),
        1 => text().prop_map(|method| Kind::Notification { method }),
        1 => (id(), prop_oneof![Just("result"), Just("error")]).prop_map(|(id, member)| Kind::Response { id, member }),
    ];
    let params = proptest::option::of(json());
    let space = prop_oneof![Just(""), Just(" "), Just("\t \r")];
    let known = |name: &String| ["jsonrpc", "id", "method", "params", "result", "error"].contains(&&**name);
    let unknown = btree_map(text().prop_filter("known", move |name| !known(name)), json(), 0..3);
    (kind, params, any::<u64>(), space, 0..8_usize, unknown).prop_map(
        |(kind, params, escapes, space, first, unknown)| Printed { kind, params, escapes, space, first, unknown },
    )
}

impl Printed {
    fn frame(&self) -> String {
        let mut members = vec![("jsonrpc".to_owned(), quoted("2.0", self.escapes))];
        match &self.kind {
            Kind::Request { id, method } => {
                members.push(("id".to_owned(), id.clone()));
                members.push(("method".to_owned(), quoted(method, self.escapes)));
            }
            Kind::Notification { method } => members.push(("method".to_owned(), quoted(method, self.escapes))),
            Kind::Response { id, member } => {
                members.push(("id".to_owned(), id.clone()));
                members.push(((*member).to_owned(), "{}".to_owned()));
            }
        }
        members.extend(self.params.clone().map(|params| ("params".to_owned(), params)));
        members.extend(self.unknown.clone());
        let first = self.first % members.len();
        members.rotate_left(first);
        let space = self.space;
        let members = members.iter().map(|(name, value)| {
            let name = quoted(name, self.escapes.rotate_right(32));
            format!("{space}{name}{space}:{space}{value}{space}")
        });
        format!("{space}{{{}}}{space}", members.collect::<Vec<_>>().join(","))
    }

    /// Whether a parsed message equals this one.
    fn is(&self, message: &Message<'_>) -> bool {
        match (&self.kind, message) {
            (Kind::Request { id, method }, Message::Request(Request { id: read_id, method: read, params })) => {
                read_id.as_str() == id && read == method && params.map(Raw::get) == self.params.as_deref()
            }
            (Kind::Notification { method }, Message::Notification(Notification { method: read, params })) => {
                read == method && params.map(Raw::get) == self.params.as_deref()
            }
            (kind, message) => matches!((kind, message), (Kind::Response { .. }, Message::Response(_))),
        }
    }
}

/// Checks a property with random messages of all kinds.
fn always(property: impl Fn(&Printed) -> Result<(), String>) {
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let config = Config { cases: 2000, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&printed(), |printed| property(&printed).map_err(TestCaseError::fail));
    if let Err(error) = outcome {
        panic!("{error}\nAgain with PROPTEST_RNG_SEED={seed}");
    }
}

#[test]
fn printed_messages_are_parsed_unchanged() {
    always(|printed| {
        let frame = printed.frame();
        match parse(frame.as_bytes()) {
            Ok(message) if printed.is(&message) => Ok(()),
            other => Err(format!("{frame}\nwas read as {other:?}")),
        }
    });
}

#[test]
fn members_equal_those_serde_reads() {
    always(|printed| {
        let frame = printed.frame();
        let raw = Raw::new_unchecked(frame.trim_ascii());
        let read: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&frame).unwrap();
        let read: BTreeMap<&str, &str> = read.iter().map(|(name, value)| (&**name, value.get())).collect();
        let whole = Object::read(raw)?;
        let taken: BTreeMap<&str, &str> = whole.iter().map(|(name, value)| (name, value.get())).collect();
        if taken != read {
            return Err(format!("{frame}\nwas taken apart as {taken:?}"));
        }
        for (name, value) in &read {
            let (outer, inner) = Object::read_with(raw, name)?;
            let inner = inner.map(|(text, members)| (text.get(), format!("{members:?}")));
            let expected =
                value.starts_with('{').then(|| (*value, format!("{:?}", Object::read(Raw::new_unchecked(value)))));
            if inner != expected || format!("{outer:?}") != format!("{whole:?}") {
                return Err(format!("{frame}\nhas {inner:?} in {name:?}, and is {outer:?}"));
            }
        }
        Ok(())
    });
}
