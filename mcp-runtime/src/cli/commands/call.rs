//! `call TOOL key=value …`: progress and log messages as they come, then the result.

use std::io::{Write as _, stderr, stdout};
use std::process::ExitCode;

use serde_json::{Map, Value};

use super::find::named;
use crate::cli::error::CliError;
use crate::cli::query::Query;
use crate::cli::show::content::{Sink, written};
use crate::cli::show::progress::Progress;
use crate::cli::target::listed;
use crate::cli::terminal::{Terminal, say};
use crate::cli::values;
use crate::client::{CallResponse, TestClient};
use crate::protocol::ToolDescriptor;

pub(super) async fn call(query: &Query, client: &TestClient) -> Result<ExitCode, CliError> {
    let Some((name, pairs)) = query.words.split_first() else { return Err(CliError::usage("name a tool")) };
    let tools = listed(client.list_tools()).await?;
    let tool = named(&tools, "tool", name, |tool| &tool.name)?;
    warn_about_unknown(&tool.input_schema, pairs);
    let arguments = values::arguments(&tool.input_schema, query.options.arguments.as_deref(), pairs)?;
    check_required(tool, &arguments)?;

    let call = client.start_call(name, &arguments).await.map_err(CliError::refused)?;
    let notifications = call.notifications();
    let mut progress = Progress::new(Terminal::stderr(), query.options.progress);
    let mut result = std::pin::pin!(call.result());
    let result = loop {
        tokio::select! {
            biased;
            message = notifications.arrived() => show(&message, query, &mut progress),
            result = &mut result => break result,
        }
    };
    for message in notifications.drain() {
        show(&message, query, &mut progress);
    }
    progress.clear();
    let result = result.map_err(CliError::refused)?;
    print(query, name, &result)?;
    Ok(if result.is_error() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show(message: &Value, query: &Query, progress: &mut Progress) {
    match message["method"].as_str() {
        _ if query.options.quiet => {}
        Some("notifications/progress") => progress.report(&message["params"]),
        Some("notifications/message") => progress.log(&message["params"]),
        Some("notifications/tasks/status") => progress.status(&message["params"]),
        _ => {}
    }
}

/// The result: structured content as JSON, otherwise block by block. The text of a failure goes to standard error.
fn print(query: &Query, name: &str, result: &CallResponse) -> Result<(), CliError> {
    let mut sink = Sink::new(Terminal::stdout(), query.options.out.as_deref(), name);
    let (mut out, mut err) = (stdout().lock(), stderr().lock());
    if query.options.json {
        return sink.json(&serde_json::to_value(result).unwrap_or_default(), &mut out);
    }
    if result.is_error() {
        written(write!(err, "{} ", Terminal::stderr().red("error:")))?;
        return Sink::new(Terminal::stderr(), None, name).blocks(result.content(), &mut err);
    }
    let structured = result.structured_content();
    match structured {
        Some(Value::String(text)) => sink.text(text, &mut out)?,
        Some(value) => sink.json(value, &mut out)?,
        None => {}
    }
    // The text beside structured content is the same JSON, for clients that read texts only.
    let repeats = |block: &Value| structured.is_some() && block["type"] == "text";
    sink.blocks(result.content().iter().filter(|block| !repeats(block)), &mut out)
}

/// Servers tell in different ways that an argument is missing: as the tool's failure, or as an error of the protocol.
fn check_required(tool: &ToolDescriptor, arguments: &Map<String, Value>) -> Result<(), CliError> {
    let mut required = tool.input_schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match required.find(|name| !arguments.contains_key(*name)) {
        Some(missing) => {
            let hint = format!("add `{missing}=…`; `tools {}` shows all arguments", tool.name);
            Err(CliError::usage(format!("`{missing}` is missing: {hint}")))
        }
        None => Ok(()),
    }
}

/// A misspelt argument may be dropped silently by the server.
fn warn_about_unknown(schema: &Value, pairs: &[String]) {
    let Some(properties) = schema["properties"].as_object() else { return };
    if schema.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false)) {
        return;
    }
    let names = pairs.iter().filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.trim_end_matches(':'));
    for name in names.filter(|name| {
        !properties.contains_key(name.split('.').next().unwrap_or(name)) && !properties.contains_key(*name)
    }) {
        let meant = crate::suggest::closest(name, properties.keys().map(String::as_str));
        let hint = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        say!("{} the schema has no argument `{name}`{hint}", Terminal::stderr().yellow("warning:"));
    }
}
