//! Arguments on a command line: `key=value` pairs into JSON, by the schema of what they are for.

use std::io::Read as _;

use serde_json::{Map, Value};

use super::error::CliError;
use super::show::schema::{resolve, types, variants};

/// The arguments: the JSON object, if there is one, and the pairs, read as `schema` says.
pub(super) fn arguments(schema: &Value, json: Option<&str>, pairs: &[String]) -> Result<Map<String, Value>, CliError> {
    let mut arguments = match json {
        None => Map::new(),
        Some(text) => object(text)?,
    };
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(CliError::usage(format!(
                "`{pair}`: write `key=value`; `key=@FILE` takes the value from a file"
            )));
        };
        let raw = key.strip_suffix(':');
        let key = raw.unwrap_or(key);
        let (path, at) = locate(schema, key);
        let text = content(text)?;
        let value = if raw.is_some() { json_value(key, &text)? } else { read(schema, at, key, &text)? };
        let appends = at.is_some_and(|at| types(schema, at).contains(&"array"));
        insert(&mut arguments, &path, value, appends, key)?;
    }
    Ok(arguments)
}

fn object(text: &str) -> Result<Map<String, Value>, CliError> {
    let text = content(text)?;
    let read = serde_json::from_str(&text);
    read.map_err(|error| CliError::usage(format!("`--json` takes a JSON object such as '{{\"a\": 1}}': {error}")))
}

/// The way to a key, and its schema: `a.b` is the property `b` of `a`, unless there is a property `a.b`.
fn locate<'s, 'k>(schema: &'s Value, key: &'k str) -> (Vec<&'k str>, Option<&'s Value>) {
    let root = resolve(schema, schema);
    if let Some(whole) = property(schema, root, key) {
        return (vec![key], Some(whole));
    }
    let path: Vec<&str> = key.split('.').collect();
    let at = path.iter().try_fold(root, |at, name| property(schema, at, name));
    (path, at)
}

/// The schema of a property, also of one of several variants.
fn property<'s>(root: &'s Value, schema: &'s Value, name: &str) -> Option<&'s Value> {
    let schema = resolve(root, schema);
    let own = schema["properties"].get(name);
    let of_variant = || variants(root, schema).into_iter().find_map(|variant| variant["properties"].get(name));
    own.or_else(of_variant).map(|property| resolve(root, property))
}

/// The text as the schema wants it.
fn read(root: &Value, schema: Option<&Value>, key: &str, text: &str) -> Result<Value, CliError> {
    let Some(schema) = schema else { return Ok(guess(text)) };
    let allowed = types(root, schema);
    let wrong = |expected: &str| CliError::usage(format!("`{key}`: expected {expected}, not `{text}`"));
    if allowed.is_empty() {
        return Ok(guess(text));
    }
    if allowed.contains(&"array") {
        let items = schema.get("items").map(|items| resolve(root, items));
        return match (serde_json::from_str(text), items) {
            (Ok(list @ Value::Array(_)), _) => Ok(list),
            // One item; a list of lists has to be written as JSON.
            (_, Some(items)) if types(root, items).contains(&"array") => Err(wrong("a JSON array")),
            (_, items) => read(root, items, key, text).map(|item| vec![item].into()),
        };
    }
    let scalar = allowed.iter().find_map(|name| match *name {
        "integer" => serde_json::from_str::<Value>(text.trim()).ok().filter(|value| value.is_i64() || value.is_u64()),
        "number" => serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_number),
        "boolean" => boolean(text.trim()),
        "object" => serde_json::from_str::<Value>(text).ok().filter(Value::is_object),
        // A text may well be the word "null".
        "null" if !allowed.contains(&"string") => (text == "null").then_some(Value::Null),
        _ => None,
    });
    match (scalar, &allowed[..]) {
        (Some(value), _) => Ok(value),
        (None, types) if types.contains(&"string") => Ok(text.into()),
        (None, types) if types.contains(&"object") => {
            Err(wrong(&format!("a JSON object, or `{key}.name=value` pairs")))
        }
        (None, types) if types.contains(&"boolean") => Err(wrong("true or false")),
        (None, types) if types.contains(&"integer") => Err(wrong("an integer")),
        _ => Err(wrong("a number")),
    }
}

fn boolean(text: &str) -> Option<Value> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true.into()),
        "false" | "no" | "off" | "0" => Some(false.into()),
        _ => None,
    }
}

/// Without a schema: JSON if it is JSON, otherwise a text.
fn guess(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn json_value(key: &str, text: &str) -> Result<Value, CliError> {
    serde_json::from_str(text).map_err(|error| CliError::usage(format!("`{key}:=` takes JSON: {error}")))
}

/// The text itself, or that of a file: `@notes.txt`, `@-` for standard input, `@@` for a leading `@`.
fn content(text: &str) -> Result<String, CliError> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    if path.starts_with('@') {
        return Ok(path.to_owned());
    }
    let read = if path == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    read.map_err(|error| {
        CliError::usage(format!("cannot read `{path}`: {error}; write `@@…` for a text with a leading `@`"))
    })
}

