//! Types as forms, and the validation of contents.
#![expect(dead_code, reason = "only the schemas of these types are used")]

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::*;

#[derive(PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

#[derive(PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    #[schemars(title = "Deep red")]
    Red,
    /// Blue, like
    /// the sea
    ///
    /// And like the sky.
    Blue,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("enumNames" = ["Option one", "Option two"]))]
enum Old {
    #[serde(rename = "1")]
    One,
    #[serde(rename = "2")]
    Two,
}

fn form<T: JsonSchema>() -> Form {
    Form::of::<T>().unwrap()
}

fn properties<T: JsonSchema>(revision: Revision) -> Value {
    form::<T>().schema(revision).unwrap()["properties"].take()
}

#[derive(Deserialize, JsonSchema)]
struct Enums {
    #[serde(rename = "untitledSingle")]
    untitled_single: Size,
    #[serde(rename = "titledSingle")]
    titled_single: Colour,
    #[serde(rename = "legacyEnum")]
    legacy: Old,
}

#[derive(Deserialize, JsonSchema)]
struct Lists {
    #[serde(rename = "untitledMulti")]
    untitled: Vec<Size>,
    /// Which ones?
    #[serde(rename = "titledMulti")]
    #[schemars(length(min = 1, max = 2))]
    titled: HashSet<Colour>,
}

fn colours() -> Value {
    json!([{"const": "red", "title": "Deep red"}, {"const": "blue", "title": "Blue, like the sea"}])
}

#[test]
fn enum_schemas_by_kind() {
    assert_eq!(
        properties::<Enums>(Revision::V2026_07_28),
        json!({
            "untitledSingle": {"type": "string", "enum": ["small", "large"]},
            "titledSingle": {"type": "string", "oneOf": colours()},
            "legacyEnum": {"type": "string", "enum": ["1", "2"], "enumNames": ["Option one", "Option two"]},
        })
    );
    assert_eq!(
        properties::<Lists>(Revision::V2025_11_25),
        json!({
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["small", "large"]}},
            "titledMulti": {
                "type": "array", "items": {"anyOf": colours()}, "minItems": 1, "maxItems": 2,
                "description": "Which ones?",
            },
        })
    );
}

#[test]
fn older_revisions_get_the_schema_they_know() {
    assert_eq!(
        properties::<Enums>(Revision::V2025_06_18),
        json!({
            "untitledSingle": {"type": "string", "enum": ["small", "large"]},
            "titledSingle": {
                "type": "string", "enum": ["red", "blue"], "enumNames": ["Deep red", "Blue, like the sea"],
            },
            "legacyEnum": {"type": "string", "enum": ["1", "2"], "enumNames": ["Option one", "Option two"]},
        })
    );
    let error = form::<Lists>().schema(Revision::V2025_06_18).unwrap_err();
    assert_eq!(error, "revision 2025-06-18 cannot ask for several choices, as the field `untitledMulti` does");
    let error = form::<Enums>().schema(Revision::V2025_03_26).unwrap_err();
    assert_eq!(error, "revision 2025-03-26 has no forms; they came with 2025-06-18");
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Inactive,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Profile {
    name: String,
    age: u32,
    score: f64,
    status: Status,
    verified: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Profile { name: "John Doe".into(), age: 30, score: 95.5, status: Status::Active, verified: true }
    }
}

#[test]
fn defaults_are_sent_where_the_revision_has_them() {
    assert_eq!(
        form::<Profile>().schema(Revision::V2025_11_25).unwrap(),
        json!({"type": "object", "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "minimum": 0, "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        }})
    );
    assert_eq!(
        properties::<Profile>(Revision::V2025_06_18),
        json!({
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 0},
            "score": {"type": "number"},
            "status": {"type": "string", "enum": ["active", "inactive"]},
            "verified": {"type": "boolean", "default": true},
        })
    );
}

/// How to reach you.
#[derive(Deserialize, JsonSchema)]
struct Contact {
    /// Where mail goes.
    #[schemars(title = "Email", email, length(max = 20))]
    email: String,
    #[schemars(url)]
    site: Option<String>,
    #[schemars(extend("format" = "date"))]
    born: Option<String>,
    #[schemars(range(min = -1.5, max = 1.5))]
    mood: Option<f32>,
    #[schemars(length(min = 2))]
    nick: Option<String>,
    day: Option<u8>,
    big: Option<u64>,
    /// The one you like.
    colour: Option<Colour>,
    sizes: Option<HashSet<Size>>,
    #[serde(default)]
    #[schemars(length(min = 1))]
    note: String,
    address: Option<std::net::IpAddr>,
}

