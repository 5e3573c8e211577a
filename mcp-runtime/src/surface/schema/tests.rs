//! Each rule of the comparison, with a change in both directions.

use serde_json::{Value, json};

use super::{Side, compare};
use crate::surface::difference::{Class, Place};

/// The differences as `class place: change`.
fn differences(side: Side, old: &Value, new: &Value) -> Vec<String> {
    let found = compare(side, &Place::new("tool t"), old, new);
    found.iter().map(|difference| format!("{:?} {difference}", difference.class)).collect()
}

/// The schema of a tool with one argument or field `x`.
fn with(schema: &Value) -> Value {
    json!({"type": "object", "properties": {"x": schema}, "required": ["x"]})
}

/// Arguments: from `wide` to `narrow` is breaking, back is additive. Results: the other way round. Each is told with one
/// difference at `place`.
#[track_caller]
fn narrows(wide: &Value, narrow: &Value, place: &str) {
    for (side, noun) in [(Side::Input, "argument"), (Side::Output, "result › field")] {
        for (old, new, becomes_narrower) in [(wide, narrow, true), (narrow, wide, false)] {
            let found = differences(side, &with(old), &with(new));
            let class = if becomes_narrower == (side == Side::Input) { Class::Breaking } else { Class::Additive };
            let expected = format!("{class:?} tool t › {noun} x › {place}: ");
            assert!(found.len() == 1 && found[0].starts_with(&expected), "{old} → {new}: {found:?}");
        }
    }
    for side in [Side::Input, Side::Output] {
        assert_eq!(differences(side, &with(wide), &with(wide)), [""; 0]);
    }
}

#[track_caller]
fn same(one: &Value, other: &Value) {
    for side in [Side::Input, Side::Output] {
        assert_eq!(differences(side, &with(one), &with(other)), [""; 0], "{one} → {other}");
        assert_eq!(differences(side, &with(other), &with(one)), [""; 0], "{other} → {one}");
    }
}

#[track_caller]
fn incomparable(one: &Value, other: &Value) {
    for side in [Side::Input, Side::Output] {
        for (old, new) in [(one, other), (other, one)] {
            let found = differences(side, &with(old), &with(new));
            let honest = |text: &String| text.starts_with("Breaking") && text.contains("cannot be compared");
            assert!(found.iter().any(honest), "{old} → {new}: {found:?}");
        }
    }
}

#[test]
fn change_names_its_place_and_both_values() {
    let limit = |most: u32| json!({"type": "object", "properties": {"limit": {"type": "integer", "maximum": most}}});
    assert_eq!(
        differences(Side::Input, &limit(100), &limit(50)),
        ["Breaking tool t › argument limit › maximum: 100 → 50"]
    );
    assert_eq!(
        differences(Side::Output, &limit(100), &limit(150)),
        ["Breaking tool t › result › field limit › maximum: 100 → 150"]
    );
}

#[test]
fn fewer_types_are_narrower() {
    narrows(&json!({"type": ["string", "null"]}), &json!({"type": "string"}), "type");
    narrows(&json!({"type": "number"}), &json!({"type": "integer"}), "type");
    narrows(&json!({}), &json!({"type": "object"}), "type");
    narrows(&json!(true), &json!(false), "type");
    narrows(&json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), &json!({"type": "string"}), "type");
}

#[test]
fn other_type_is_breaking_for_both_sides() {
    for side in [Side::Input, Side::Output] {
        let found = differences(side, &with(&json!({"type": "string"})), &with(&json!({"type": "integer"})));
        assert!(found.len() == 1 && found[0].starts_with("Breaking") && found[0].ends_with("string → integer"));
    }
}

#[test]
fn fewer_values_are_narrower() {
    let values = |list: Value| json!({"type": "string", "enum": list});
    narrows(&values(json!(["a", "b"])), &values(json!(["a"])), "values");
    narrows(&json!({"type": "string"}), &values(json!(["a"])), "values");
    narrows(&json!({"enum": ["a", "b"]}), &json!({"const": "b"}), "values");
    let titled = json!({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]});
    narrows(&titled, &values(json!(["b"])), "values");
}

#[test]
fn other_order_of_values_is_cosmetic() {
    let (one, other) = (json!({"enum": ["a", "b"]}), json!({"enum": ["b", "a"]}));
    let found = differences(Side::Input, &with(&one), &with(&other));
    assert_eq!(found, ["Cosmetic tool t › argument x › values: listed in another order"]);
}

