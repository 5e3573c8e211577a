//! One schema in a normal form: references followed, `null` folded into the types, constants gathered.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// A type of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Type {
    Null,
    Boolean,
    Integer,
    /// A number with a fraction. The schema type `number` is `Integer` and `Number`.
    Number,
    String,
    Array,
    Object,
}

impl Type {
    pub(super) const ALL: [Type; 7] =
        [Type::Null, Type::Boolean, Type::Integer, Type::Number, Type::String, Type::Array, Type::Object];

    fn named(name: &str) -> &'static [Type] {
        match name {
            "null" => &[Type::Null],
            "boolean" => &[Type::Boolean],
            "integer" => &[Type::Integer],
            "number" => &[Type::Integer, Type::Number],
            "string" => &[Type::String],
            "array" => &[Type::Array],
            "object" => &[Type::Object],
            _ => &[],
        }
    }

    fn of(value: &Value) -> Type {
        match value {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Boolean,
            Value::Number(number) if number.is_f64() => Type::Number,
            Value::Number(_) => Type::Integer,
            Value::String(_) => Type::String,
            Value::Array(_) => Type::Array,
            Value::Object(_) => Type::Object,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Type::Null => "null",
            Type::Boolean => "boolean",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::String => "string",
            Type::Array => "array",
            Type::Object => "object",
        }
    }
}

/// The words for a set of types: `string or null`.
pub(super) fn type_names(types: &BTreeSet<Type>) -> String {
    if types.len() == Type::ALL.len() {
        return "any".to_owned();
    }
    if types.is_empty() {
        return "nothing".to_owned();
    }
    let shown = types.iter().rev().filter(|kind| **kind != Type::Integer || !types.contains(&Type::Number));
    shown.map(|kind| kind.name()).collect::<Vec<_>>().join(" or ")
}

/// A schema in its normal form.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The types a value may have.
    pub(super) types: BTreeSet<Type>,
    /// The values allowed by `enum`, `const`, or a `oneOf` of constants, without `null`.
    pub(super) values: Option<Vec<Value>>,
    /// The schemas of `anyOf` or `oneOf`, without `null`.
    pub(super) variants: Vec<Value>,
    /// Whether a value must match exactly one of the variants.
    pub(super) exclusive: bool,
    /// All other keywords.
    pub(super) keywords: Map<String, Value>,
}

/// The most references that are followed in a row: more of them lead in a circle.
const DEEPEST: usize = 16;

/// Variants nested deeper are not looked into for their types: their number grows with each level.
const DEEPEST_VARIANT: usize = 3;

impl Node {
    /// The normal form of `schema`, whose references start at `root`.
    pub(super) fn new(schema: &Value, root: &Value) -> Self {
        Self::at_depth(schema, root, 0)
    }

    fn at_depth(schema: &Value, root: &Value, depth: usize) -> Self {
        let mut keywords = match schema {
            Value::Object(map) => followed(map, root),
            Value::Bool(false) => return Node { types: BTreeSet::new(), ..Self::any() },
            _ => return Self::any(),
        };
        let mut nullable = keywords.get("nullable") == Some(&Value::Bool(true));
        keywords.shift_remove("nullable");
        let mut exclusive = false;
        let mut variants = Vec::new();
        let mut values = listed_values(&mut keywords);
        for keyword in ["anyOf", "oneOf"] {
            let Some(Value::Array(choices)) = keywords.get(keyword) else { continue };
            let is_null = |choice: &&Value| choice.get("type").is_some_and(|name| name == "null");
            let others: Vec<Value> = choices.iter().filter(|choice| !is_null(choice)).cloned().collect();
            let has_null = others.len() < choices.len();
            if others.is_empty() && has_null {
                keywords.insert("type".to_owned(), "null".into());
            } else if let (Some(constants), None) = (constants(&others), &values) {
                values = Some(constants);
            } else if let [only] = &others[..]
                && let Some(merged) = merged(&keywords, keyword, only)
                && depth < DEEPEST
            {
                let mut node = Self::at_depth(&merged.into(), root, depth + 1);
                if has_null || nullable {
                    node.types.insert(Type::Null);
                }
                return node;
            } else if variants.is_empty() {
                exclusive = keyword == "oneOf";
                variants = others;
            } else {
                continue; // `anyOf` beside `oneOf`: the second stays a keyword
            }
            nullable |= has_null;
            keywords.shift_remove(keyword);
        }
        let mut types = match keywords.shift_remove("type") {
            Some(Value::String(name)) => Type::named(&name).iter().copied().collect(),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).flat_map(Type::named).copied().collect()
            }
            _ if values.is_some() => values.iter().flatten().map(Type::of).collect(),
            _ if !variants.is_empty() && depth < DEEPEST_VARIANT => {
                variants.iter().flat_map(|variant| Self::at_depth(variant, root, depth + 1).types).collect()
            }
            _ => BTreeSet::from(Type::ALL),
        };
        if let Some(values) = &mut values {
            // `{"type": "string", "enum": ["a", null]}` does not allow null; `{"type": ["string", "null"], …}` does.
            let had_null = values.iter().any(Value::is_null);
            values.retain(|value| !value.is_null());
            if !had_null && !nullable {
                types.remove(&Type::Null);
            }
        }
        if nullable {
            types.insert(Type::Null);
        }
        Node { types, values, variants, exclusive, keywords }
    }

    fn any() -> Self {
        Node {
            types: BTreeSet::from(Type::ALL),
            values: None,
            variants: Vec::new(),
            exclusive: false,
            keywords: Map::new(),
        }
    }
}