#[test]
fn limits_and_labels_are_kept_and_options_are_not_required() {
    assert_eq!(
        form::<Contact>().schema(Revision::V2026_07_28).unwrap(),
        json!({
            "type": "object",
            "properties": {
                "email": {
                    "type": "string", "maxLength": 20, "format": "email",
                    "title": "Email", "description": "Where mail goes.",
                },
                "site": {"type": "string", "format": "uri"},
                "born": {"type": "string", "format": "date"},
                "mood": {"type": "number", "minimum": -1.5, "maximum": 1.5},
                "nick": {"type": "string", "minLength": 2},
                "day": {"type": "integer", "minimum": 0, "maximum": 255},
                "big": {"type": "integer", "minimum": 0},
                "colour": {"type": "string", "oneOf": colours(), "description": "The one you like."},
                "sizes": {"type": "array", "items": {"type": "string", "enum": ["small", "large"]}},
                // Its default, the empty string, is too short for it.
                "note": {"type": "string", "minLength": 1},
                "address": {"type": "string"},
            },
            "required": ["email"],
        })
    );
}

#[test]
fn fitting_content_is_accepted() {
    let contact = form::<Contact>();
    for content in [
        json!({"email": "a@b.c"}),
        json!({"email": "a@b.c", "site": null, "unknown": {"more": []}}),
        json!({"email": "jörg@äöüäöüäöüäöü.de", "mood": 1, "nick": "äö", "day": 255, "born": "2024-02-29"}),
        json!({"email": "a@b.c", "colour": "blue", "sizes": ["large", "small"], "site": "https://x", "mood": -0.0}),
        json!({"email": "a@b.c", "big": u64::MAX}),
    ] {
        assert_eq!(contact.check(&content), Ok(()), "{content}");
    }
    assert_eq!(form::<Profile>().check(&json!({})), Ok(()));
}

#[test]
fn content_errors_name_the_field() {
    let contact = form::<Contact>();
    let wrong = |name: &str, value: Value| {
        let mut content = json!({"email": "a@b.c"});
        content[name] = value;
        contact.check(&content).unwrap_err()
    };
    let mail = "an email address, like name@example.com";
    assert_eq!(wrong("email", json!("nobody")), format!("`email`: expected {mail}, got the string \"nobody\""));
    assert_eq!(wrong("email", Value::Null), format!("`email`: expected {mail}, got null"));
    assert_eq!(wrong("email", json!("a@bbbbbbbbbbbbbbbbbbb")), format!("`email`: expected {mail}, got 21 characters"));
    assert!(wrong("site", json!("here")).starts_with("`site`: expected a URI, like https://example.com/page"));
    assert_eq!(wrong("mood", json!(1.6)), "`mood`: expected a number from -1.5 to 1.5, got 1.6");
    assert_eq!(wrong("nick", json!("ä")), "`nick`: expected a string of at least 2 characters, got 1 character");
    assert_eq!(wrong("day", json!(256)), "`day`: expected an integer from 0 to 255, got 256");
    assert_eq!(wrong("day", json!(3.5)), "`day`: expected an integer from 0 to 255, got 3.5");
    assert_eq!(wrong("big", json!(-1)), "`big`: expected an integer of at least 0, got -1");
    assert_eq!(
        wrong("colour", json!("green")),
        "`colour`: expected one of \"red\" or \"blue\", got the string \"green\""
    );
    assert_eq!(wrong("colour", json!(["red"])), "`colour`: expected one of \"red\" or \"blue\", got a list of 1 item");
    assert_eq!(wrong("sizes", json!(7)), "`sizes`: expected a list without duplicates, got 7");
    assert_eq!(
        wrong("sizes", json!(["tiny"])),
        "`sizes.0`: expected one of \"small\" or \"large\", got the string \"tiny\""
    );
    assert!(wrong("sizes", json!(["small", "small"])).ends_with("got the string \"small\" twice"));
    assert_eq!(contact.check(&json!({})).unwrap_err(), format!("`email` is missing: expected {mail}"));
    assert_eq!(contact.check(&json!(7)).unwrap_err(), "the content of the form must be an object, not integer");
    let all = contact.check(&json!({"email": 1, "day": 256})).unwrap_err();
    assert!(all.contains("`email`") && all.contains("`day`"), "{all}");
    let lists = form::<Lists>();
    let error = lists.check(&json!({"untitledMulti": ["small", "small"], "titledMulti": []})).unwrap_err();
    assert!(
        error.contains("`titledMulti`: expected a list of 1 to 2 items without duplicates, got an empty list"),
        "{error}"
    );
}

