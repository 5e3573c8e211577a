//! Makes a generated schema as small as it can be: a type used once is inlined, one used more often is shared in
//! `$defs`, and number formats are dropped.

use serde_json::{Map, Value};

/// Inlines definitions that are used once, puts the others into `$defs`, and drops the number formats
/// (`int64`, `uint32`), which are in no JSON Schema vocabulary and which strict clients reject.
pub(super) fn tidy(root: Map<String, Value>, mut definitions: Map<String, Value>) -> Value {
    let mut root = Value::Object(root);
    loop {
        let single = definitions.keys().find(|name| {
            let uses = |schema: &Value| count(schema, name);
            uses(&definitions[*name]) == 0 && uses(&root) + definitions.values().map(uses).sum::<usize>() == 1
        });
        let Some(name) = single.cloned() else { break };
        let Some(target) = definitions.shift_remove(&name) else { break };
        inline(&mut root, &name, &target);
        definitions.values_mut().for_each(|schema| inline(schema, &name, &target));
    }
    if let (Value::Object(root), false) = (&mut root, definitions.is_empty()) {
        match root.get_mut("$defs") {
            // A hand-written schema may have its own.
            Some(Value::Object(written)) => written.extend(definitions),
            _ => {
                root.insert("$defs".into(), definitions.into());
            }
        }
    }
    drop_number_formats(&mut root);
    root
}

/// How often `schema` refers to the definition `name`.
fn count(schema: &Value, name: &str) -> usize {
    let here = usize::from(reference(schema) == Some(name));
    here + children(schema).map(|child| count(child, name)).sum::<usize>()
}

/// Replaces references to `name` by `target`.
fn inline(schema: &mut Value, name: &str, target: &Value) {
    if reference(schema) == Some(name) {
        let (Value::Object(map), Value::Object(target)) = (&mut *schema, target) else { return };
        map.shift_remove("$ref");
        *map = merged(target.clone(), std::mem::take(map));
        return;
    }
    children_mut(schema).for_each(|child| inline(child, name, target));
}

/// A schema with the keywords that stood beside a reference to it. They take precedence, but properties add up: those of
/// a variant stand beside the tag of its enum.
fn merged(mut target: Map<String, Value>, beside: Map<String, Value>) -> Map<String, Value> {
    for (keyword, value) in beside {
        match (target.get_mut(&keyword), value) {
            (Some(Value::Object(all)), Value::Object(more)) if keyword == "properties" => all.extend(more),
            (Some(Value::Array(all)), Value::Array(more)) if keyword == "required" => {
                let more: Vec<Value> = more.into_iter().filter(|name| !all.contains(name)).collect();
                all.extend(more);
            }
            (_, value) => {
                target.insert(keyword, value);
            }
        }
    }
    target
}

fn drop_number_formats(schema: &mut Value) {
    if let Value::Object(map) = schema {
        let numeric = matches!(map.get("format"), Some(Value::String(format))
            if format.starts_with("int") || format.starts_with("uint") || format == "float" || format == "double");
        if numeric && map.get("type").is_some_and(|name| name != "string") {
            map.shift_remove("format");
        }
    }
    children_mut(schema).for_each(drop_number_formats);
}

fn children(schema: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match schema {
        Value::Object(map) => Box::new(map.values()),
        Value::Array(list) => Box::new(list.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

fn children_mut(schema: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match schema {
        Value::Object(map) => Box::new(map.values_mut()),
        Value::Array(list) => Box::new(list.iter_mut()),
        _ => Box::new(std::iter::empty()),
    }
}

/// The name of the definition that a schema refers to.
pub(super) fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}