/// The values of `const` and `enum`.
fn listed_values(keywords: &mut Map<String, Value>) -> Option<Vec<Value>> {
    if let Some(constant) = keywords.shift_remove("const") {
        keywords.shift_remove("enum");
        return Some(vec![constant]);
    }
    match keywords.get("enum") {
        Some(Value::Array(_)) => match keywords.shift_remove("enum") {
            Some(Value::Array(values)) => Some(values),
            _ => None,
        },
        _ => None,
    }
}

/// The values of a list of schemas that are nothing but constants.
fn constants(choices: &[Value]) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for choice in choices {
        let choice = choice.as_object()?;
        let plain = |key: &str| matches!(key, "const" | "enum" | "type" | "title" | "description");
        if !choice.keys().all(|key| plain(key)) {
            return None;
        }
        match (choice.get("const"), choice.get("enum")) {
            (Some(constant), _) => values.push(constant.clone()),
            (None, Some(Value::Array(listed))) => values.extend(listed.iter().cloned()),
            _ => return None,
        }
    }
    (!values.is_empty()).then_some(values)
}

/// Keywords that only describe.
pub(super) fn is_cosmetic(keyword: &str) -> bool {
    const COSMETIC: [&str; 10] = [
        "title",
        "description",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
        "$id",
        "$anchor",
        "enumNames",
    ];
    COSMETIC.contains(&keyword) || (keyword.starts_with("x-") && keyword != "x-mcp-header")
}

/// A schema without its reference: the keywords of the target, and those beside the reference. Also an `allOf` of one.
///
/// A reference that leads nowhere stays a keyword, to be compared as it is.
fn followed(schema: &Map<String, Value>, root: &Value) -> Map<String, Value> {
    let mut schema = schema.clone();
    for _ in 0..DEEPEST {
        let target = match (schema.get("$ref"), schema.get("allOf")) {
            (Some(Value::String(reference)), _) => ("$ref", resolve(reference, root).cloned()),
            (None, Some(Value::Array(list))) if list.len() == 1 => ("allOf", Some(list[0].clone())),
            _ => return schema,
        };
        let (keyword, Some(target)) = target else { return schema };
        match merged(&schema, keyword, &target) {
            Some(next) => schema = next,
            None => return schema,
        }
    }
    schema
}

/// `schema` with `target` in place of `keyword`, unless both constrain the same keyword differently.
fn merged(schema: &Map<String, Value>, keyword: &str, target: &Value) -> Option<Map<String, Value>> {
    let mut merged = match target {
        Value::Object(target) => target.clone(),
        Value::Bool(true) => Map::new(),
        _ => return None,
    };
    for (key, value) in schema.iter().filter(|(key, _)| *key != keyword) {
        let conflicts = merged.get(key).is_some_and(|other| other != value);
        let harmless = is_cosmetic(key) || matches!(key.as_str(), "default" | "$defs" | "definitions" | "$schema");
        if conflicts && !harmless {
            return None;
        }
        merged.insert(key.clone(), value.clone());
    }
    Some(merged)
}

/// The schema a local reference points to.
pub(super) fn resolve<'a>(reference: &str, root: &'a Value) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}
