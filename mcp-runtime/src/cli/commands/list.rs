//! `inspect`, `tools`, `resources`, `prompts`: what a server offers, as signatures, or as JSON.

use std::io::{Write, stdout};

use serde_json::{Value, json};

use super::find::named;
use crate::cli::error::CliError;
use crate::cli::query::Query;
use crate::cli::show::content::written;
use crate::cli::show::schema::{resolve, type_text};
use crate::cli::show::signature;
use crate::cli::show::text::{clean, first_line, wrapped};
use crate::cli::target::{Lists, implementation, listed};
use crate::cli::terminal::{Terminal, say};
use crate::client::TestClient;
use crate::lint::tokens;
use crate::protocol::{PromptDescriptor, ResourceDescriptor, TemplateDescriptor, ToolDescriptor};

/// Everything at a glance.
pub(super) async fn inspect(query: &Query, client: &TestClient) -> Result<(), CliError> {
    let (info, about) = implementation(client).await?;
    let Lists { tools, prompts, resources, templates } = Lists::of(client).await?;
    let mut out = stdout().lock();
    if query.options.json {
        let all = json!({
            "revision": client.revision(), "server": about, "tools": tools, "prompts": prompts,
            "resources": resources, "resourceTemplates": templates,
        });
        return print_json(&all, &mut out);
    }
    let terminal = Terminal::stdout();
    let revision = terminal.dim(format!("(protocol {})", client.revision()));
    let name = clean(terminal, &format!("{} {}", info.name, info.version));
    written(writeln!(out, "{} {revision}", terminal.bold(name)))?;
    let capabilities = about["capabilities"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    written(writeln!(out, "capabilities: {}", clean(terminal, &capabilities.collect::<Vec<_>>().join(", "))))?;
    if let Some(text) = about["instructions"].as_str() {
        let lines =
            clean(terminal, text.trim()).lines().map(|line| wrapped(line, 0, terminal.width())).collect::<Vec<_>>();
        written(writeln!(out, "\n{}", lines.join("\n")))?;
    }
    let sections = [
        ("Tools", tool_list(&tools, terminal, false)),
        ("Resources", resource_list(&resources, &templates, terminal)),
        ("Prompts", prompt_list(&prompts, terminal)),
    ];
    for (title, list) in sections.iter().filter(|(_, list)| !list.is_empty()) {
        written(writeln!(out, "\n{}\n{}", terminal.green(title), list.trim_end()))?;
    }
    Ok(())
}

pub(super) async fn tools(query: &Query, client: &TestClient) -> Result<(), CliError> {
    let tools = listed(client.list_tools()).await?;
    let terminal = Terminal::stdout();
    let mut out = stdout().lock();
    if let [name] = &query.words[..] {
        let tool = named(&tools, "tool", name, |tool| &tool.name)?;
        return if query.options.json { print_json(&json!(tool), &mut out) } else { details(tool, terminal, &mut out) };
    }
    if query.options.json {
        return print_json(&json!(tools), &mut out);
    }
    if tools.is_empty() {
        say!("the server has no tools");
    }
    written(out.write_all(tool_list(&tools, terminal, query.options.tokens).as_bytes()))?;
    if query.options.tokens {
        let sum: usize = tools.iter().map(tokens::of).sum();
        written(writeln!(out, "about {sum} tokens of a model's context in all (estimated, four bytes each)"))?;
    }
    Ok(())
}

pub(super) async fn resources(query: &Query, client: &TestClient) -> Result<(), CliError> {
    let (mut resources, mut templates) =
        (listed(client.list_resources()).await?, listed(client.list_templates()).await?);
    if let [name] = &query.words[..] {
        resources.retain(|resource| resource.uri == *name || resource.name == *name);
        templates.retain(|template| template.uri_template == *name || template.name == *name);
        if resources.is_empty() && templates.is_empty() {
            return Err(CliError::usage(format!("no resource `{name}`; `resources` lists what there is")));
        }
    }
    let mut out = stdout().lock();
    if query.options.json {
        return print_json(&json!({"resources": resources, "resourceTemplates": templates}), &mut out);
    }
    if resources.is_empty() && templates.is_empty() {
        say!("the server has no resources");
    }
    written(out.write_all(resource_list(&resources, &templates, Terminal::stdout()).as_bytes()))
}

pub(super) async fn prompts(query: &Query, client: &TestClient) -> Result<(), CliError> {
    let mut prompts = listed(client.list_prompts()).await?;
    if let [name] = &query.words[..] {
        prompts = vec![named(&prompts, "prompt", name, |prompt| &prompt.name)?.clone()];
    }
    let mut out = stdout().lock();
    if query.options.json {
        return print_json(&json!(prompts), &mut out);
    }
    if prompts.is_empty() {
        say!("the server has no prompts");
    }
    written(out.write_all(prompt_list(&prompts, Terminal::stdout()).as_bytes()))
}

/// Tools as signatures, each with the first line of its description.
pub(crate) fn tool_list(tools: &[ToolDescriptor], terminal: Terminal, with_tokens: bool) -> String {
    let line = |tool: &ToolDescriptor| {
        let cost = if with_tokens { format!("{:6} tokens  ", tokens::of(tool)) } else { "  ".to_owned() };
        let signature = signature::tool(tool, terminal, cost.len());
        entry(&cost, &signature, first_line(tool.description.as_deref()), terminal)
    };
    tools.iter().map(line).collect()
}

pub(crate) fn prompt_list(prompts: &[PromptDescriptor], terminal: Terminal) -> String {
    let line = |prompt: &PromptDescriptor| {
        entry("  ", &signature::prompt(prompt, terminal, 2), first_line(prompt.description.as_deref()), terminal)
    };
    prompts.iter().map(line).collect()
}

pub(crate) fn resource_list(
    resources: &[ResourceDescriptor],
    templates: &[TemplateDescriptor],
    terminal: Terminal,
) -> String {
    let line = |uri: &str, mime: Option<&str>, name: &str, description: Option<&str>| {
        let mime = mime.map(|mime| format!(" ({mime})")).unwrap_or_default();
        let about = match first_line(description) {
            "" => name,
            line => line,
        };
        entry("  ", &format!("{}{}", terminal.bold(uri), terminal.dim(mime)), about, terminal)
    };
    let fixed =
        resources.iter().map(|one| line(&one.uri, one.mime_type.as_deref(), &one.name, one.description.as_deref()));
    let patterns = templates
        .iter()
        .map(|one| line(&one.uri_template, one.mime_type.as_deref(), &one.name, one.description.as_deref()));
    fixed.chain(patterns).collect()
}

/// A heading and, indented below it, what it is.
fn entry(before: &str, heading: &str, about: &str, terminal: Terminal) -> String {
    let heading = heading.replace('\r', "");
    if about.is_empty() {
        return format!("{before}{heading}\n");
    }
    let about = wrapped(&clean(terminal, about), before.len() + 4, terminal.width());
    format!("{before}{heading}\n{}\n", terminal.dim(about))
}

/// One tool with all its arguments.
fn details(tool: &ToolDescriptor, terminal: Terminal, out: &mut dyn Write) -> Result<(), CliError> {
    written(writeln!(out, "{}", signature::tool(tool, terminal, 0)))?;
    if let Some(text) = &tool.description {
        written(writeln!(out, "\n{}", clean(terminal, text.trim())))?;
    }
    let root = &tool.input_schema;
    let schema = resolve(root, root);
    let properties: Vec<(&String, &Value)> = schema["properties"].as_object().into_iter().flatten().collect();
    if !properties.is_empty() {
        written(writeln!(out, "\n{}", terminal.green("Arguments")))?;
    }
    for (name, property) in properties {
        let required = schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let kind = format!("{}{}", type_text(root, property), if required { "" } else { ", optional" });
        written(writeln!(out, "  {} {}{}", terminal.bold(name), terminal.dim(kind), limits(resolve(root, property))))?;
        if let Some(text) = property["description"].as_str() {
            written(writeln!(out, "{}", wrapped(&clean(terminal, text), 6, terminal.width())))?;
        }
    }
    let hints = json!(tool.annotations);
    let hints: Vec<String> =
        hints.as_object().into_iter().flatten().map(|(name, value)| format!("{name}: {value}")).collect();
    if !hints.is_empty() {
        written(writeln!(out, "\n{}", terminal.dim(hints.join(", "))))?;
    }
    Ok(())
}

/// The constraints of an argument.
fn limits(schema: &Value) -> String {
    const KEYS: [&str; 13] = [
        "default",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minItems",
        "maxItems",
        "uniqueItems",
    ];
    let given = KEYS.iter().filter_map(|key| Some((key, schema.get(*key).filter(|value| !value.is_null())?)));
    given.flat_map(|(key, value)| [", ".to_owned(), (*key).to_owned(), format!(" {value}")]).collect()
}

fn print_json(value: &Value, out: &mut dyn Write) -> Result<(), CliError> {
    written(writeln!(out, "{}", serde_json::to_string_pretty(value).unwrap_or_default()))
}
