//! Tools and prompts as signatures: `add(a: integer, b: integer = 1) -> integer`.

use serde_json::Value;

use super::schema::{resolve, type_text};
use crate::cli::terminal::Terminal;
use crate::protocol::{PromptDescriptor, ToolDescriptor};

/// A tool's signature, on one line if it fits.
pub(crate) fn tool(tool: &ToolDescriptor, terminal: Terminal, indent: usize) -> String {
    let schema = resolve(&tool.input_schema, &tool.input_schema);
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let arguments: Vec<String> = properties
        .map(|(name, property)| {
            let optional = if required(name) { "" } else { "?" };
            let default = property.get("default").filter(|value| !value.is_null());
            let default = default.map(|value| format!(" = {value}")).unwrap_or_default();
            format!("{name}{optional}: {}{default}", type_text(&tool.input_schema, property))
        })
        .collect();
    let returns = tool.output_schema.as_ref().map(|schema| format!(" -> {}", returned(schema))).unwrap_or_default();
    signature(&tool.name, &arguments, &returns, terminal, indent)
}

/// A prompt's signature.
pub(crate) fn prompt(prompt: &PromptDescriptor, terminal: Terminal, indent: usize) -> String {
    let arguments: Vec<String> = prompt
        .arguments
        .iter()
        .map(|argument| format!("{}{}", argument.name, if argument.required { "" } else { "?" }))
        .collect();
    signature(&prompt.name, &arguments, "", terminal, indent)
}

/// An object's fields say more than the word.
fn returned(schema: &Value) -> String {
    match resolve(schema, schema)["properties"].as_object() {
        Some(properties) if !properties.is_empty() => {
            format!("{{ {} }}", properties.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
        }
        _ => type_text(schema, schema),
    }
}

fn signature(name: &str, arguments: &[String], returns: &str, terminal: Terminal, indent: usize) -> String {
    let arguments: Vec<String> = arguments.iter().map(|argument| terminal.clean(argument)).collect();
    let returns = terminal.clean(returns);
    let line = format!("({}){returns}", arguments.join(", "));
    let bold = terminal.bold(name);
    if indent + name.chars().count() + line.chars().count() <= terminal.width() {
        return format!("{bold}{line}");
    }
    let separator = format!(",\n{:1$}", "", indent + 4);
    let arguments = arguments.join(&separator);
    format!("{bold}(\n{:inner$}{arguments},\n{:indent$}){returns}", "", "", inner = indent + 4)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn signatures_show_defaults_optional_arguments_and_results() {
        let schema = json!({
            "type": "object",
            "properties": {
                "word": {"type": "string"},
                "limit": {"type": "integer", "default": 10},
                "unit": {"type": ["string", "null"]},
            },
            "required": ["word"],
        });
        let mut grep = ToolDescriptor::new("grep", schema);
        assert_eq!(tool(&grep, Terminal::plain(), 0), "grep(word: string, limit?: integer = 10, unit?: string)");
        grep.output_schema = Some(json!({"type": "array", "items": {"type": "object"}}));
        assert_eq!(
            tool(&grep, Terminal::plain(), 20),
            "grep(\n                        word: string,\n                        limit?: integer = 10,\n                        \
             unit?: string,\n                    ) -> object[]"
        );
    }
}
