//! A tool of the file: its declaration, and the [`Tool`] it becomes.

use std::collections::HashSet;
use std::future::ready;

use mcp_runtime::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use crate::template::Template;

/// A tool that fills the blanks of a text.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Plugin {
    pub name: Spanned<String>,
    title: Option<String>,
    description: String,
    template: Spanned<String>,
    #[serde(default, rename = "argument")]
    arguments: Vec<Argument>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Argument {
    name: Spanned<String>,
    description: String,
    #[serde(default, rename = "type")]
    kind: Kind,
    /// An argument with a default is not required in any case.
    #[serde(default = "yes")]
    required: bool,
    default: Option<Value>,
    choices: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize, PartialEq, Clone, Copy, Default)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    String,
    Integer,
    Number,
    Boolean,
}

fn yes() -> bool {
    true
}

/// What is wrong with a plugin, and where in the file: an offset in bytes.
pub type Flaw = (usize, String);

impl Plugin {
    /// The tool. Its arguments are checked against the schema before the template is filled.
    pub fn tool(&self) -> Result<Tool, Flaw> {
        let template = self.template().map_err(|text| (self.template.span().start, text))?;
        let defaults: Map<String, Value> = self
            .arguments
            .iter()
            .filter_map(|argument| Some((argument.name.get_ref().clone(), argument.default.clone()?)))
            .collect();
        let mut tool = Tool::builder(self.name.get_ref()).description(&self.description).input_schema(self.schema());
        if let Some(title) = &self.title {
            tool = tool.title(title);
        }
        Ok(tool.read_only(true).handler(move |_ctx, sent: Map<String, Value>| {
            let mut values = defaults.clone();
            values.extend(sent);
            ready(template.fill(&values))
        }))
    }

    /// Looks for flaws that would show only when the tool is added, or called.
    pub fn check(&self) -> Result<(), Flaw> {
        if let Some(name) = duplicate(self.arguments.iter().map(|argument| &argument.name)) {
            return Err((name.span().start, format!("two arguments are called `{}`", name.get_ref())));
        }
        // The rules for names, schemas and defaults are those of the runtime: a server that nobody calls applies them.
        let added = Server::new("check", "0").handle().tools().add([self.tool()?]);
        added.map_err(|error| (self.name.span().start, error.to_string()))
    }

    fn template(&self) -> Result<Template, String> {
        let template = Template::parse(self.template.get_ref())?;
        let is_argument = |name: &str| self.arguments.iter().any(|argument| argument.name.get_ref() == name);
        let unknown = template.blanks().find(|name| !is_argument(name));
        if let Some(name) = unknown {
            return Err(format!("no argument is called `{name}`: declare it, or write plain braces twice: `{{{{`"));
        }
        Ok(template)
    }

    /// The JSON Schema of the arguments.
    fn schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.arguments.iter().map(|argument| (argument.name.get_ref().clone(), argument.schema())).collect();
        let required = self.arguments.iter().filter(|argument| argument.required && argument.default.is_none());
        let required: Vec<&str> = required.map(|argument| &**argument.name.get_ref()).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}

/// The first name that occurs twice.
pub fn duplicate<'a>(names: impl Iterator<Item = &'a Spanned<String>>) -> Option<&'a Spanned<String>> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(name.get_ref()))
}

impl Argument {
    fn schema(&self) -> Value {
        let kind = match self.kind {
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
        };
        let mut schema = json!({"type": kind, "description": self.description});
        if let Some(choices) = &self.choices {
            schema["enum"] = json!(choices);
        }
        if let Some(default) = &self.default {
            schema["default"] = default.clone();
        }
        schema
    }
}
