//! Enumerable types: lists the values of enums and booleans as text, for completion.

use serde_json::{Map, Value};

use super::input::{InputSchema, resolved};

impl InputSchema {
    /// All values of a property as text, if it is enumerable: `true` and `false`, or the variants of an
    /// enum.
    pub(crate) fn choices(&self, name: &str) -> Option<Vec<String>> {
        let definitions = self.generator.definitions();
        let schema = resolved(self.properties.get(name)?, definitions);
        if schema.get("type").is_some_and(|name| name == "boolean") {
            return Some(vec!["true".to_owned(), "false".to_owned()]);
        }
        names(schema, definitions)
    }
}

/// The strings a schema allows, if it allows nothing else. schemars lists the variants of an enum in
/// `enum`, and those with docs as single `const`s in `oneOf`. Looks one level deep, so a recursive type
/// is safe.
fn names(schema: &Value, definitions: &Map<String, Value>) -> Option<Vec<String>> {
    match schema.get("oneOf").or_else(|| schema.get("anyOf")) {
        Some(Value::Array(choices)) => {
            let each = choices.iter().map(|choice| listed(resolved(choice, definitions)));
            Some(each.collect::<Option<Vec<_>>>()?.concat())
        }
        _ => listed(schema),
    }
}

fn listed(schema: &Value) -> Option<Vec<String>> {
    let owned = |name: &Value| name.as_str().map(str::to_owned);
    match (schema.get("const"), schema.get("enum")) {
        (Some(name), _) => Some(vec![owned(name)?]),
        (None, Some(Value::Array(names))) => names.iter().map(owned).collect(),
        _ => None,
    }
}

#[cfg(test)]
#[expect(dead_code, reason = "the tests read only the schemas of these types")]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;
    use crate::schema::input::Extras;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Unit {
        Celsius,
        Fahrenheit,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Wrapped(Unit);

    #[derive(Deserialize, JsonSchema)]
    enum Documented {
        /// At once.
        Now,
        Later,
        #[serde(rename = "some day")]
        SomeDay,
    }

    #[derive(Deserialize, JsonSchema)]
    enum WithData {
        Never,
        In(u32),
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum OrAnything {
        Unit(Unit),
        Text(String),
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Itself {
        Unit(Unit),
        Again(Box<Itself>),
    }

    fn choices<T: JsonSchema>() -> Option<Vec<String>> {
        let mut schema = InputSchema::new();
        schema.property::<T>("it", Extras { optional: true, ..Extras::default() });
        schema.choices("it")
    }

    #[test]
    fn enums_and_booleans_are_enumerable() {
        let units = Some(vec!["celsius".to_owned(), "fahrenheit".to_owned()]);
        assert_eq!(choices::<Unit>(), units);
        assert_eq!(choices::<Option<Unit>>(), units);
        assert_eq!(choices::<Wrapped>(), units);
        assert_eq!(choices::<Option<Wrapped>>(), units);
        let mut documented = choices::<Documented>().unwrap();
        documented.sort();
        assert_eq!(documented, ["Later", "Now", "some day"]);
        assert_eq!(choices::<bool>(), Some(vec!["true".to_owned(), "false".to_owned()]));
        assert_eq!(choices::<Option<bool>>(), choices::<bool>());
    }

    #[test]
    fn other_types_are_not_enumerable() {
        for open in [choices::<WithData>(), choices::<OrAnything>(), choices::<Itself>(), choices::<String>()] {
            assert_eq!(open, None);
        }
        assert_eq!((choices::<char>(), choices::<Option<u8>>(), choices::<Value>()), (None, None, None));
    }
}
