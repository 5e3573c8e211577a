//! [`Contract`]: what a server offers, as its `contract.json` or its `schema` command has it.

use serde_json::Value;

use crate::failure::Failure;

/// What a server offers.
pub(crate) struct Contract(Value);

/// An argument of a tool or a prompt.
pub(crate) struct ArgumentInfo<'a> {
    pub(crate) name: &'a str,
    pub(crate) required: bool,
    pub(crate) description: &'a str,
    /// Its schema; of a prompt's argument, `null`.
    pub(crate) schema: &'a Value,
}

impl Contract {
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let contract: Value = serde_json::from_str(text).map_err(Failure::new)?;
        if contract["server"]["name"].is_string() {
            return Ok(Contract(contract));
        }
        Err(Failure::new("this is not the contract of a server: it has no `server.name`"))
    }

    /// The server's name.
    pub(crate) fn name(&self) -> &str {
        text(&self.0["server"], "name")
    }

    /// The name to show to people, if there is one.
    pub(crate) fn title(&self) -> Option<&str> {
        self.0["server"]["title"].as_str()
    }

    pub(crate) fn instructions(&self) -> Option<&str> {
        self.0["instructions"].as_str()
    }

    pub(crate) fn tools(&self) -> &[Value] {
        self.list("tools")
    }

    pub(crate) fn prompts(&self) -> &[Value] {
        self.list("prompts")
    }

    pub(crate) fn resources(&self) -> &[Value] {
        self.list("resources")
    }

    pub(crate) fn templates(&self) -> &[Value] {
        self.list("resourceTemplates")
    }

    fn list(&self, name: &str) -> &[Value] {
        self.0[name].as_array().map_or(&[], Vec::as_slice)
    }
}

/// A member that is text; empty if there is none.
pub(crate) fn text<'a>(item: &'a Value, member: &str) -> &'a str {
    item[member].as_str().unwrap_or_default()
}

/// The first line of a description.
pub(crate) fn first_line(item: &Value) -> &str {
    text(item, "description").lines().next().unwrap_or_default()
}

/// The arguments of a tool, in the order of its schema.
pub(crate) fn tool_arguments(tool: &Value) -> Vec<ArgumentInfo<'_>> {
    let schema = &tool["inputSchema"];
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, schema)| ArgumentInfo {
            name,
            required: required(name),
            description: text(schema, "description"),
            schema,
        })
        .collect()
}

/// The arguments of a prompt.
pub(crate) fn prompt_arguments(prompt: &Value) -> Vec<ArgumentInfo<'_>> {
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    arguments
        .map(|argument| ArgumentInfo {
            name: text(argument, "name"),
            required: argument["required"] == true,
            description: text(argument, "description"),
            schema: &Value::Null,
        })
        .collect()
}

/// The required arguments of a tool as a command line has them: `a=2 b=3`. The values are of the right type, and some
/// may be refused: a pattern is not read.
pub(crate) fn sample_arguments(tool: &Value) -> String {
    let required = tool_arguments(tool).into_iter().filter(|argument| argument.required);
    let samples = required.zip(2..).map(|(argument, number)| format!(" {}", sample(&argument, number)));
    samples.collect()
}

fn sample(argument: &ArgumentInfo<'_>, number: i64) -> String {
    let schema = argument.schema;
    let chosen = schema["default"].as_str().or_else(|| schema["enum"][0].as_str());
    let value = match (chosen, kind(schema)) {
        (Some(chosen), _) => chosen.to_owned(),
        (None, "integer" | "number") => within(schema, number),
        (None, "boolean") => "true".to_owned(),
        (None, "array") => {
            let item = ArgumentInfo { schema: &schema["items"], ..*argument };
            return sample(&item, number);
        }
        (None, "object") => return format!("{}='{{…}}'", argument.name),
        _ => "hello".to_owned(),
    };
    let quoted = value.chars().any(|letter| !letter.is_alphanumeric() && !"-_./:".contains(letter));
    if quoted { format!("{}='{value}'", argument.name) } else { format!("{}={value}", argument.name) }
}

/// The number, or the bound it is beyond.
fn within(schema: &Value, number: i64) -> String {
    let [least, most] = ["minimum", "maximum"].map(|bound| schema[bound].as_i64());
    let number = least.map_or(number, |least| number.max(least));
    most.map_or(number, |most| number.min(most)).to_string()
}

/// The type a schema names; of several, the first.
fn kind(schema: &Value) -> &str {
    schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or_default()
}

/// What values an argument of a tool may have: `integer, 1 to 10`, `"plain" | "short", "plain" if omitted`.
pub(crate) fn value_text(tool: &Value, schema: &Value) -> String {
    let kind = mcp_runtime::cli::type_text(&tool["inputSchema"], schema);
    let format = schema["format"].as_str().map(|format| format!(" ({format})")).unwrap_or_default();
    let bound = |name: &str| schema.get(name).filter(|bound| bound.is_number());
    let bounds = match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    };
    let default = schema.get("default").filter(|default| !default.is_null());
    let default = default.map(|default| format!(", {default} if omitted")).unwrap_or_default();
    format!("{kind}{format}{bounds}{default}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn samples_have_the_type_of_the_argument() {
        let tool = json!({"name": "x", "inputSchema": {"properties": {
            "n": {"type": "integer", "minimum": 10}, "m": {"type": "number", "maximum": 1}, "yes": {"type": "boolean"},
            "unit": {"type": "string", "enum": ["celsius", "kelvin"]}, "text": {"type": ["string", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}}, "optional": {"type": "string"},
            "path": {"type": "string", "default": "a b"}, "point": {"type": "object"},
        }, "required": ["n", "m", "yes", "unit", "text", "tags", "path", "point"]}});
        let expected = " n=10 m=1 yes=true unit=celsius text=hello tags=hello path='a b' point='{…}'";
        assert_eq!(sample_arguments(&tool), expected);
    }

    #[test]
    fn values_are_described_in_a_few_words() {
        let told = |schema: Value| value_text(&json!({}), &schema);
        assert_eq!(told(json!({"type": "integer", "minimum": 1, "maximum": 9})), "integer, 1 to 9");
        assert_eq!(told(json!({"type": "array", "items": {"type": "string"}})), "string[]");
        assert_eq!(told(json!({"type": "string", "format": "date"})), "string (date)");
        assert_eq!(told(json!({"enum": ["a", "b"], "default": "a"})), r#""a" | "b", "a" if omitted"#);
    }

    #[test]
    fn other_json_is_refused() {
        assert!(Contract::parse("{}").is_err());
        assert!(Contract::parse("[").is_err());
    }
}
