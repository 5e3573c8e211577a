//! Properties of the comparison, over generated schemas: no difference between equals, every narrowing is breaking.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Side, compare};
use crate::surface::difference::{Class, Difference, Place};

fn differences(side: Side, old: &Value, new: &Value) -> Vec<Difference> {
    compare(side, &Place::new("tool t"), old, new)
}

fn breaks(side: Side, old: &Value, new: &Value) -> bool {
    differences(side, old, new).iter().any(|difference| difference.class == Class::Breaking)
}

/// A schema, and one that allows strictly less.
fn narrowed() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        (-9_i64..9, 1_i64..9).prop_map(|(least, step)| (
            json!({"type": "integer", "minimum": least}),
            json!({"type": "integer", "minimum": least + step})
        )),
        (-9_i64..9, 1_i64..9).prop_map(|(most, step)| (
            json!({"type": "number", "maximum": most}),
            json!({"type": "number", "exclusiveMaximum": most - step})
        )),
        (0_u64..9, 1_u64..9).prop_map(|(least, step)| (
            json!({"type": "string", "minLength": least}),
            json!({"type": "string", "minLength": least + step})
        )),
        (1_u64..9).prop_map(|most| (
            json!({"type": "array", "maxItems": most}),
            json!({"type": "array", "maxItems": most - 1})
        )),
        "[a-z]{1,5}".prop_map(|pattern| (json!({"type": "string"}), json!({"type": "string", "pattern": pattern}))),
        Just((json!({"type": ["string", "null"]}), json!({"type": "string"}))),
        Just((json!({"type": "number"}), json!({"type": "integer"}))),
        Just((json!({}), json!({"type": "boolean"}))),
        Just((json!({"type": "array"}), json!({"type": "array", "uniqueItems": true}))),
        Just((json!({"type": "object"}), json!({"type": "object", "additionalProperties": false}))),
        Just((
            json!({"type": "object", "properties": {"p": {}}}),
            json!({"type": "object", "properties": {"p": {}}, "required": ["p"]})
        )),
        Just((json!({"enum": ["a", "b"]}), json!({"enum": ["b"]}))),
        Just((json!({"oneOf": [{"const": 1}, {"const": 2}]}), json!({"const": 1}))),
        Just((json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), json!({"type": "integer"}))),
        Just((
            json!({"type": "string", "maxLength": 3}),
            json!({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "string", "maxLength": 2}]})
        )),
        Just((json!({"type": "string"}), json!({"not": {"const": "x"}, "type": "string"}))),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        let pair = |wrap: fn(Value) -> Value| inner.clone().prop_map(move |(wide, narrow)| (wrap(wide), wrap(narrow)));
        prop_oneof![
            pair(|schema| json!({"type": "array", "items": schema})),
            pair(|schema| json!({"type": "object", "additionalProperties": schema})),
            pair(|schema| json!({"type": "object", "properties": {"p": schema, "q": {}}})),
            pair(|schema| json!({"type": "array", "prefixItems": [{}, schema]})),
            pair(|schema| json!({"anyOf": [{"title": "one", "allOf": [schema]}, {"title": "two", "type": "string"}]})),
            pair(|schema| json!({"allOf": [schema]})),
            pair(|schema| json!({"allOf": [{"description": "twice"}, schema]})),
        ]
    })
}

/// Any schema, sensible or not.
fn schema() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        Just(json!(true)),
        Just(json!(3)),
        Just(json!("string")),
        Just(json!(["object", "null"])),
        Just(json!({"$ref": "#/$defs/D"})),
        Just(json!({"$ref": "#"})),
        narrowed().prop_map(|(wide, _)| wide),
    ];
    let keyword = prop_oneof![
        Just("type"),
        Just("enum"),
        Just("const"),
        Just("anyOf"),
        Just("oneOf"),
        Just("allOf"),
        Just("items"),
        Just("properties"),
        Just("required"),
        Just("additionalProperties"),
        Just("minimum"),
        Just("maxLength"),
        Just("pattern"),
        Just("default"),
        Just("not"),
        Just("$ref"),
        Just("nullable"),
        Just("prefixItems"),
    ];
    let node = value.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            btree_map(keyword.clone().prop_map(str::to_owned), inner.clone(), 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
            vec(inner, 0..4).prop_map(Value::Array),
        ]
    });
    (node.clone(), node).prop_map(|(root, definition)| match root {
        Value::Object(mut map) => {
            map.insert("$defs".to_owned(), json!({"D": definition}));
            map.into()
        }
        other => json!({"type": "object", "properties": {"p": other}, "$defs": {"D": definition}}),
    })
}

/// An argument of a tool, directly or through a definition.
fn argument(schema: &Value, shared: bool) -> Value {
    if shared {
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}, "required": ["x"], "$defs": {"X": schema}})
    } else {
        json!({"type": "object", "properties": {"x": schema}, "required": ["x"]})
    }
}

proptest! {
    #[test]
    fn identical_schemas_have_no_difference(schema in schema()) {
        for side in [Side::Input, Side::Output] {
            prop_assert_eq!(differences(side, &schema, &schema), []);
        }
    }

    #[test]
    fn any_two_schemas_can_be_compared(one in schema(), other in schema()) {
        let found = differences(Side::Input, &one, &other);
        // Not more than the schemas have to say: a comparison of recursive schemas ends.
        prop_assert!(found.len() < 10_000);
    }

    #[test]
    fn every_narrowing_of_an_input_is_breaking((wide, narrow) in narrowed(), before in any::<bool>(), after in any::<bool>()) {
        let (wide, narrow) = (argument(&wide, before), argument(&narrow, after));
        prop_assert!(breaks(Side::Input, &wide, &narrow), "{} → {}", wide, narrow);
    }

    #[test]
    fn every_widening_of_an_output_is_breaking((wide, narrow) in narrowed(), before in any::<bool>(), after in any::<bool>()) {
        let (wide, narrow) = (argument(&wide, before), argument(&narrow, after));
        prop_assert!(breaks(Side::Output, &narrow, &wide), "{} → {}", narrow, wide);
    }

    #[test]
    fn every_narrowing_is_noticed_in_both_directions((wide, narrow) in narrowed()) {
        for (old, new) in [(&wide, &narrow), (&narrow, &wide)] {
            let classes = |side| differences(side, &argument(old, false), &argument(new, false))
                .iter().filter(|difference| difference.class != Class::Cosmetic).count();
            prop_assert!(classes(Side::Input) > 0 && classes(Side::Output) > 0, "{} → {}", old, new);
        }
    }

    #[test]
    fn sharing_a_type_changes_nothing((wide, _) in narrowed()) {
        prop_assert_eq!(differences(Side::Input, &argument(&wide, false), &argument(&wide, true)), []);
    }
}
