//! Tests of keywords that types rarely generate, and of what an error says.

use serde_json::{Value, json};

use super::{Depth, Validator};
use crate::schema::instance::Instance;

fn texts(schema: &Value, value: &Value) -> Vec<String> {
    let validator = Validator::new(schema).unwrap();
    let problems = validator.problems(Validator::ROOT, &Instance::of(value));
    let accepted = validator.accepts(Validator::ROOT, &Instance::of(value), Depth::All);
    assert_eq!(problems.is_empty(), accepted, "{schema} {value}");
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn keywords_are_checked() {
    for (schema, good, bad) in [
        (json!({"const": 1}), json!(1.0), json!(2)),
        (json!({"enum": [{"a": 1}]}), json!({"a": 1}), json!({"a": 2})),
        (json!({"prefixItems": [{"type": "string"}], "items": false}), json!(["a"]), json!(["a", 1])),
        (json!({"contains": {"const": 1}, "maxContains": 1}), json!([0, 1]), json!([1, 1])),
        (json!({"patternProperties": {"^x": {"type": "integer"}}}), json!({"x": 1, "y": ""}), json!({"x": ""})),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"a": 1}), json!({"ab": 1})),
        (json!({"minProperties": 1, "maxProperties": 2}), json!({"a": 1}), json!({})),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1, "b": 1}), json!({"a": 1})),
        (json!({"dependentSchemas": {"a": {"required": ["b"]}}}), json!({"b": 1}), json!({"a": 1})),
        (json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), json!(2), json!(3)),
        (json!({"anyOf": [{"type": "string"}, {"minimum": 5}]}), json!(5), json!(4)),
        (json!({"oneOf": [{"minimum": 1}, {"minimum": 5}]}), json!(2), json!(6)),
        (json!({"not": {"type": "string"}}), json!(1), json!("")),
        (json!({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}}), json!("a"), json!(0)),
        (json!({"$ref": "#/$defs/a%25b", "$defs": {"a%b": {"type": "null"}}}), json!(null), json!(1)),
        (json!({"$defs": {"a": {"$anchor": "x", "type": "null"}}, "$ref": "#x"}), json!(null), json!(1)),
        (
            json!({"properties": {"self": {"$ref": "#"}}, "additionalProperties": false}),
            json!({"self": {}}),
            json!({"a": 1}),
        ),
        (
            json!({"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}),
            json!({"a": 1}),
            json!({"b": 1}),
        ),
        (
            json!({"allOf": [{"unevaluatedProperties": true}], "unevaluatedProperties": false, "type": "object"}),
            json!({"a": 1}),
            json!(1),
        ),
        (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35)),
        (
            json!({"uniqueItems": true}),
            json!([1, "1", {"a": 1, "b": 2}]),
            json!([{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]),
        ),
        (json!(false), json!(null), json!(null)),
    ] {
        if schema != false {
            assert_eq!(texts(&schema, &good), [] as [&str; 0], "{schema} {good}");
        }
        assert!(!texts(&schema, &bad).is_empty(), "{schema} {bad}");
    }
}

#[test]
fn keywords_that_cannot_be_checked_are_rejected() {
    for (schema, problem) in [
        (json!({"properties": {"a": {"pattern": "(?=x)"}}}), "`a`: the pattern `(?=x)` cannot be used: look-around"),
        (json!({"pattern": "\\p{L}"}), "Unicode classes are not supported"),
        (json!({"pattern": "("}), "cannot be used"),
        (json!({"$ref": "#/$defs/none"}), "leads to `#/$defs/none`, which is not in the schema"),
        (json!({"$dynamicRef": "#x"}), "`$dynamicRef` cannot be checked"),
        (json!({"type": "float"}), "`float` is not a type of JSON Schema"),
        (json!({"minimum": "1"}), "`minimum` must be a number"),
        (json!({"minLength": -1}), "`minLength` must be a whole number of at least 0"),
    ] {
        let problems = Validator::new(&schema).unwrap_err();
        assert!(problems.iter().any(|text| text.contains(problem)), "{problems:?}");
    }
}

#[test]
fn nested_alternatives_end_in_reasonable_time() {
    let branch =
        |name: &str| json!({"type": "object", "properties": {"a": {"$ref": "#"}, name: true}, "required": ["a"]});
    let schema = json!({"oneOf": [branch("x"), branch("y"), {"const": 1}]});
    let mut value = json!(2);
    for _ in 0..100 {
        value = json!({"a": value});
    }
    let started = std::time::Instant::now();
    assert!(!texts(&schema, &value).is_empty());
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "took {:?}", started.elapsed());
}

#[test]
fn long_text_is_not_searched_for_a_pattern() {
    let problem = texts(&json!({"pattern": "^a+$"}), &json!("a".repeat(70_000))).concat();
    assert!(problem.contains("too long to be compared with it"), "{problem}");
}

#[test]
fn many_problems_are_not_all_told() {
    let list: Vec<Value> = (0..1000).map(|_| json!("x")).collect();
    assert_eq!(texts(&json!({"items": {"type": "integer"}}), &json!(list)).len(), 10);
    let strangers: serde_json::Map<String, Value> = (0..100_000).map(|n| (format!("name{n}"), json!(1))).collect();
    let required: Vec<String> = (0..50).map(|n| format!("nane{n}")).collect();
    let started = std::time::Instant::now();
    let schema = json!({"properties": {"name": true}, "required": required, "additionalProperties": false});
    assert_eq!(texts(&schema, &strangers.clone().into()).len(), 10);
    assert_eq!(texts(&json!({"required": required}), &strangers.into()).len(), 10);
    assert!(started.elapsed() < std::time::Duration::from_secs(30), "took {:?}", started.elapsed());
}

#[test]
fn tagged_alternatives_are_told_apart_in_any_order() {
    let node = |op: &str| json!({"type": "object", "properties": {"args": {"items": {"$ref": "#"}}, "op": {"const": op}}, "required": ["op"]});
    let schema = json!({"oneOf": [node("and"), node("or"), node("not"), {"type": "integer", "maximum": 5}]});
    let mut value = json!(1);
    for _ in 0..12 {
        value = json!({"args": [value, 2], "op": "or"});
    }
    assert_eq!(texts(&schema, &value), [] as [&str; 0]);
}