#[test]
fn nulls_of_optional_fields_are_dropped() {
    let mut content = json!({"email": null, "site": null, "unknown": null, "day": 0});
    form::<Contact>().drop_blanks(&mut content);
    assert_eq!(content, json!({"email": null, "day": 0}));
}

#[derive(Deserialize, JsonSchema)]
struct With<T> {
    it: T,
}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
enum Data {
    Empty,
    Full(u32),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Untagged {
    Number(u32),
    Text(String),
}

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("enumNames" = ["only one"]))]
enum Unbalanced {
    A,
    B,
}

#[derive(Deserialize, JsonSchema)]
struct Coded {
    #[schemars(extend("enum" = [1, 2]))]
    it: u8,
}

fn rejected<T: JsonSchema>() -> String {
    Form::of::<T>().unwrap_err()
}

#[test]
fn unsupported_field_types_are_named_with_advice() {
    let cases = [
        (rejected::<With<Measure>>(), "is a struct, and a form is flat: give each of its parts a field"),
        (rejected::<With<Tree>>(), "is a struct, and a form is flat"),
        (rejected::<With<Option<Measure>>>(), "is a struct, and a form is flat"),
        (rejected::<With<BTreeMap<String, u8>>>(), "is a map, and a form is flat: give each key a field"),
        (rejected::<With<Vec<String>>>(), "is a list of something other than the variants of an enum"),
        (rejected::<With<Vec<Data>>>(), "is an enum with data in its variants"),
        (rejected::<With<Data>>(), "is an enum with data in its variants"),
        (rejected::<With<Untagged>>(), "may be of several types"),
        (rejected::<With<(u8, u8)>>(), "is a tuple: give each of its parts a field"),
        (rejected::<With<()>>(), "has no value"),
        (rejected::<With<Value>>(), "may be anything: its type says nothing of its values"),
        (rejected::<With<Unbalanced>>(), "has 2 choices, but 1 names in `enumNames`"),
        (rejected::<Coded>(), "is an enum whose values are not strings"),
    ];
    for (error, why) in cases {
        assert!(error.contains(&format!("its field `it` {why}")), "{error}");
        assert!(
            error.ends_with(
                "a form can ask for strings, numbers, booleans, enums without data, and lists of such enums"
            )
        );
    }
}

#[derive(Deserialize, JsonSchema)]
struct Measure {
    width: u8,
}

#[derive(Deserialize, JsonSchema)]
struct Flattened {
    id: u8,
    #[serde(flatten)]
    rest: Tagged,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    A { x: u8 },
    B { y: u8 },
}

#[test]
fn unsupported_form_types_are_named() {
    assert_eq!(
        rejected::<u8>(),
        "`uint8` cannot be asked for: a form is a struct with named fields, and it is not an object; put it into a field of a struct"
    );
    for (error, why) in [
        (rejected::<Size>(), "is an enum"),
        (rejected::<Tagged>(), "is an enum"),
        (rejected::<Untagged>(), "is an enum"),
        (rejected::<Flattened>(), "is a choice of several"),
        (rejected::<BTreeMap<String, u8>>(), "is a map"),
        (rejected::<()>(), "is not an object"),
        (rejected::<(u8, u8)>(), "is not an object"),
        (rejected::<Value>(), "is not an object"),
        (rejected::<Option<Measure>>(), "is not an object"),
    ] {
        assert!(error.contains(&format!("it {why}")), "{error}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Outer {
    #[serde(flatten)]
    inner: Measure,
    sure: bool,
}

#[test]
fn empty_and_flattened_forms_are_supported() {
    let nothing = form::<Nothing>();
    assert_eq!(nothing.schema(Revision::V2025_11_25).unwrap(), json!({"type": "object", "properties": {}}));
    assert_eq!(nothing.check(&json!({})), Ok(()));
    assert_eq!(form::<Outer>().schema(Revision::V2025_11_25).unwrap()["required"], json!(["width", "sure"]));
}