fn insert(
    into: &mut Map<String, Value>,
    path: &[&str],
    value: Value,
    appends: bool,
    key: &str,
) -> Result<(), CliError> {
    let Some((last, parents)) = path.split_last() else { return Ok(()) };
    let mut object = into;
    for name in parents {
        let inner = object.entry(*name).or_insert_with(|| Map::new().into());
        let Some(inner) = inner.as_object_mut() else {
            return Err(CliError::usage(format!("`{key}`: `{name}` has a value already")));
        };
        object = inner;
    }
    match (object.get_mut(*last), value) {
        (Some(Value::Array(items)), Value::Array(more)) if appends => items.extend(more),
        (Some(_), _) => return Err(CliError::usage(format!("`{key}` is given twice"))),
        (None, value) => {
            object.insert((*last).to_owned(), value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "x": {"type": ["number", "null"]},
                "on": {"type": "boolean"},
                "name": {"type": "string"},
                "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "sizes": {"type": "array", "items": {"type": "integer"}},
                "place": {"$ref": "#/$defs/Place"},
                "dotted.name": {"type": "integer"},
                "either": {"type": ["integer", "string"]},
            },
            "$defs": {"Place": {"type": "object", "properties": {"lat": {"type": "number"}, "city": {"type": "string"}}}},
        })
    }

    fn read_pairs(pairs: &[&str]) -> Result<Value, CliError> {
        let pairs: Vec<String> = pairs.iter().map(|&pair| pair.to_owned()).collect();
        arguments(&schema(), None, &pairs).map(Value::Object)
    }

    #[test]
    fn values_are_read_by_the_schema() {
        for (pairs, expected) in [
            (&["a=2", "x=-0.5", "on=yes"][..], json!({"a": 2, "x": -0.5, "on": true})),
            (&["name=2", "maybe=null"], json!({"name": "2", "maybe": "null"})),
            (&["x=null"], json!({"x": null})),
            (&["tags=x", "tags=y"], json!({"tags": ["x", "y"]})),
            (&["sizes=[1, 2]", "sizes=3"], json!({"sizes": [1, 2, 3]})),
            (&["place.lat=1", "place.city=7"], json!({"place": {"lat": 1, "city": "7"}})),
            (&[r#"place={"lat":2}"#], json!({"place": {"lat": 2}})),
            (&["dotted.name=1"], json!({"dotted.name": 1})),
            (&["either=5"], json!({"either": 5})),
            (&["either=five"], json!({"either": "five"})),
            (&["unknown=[1]", "other=text"], json!({"unknown": [1], "other": "text"})),
            (&["name:=5"], json!({"name": 5})),
            (&["name=a=b"], json!({"name": "a=b"})),
            (&["name=@@home"], json!({"name": "@home"})),
            (&["tags=@@home"], json!({"tags": ["@home"]})),
        ] {
            assert_eq!(read_pairs(pairs).unwrap(), expected, "{pairs:?}");
        }
    }

    #[test]
    fn values_that_cannot_be_right_are_usage_errors() {
        for (pairs, hint) in [
            (&["a=two"][..], "`a`: expected an integer, not `two`"),
            (&["a=2.5"], "expected an integer"),
            (&["on=perhaps"], "expected true or false"),
            (&["place=Rome"], "a JSON object, or `place.name=value` pairs"),
            (&["a=1", "a=2"], "`a` is given twice"),
            (&["place.lat=1", "place={}"], "`place` is given twice"),
            (&["a"], "write `key=value`"),
            (&["name=@/does/not/exist"], "cannot read `/does/not/exist`"),
            (&["name:=["], "`name:=` takes JSON"),
        ] {
            let error = read_pairs(pairs).unwrap_err();
            assert_eq!(error.code(), 2);
            assert!(error.to_string().contains(hint), "{pairs:?}: {error}");
        }
    }

    #[test]
    fn schemas_that_refer_to_themselves_are_no_trap() {
        let pairs = ["other=x".to_owned(), "tree=x".to_owned()];
        let schema = json!({
            "properties": {"tree": {"$ref": "#/$defs/Tree"}},
            "anyOf": [{"$ref": "#"}, {"$ref": "#"}],
            "$defs": {"Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
        });
        let error = arguments(&schema, None, &pairs).unwrap_err();
        assert!(error.to_string().contains("a JSON array"), "{error}");
        let many: Vec<Value> = (0..30).map(|_| json!({"$ref": "#"})).collect();
        assert!(types(&json!({"anyOf": many}), &json!({"$ref": "#"})).is_empty());
    }
}