#[test]
fn tighter_bounds_are_narrower() {
    let number = |keyword: &str, value: Value| json!({"type": "number", keyword: value});
    narrows(&number("minimum", json!(1)), &number("minimum", json!(1.5)), "minimum");
    narrows(&number("maximum", json!(9)), &number("maximum", json!(8)), "maximum");
    narrows(&json!({"type": "number"}), &number("maximum", json!(8)), "maximum");
    narrows(&number("minimum", json!(1)), &number("exclusiveMinimum", json!(1)), "minimum");
    narrows(&json!({"type": "number"}), &number("exclusiveMaximum", json!(1)), "maximum");
    narrows(&number("multipleOf", json!(2)), &number("multipleOf", json!(6)), "multipleOf");
    for what in ["Length", "Items", "Properties"] {
        let (least, most) = (format!("min{what}"), format!("max{what}"));
        narrows(&json!({&*least: 1}), &json!({&*least: 2}), &least);
        narrows(&json!({&*most: 2}), &json!({&*most: 1}), &most);
        narrows(&json!({}), &json!({&*least: 1}), &least);
        same(&json!({}), &json!({&*least: 0}));
    }
    let large = |value: u64| json!({"type": "integer", "maximum": value});
    narrows(&large(u64::MAX), &large(u64::MAX - 1), "maximum");
}

#[test]
fn bounds_of_integers_are_compared_by_what_they_allow() {
    same(&json!({"type": "integer", "exclusiveMinimum": 0}), &json!({"type": "integer", "minimum": 1}));
    same(&json!({"type": "integer", "exclusiveMaximum": 10}), &json!({"type": "integer", "maximum": 9}));
    same(&json!({"type": "number", "minimum": 1}), &json!({"type": "number", "minimum": 1.0}));
    incomparable(&json!({"multipleOf": 4}), &json!({"multipleOf": 6}));
}

#[test]
fn patterns_and_formats_restrict() {
    for keyword in ["pattern", "format", "contentEncoding"] {
        let restricted = |value: &str| json!({"type": "string", keyword: value});
        narrows(&json!({"type": "string"}), &restricted("a"), keyword);
        incomparable(&restricted("a"), &restricted("b"));
    }
}

#[test]
fn arrays_are_compared_by_their_items() {
    let list = |items: Value| json!({"type": "array", "items": items});
    narrows(&list(json!({"type": "number"})), &list(json!({"type": "integer"})), "items › type");
    narrows(&json!({"type": "array"}), &list(json!({"type": "integer"})), "items › type");
    narrows(&json!({"type": "array"}), &json!({"type": "array", "uniqueItems": true}), "uniqueItems");
    let pair = |second: Value| json!({"type": "array", "prefixItems": [{"type": "string"}, second], "items": false});
    narrows(&pair(json!({"type": "number"})), &pair(json!({"type": "integer"})), "item 1 › type");
    incomparable(&pair(json!({})), &json!({"type": "array", "prefixItems": [{}], "items": false}));
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn arguments_come_and_go() {
    let none = object(&json!({}), &[]);
    let optional = object(&json!({"x": {"type": "string"}}), &[]);
    let required = object(&json!({"x": {"type": "string"}}), &["x"]);
    for (old, new, expected) in [
        (&none, &optional, "Additive tool t › argument x: new, and optional"),
        (&none, &required, "Breaking tool t › argument x: new, and required"),
        (&optional, &none, "Breaking tool t › argument x: removed"),
        (&optional, &required, "Breaking tool t › argument x: was optional, is required"),
        (&required, &optional, "Additive tool t › argument x: was required, is optional"),
    ] {
        assert_eq!(differences(Side::Input, old, new), [expected]);
    }
}

#[test]
fn fields_of_results_come_and_go() {
    let none = object(&json!({}), &[]);
    let optional = object(&json!({"x": {"type": "string"}}), &[]);
    let required = object(&json!({"x": {"type": "string"}}), &["x"]);
    for (old, new, expected) in [
        (&none, &optional, "Additive tool t › result › field x: new"),
        (&none, &required, "Additive tool t › result › field x: new"),
        (&required, &none, "Breaking tool t › result › field x: removed"),
        (&required, &optional, "Breaking tool t › result › field x: was always present, is optional"),
        (&optional, &required, "Additive tool t › result › field x: was optional, is always present"),
    ] {
        assert_eq!(differences(Side::Output, old, new), [expected]);
    }
    let mut closed = none;
    closed["additionalProperties"] = json!(false);
    let mut more = optional;
    more["additionalProperties"] = json!(false);
    let found = differences(Side::Output, &closed, &more);
    assert_eq!(found, ["Breaking tool t › result › field x: new, where the contract forbids further fields"]);
}

#[test]
fn other_properties_are_compared() {
    let open = json!({"type": "object"});
    narrows(&open, &json!({"type": "object", "additionalProperties": false}), "other fields");
    let map = |kind: &str| json!({"type": "object", "additionalProperties": {"type": kind}});
    narrows(&map("number"), &map("integer"), "other fields › type");
    let strict = json!({"type": "object", "additionalProperties": false});
    assert_eq!(
        differences(Side::Input, &open, &strict),
        ["Breaking tool t › arguments › other arguments: allowed → forbidden"]
    );
}

#[test]
fn default_is_the_meaning_of_an_omitted_argument() {
    let with_default = |default: Value| object(&json!({"x": {"type": "integer", "default": default}}), &[]);
    let without = object(&json!({"x": {"type": "integer"}}), &[]);
    for (old, new, change) in [
        (&with_default(json!(1)), &with_default(json!(2)), "1 → 2"),
        (&with_default(json!(1)), &without, "1 → none"),
        (&without, &with_default(json!(1)), "none → 1"),
    ] {
        let expected = [format!("Breaking tool t › argument x › default: {change}")];
        assert_eq!(differences(Side::Input, old, new), expected);
        assert!(differences(Side::Output, old, new)[0].starts_with("Cosmetic"));
    }
    assert_eq!(differences(Side::Input, &without, &with_default(Value::Null)), [""; 0]);
    let required = object(&json!({"x": {"type": "integer"}}), &["x"]);
    assert_eq!(
        differences(Side::Input, &required, &with_default(json!(1))),
        ["Additive tool t › argument x: was required, is optional"]
    );
}

#[test]
fn descriptions_and_order_are_cosmetic() {
    let described = |text: &str| json!({"type": "string", "description": text, "title": text, "x-order": text});
    for side in [Side::Input, Side::Output] {
        let found = differences(side, &with(&described("a")), &with(&described("b")));
        assert!(found.len() == 3 && found.iter().all(|text| text.starts_with("Cosmetic")), "{found:?}");
    }
    let one = json!({"type": "object", "properties": {"a": {}, "b": {}}});
    let other = json!({"type": "object", "properties": {"b": {}, "a": {}}});
    let found = differences(Side::Input, &one, &other);
    assert_eq!(found, [r#"Cosmetic tool t › arguments › order: ["a","b"] → ["b","a"]"#]);
}

#[test]
fn new_header_is_breaking_for_http_clients() {
    let plain = json!({"type": "string"});
    let header = json!({"type": "string", "x-mcp-header": "Region"});
    let found = |old, new| differences(Side::Input, &with(old), &with(new));
    assert!(found(&plain, &header)[0].starts_with("Breaking tool t › argument x › x-mcp-header"));
    assert!(found(&header, &plain)[0].starts_with("Additive tool t › argument x › x-mcp-header"));
}

#[test]
fn references_are_followed() {
    let shared = |most: u32| {
        json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/N"}, "b": {"$ref": "#/$defs/N", "description": "b"}},
            "$defs": {"N": {"type": "integer", "maximum": most}},
        })
    };
    assert_eq!(
        differences(Side::Input, &shared(9), &shared(8)),
        ["Breaking tool t › argument a › maximum: 9 → 8", "Breaking tool t › argument b › maximum: 9 → 8"]
    );
    let inline = json!({"type": "object", "properties": {
        "a": {"type": "integer", "maximum": 9}, "b": {"type": "integer", "maximum": 9, "description": "b"},
    }});
    assert_eq!(differences(Side::Input, &shared(9), &inline), [""; 0], "sharing a type changes nothing");
    let mut nullable = shared(9);
    nullable["properties"]["a"] = json!({"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]});
    assert_eq!(
        differences(Side::Input, &shared(9), &nullable),
        ["Additive tool t › argument a › type: integer → integer or null"]
    );
    incomparable(&json!({"$ref": "https://a.example"}), &json!({"$ref": "https://b.example"}));
}

#[test]
fn recursive_types_are_compared_once() {
    let tree = |name: Value, root: &str| {
        json!({
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/Tree"}},
            "$defs": {"Tree": {"type": "object", "properties": {
                "name": name, "children": {"type": "array", "items": {"$ref": format!("#/$defs/{root}")}},
            }}},
        })
    };
    let (old, new) = (tree(json!({"type": "string"}), "Tree"), tree(json!({"type": "integer"}), "Tree"));
    assert_eq!(differences(Side::Input, &old, &old), [""; 0]);
    let found = differences(Side::Input, &old, &new);
    assert_eq!(found, ["Breaking tool t › argument tree › field name › type: string → integer"]);
}

/// An enum with data, as serde represents it: internally or externally tagged.
fn shapes(circle: &Value, more: &[Value]) -> Value {
    let mut variants = vec![
        json!({"type": "object", "properties": {"kind": {"const": "circle"}, "radius": circle}, "required": ["kind"]}),
        json!({"type": "object", "properties": {"kind": {"const": "point"}}, "required": ["kind"]}),
    ];
    variants.extend_from_slice(more);
    json!({"oneOf": variants})
}

#[test]
fn variants_are_paired_by_their_tag() {
    let (number, integer) = (json!({"type": "number"}), json!({"type": "integer"}));
    narrows(&shapes(&number, &[]), &shapes(&integer, &[]), "variant kind=circle › field radius › type");
    let square = json!({"type": "object", "properties": {"kind": {"const": "square"}}, "required": ["kind"]});
    narrows(&shapes(&number, &[square]), &shapes(&number, &[]), "variant kind=square");
    let only = |name: &str| json!({"type": "object", "properties": {name: {}}, "required": [name], "additionalProperties": false});
    narrows(
        &json!({"oneOf": [only("a"), only("b"), only("c")]}),
        &json!({"oneOf": [only("c"), only("a")]}),
        "variant b",
    );
}

#[test]
fn one_kind_may_become_several() {
    let one = json!({"type": "string", "maxLength": 5});
    let several = json!({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 6}]});
    let found = differences(Side::Input, &with(&one), &with(&several));
    assert_eq!(found, ["Additive tool t › argument x › type: string → string or integer"]);
    let found = differences(Side::Output, &with(&several), &with(&one));
    assert_eq!(found, ["Additive tool t › result › field x › type: string or integer → string"]);
    let overlapping = json!({"anyOf": [{"type": "string", "maxLength": 9}, {"type": "string", "maxLength": 5}]});
    let found = differences(Side::Input, &with(&one), &with(&overlapping));
    assert_eq!(found, ["Additive tool t › argument x: one schema → 2 variants"]);
    let found = differences(Side::Output, &with(&one), &with(&overlapping));
    assert!(found.iter().any(|text| text.starts_with("Breaking")), "{found:?}");
    let tighter = json!({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 4}]});
    let found = differences(Side::Input, &with(&one), &with(&tighter));
    assert!(found.iter().any(|text| text.starts_with("Breaking")), "{found:?}");
}

#[test]
fn what_is_not_understood_is_breaking() {
    incomparable(&json!({}), &json!({"not": {"type": "string"}}));
    incomparable(&json!({"if": {"required": ["a"]}}), &json!({"if": {"required": ["b"]}}));
    incomparable(&json!({"patternProperties": {"^a": {}}}), &json!({}));
    incomparable(&json!({"someday": 1}), &json!({"someday": 2}));
    let overlapping =
        |most: u32| json!({"oneOf": [{"type": "integer", "maximum": most}, {"type": "integer", "minimum": 5}]});
    incomparable(&overlapping(6), &overlapping(7));
    same(&json!({"$schema": super::DIALECT}), &json!({}));
}

#[test]
fn references_inside_opaque_keywords_are_followed() {
    let schema = |kind: &str| json!({"type": "object", "not": {"$ref": "#/$defs/N"}, "$defs": {"N": {"type": kind, "items": {"$ref": "#/$defs/N"}}}});
    assert_eq!(differences(Side::Input, &schema("array"), &schema("array")), [""; 0]);
    assert!(differences(Side::Input, &schema("array"), &schema("object"))[0].contains("cannot be compared"));
}
