//! `read URI`, `get PROMPT` and `complete`.

use std::io::{IsTerminal as _, Write as _, stdout};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::find::named;
use crate::cli::error::CliError;
use crate::cli::query::Query;
use crate::cli::show::content::{Sink, written};
use crate::cli::show::text::clean;
use crate::cli::target::listed;
use crate::cli::terminal::{Terminal, say};
use crate::cli::values;
use crate::client::TestClient;

pub(super) async fn read(query: &Query, client: &TestClient) -> Result<(), CliError> {
    let uri = &query.words[0];
    let result = client.read_raw(uri).await.map_err(CliError::refused)?;
    let mut sink = Sink::new(Terminal::stdout(), query.options.out.as_deref(), stem(uri));
    let mut out = stdout().lock();
    if query.options.json {
        return sink.json(&result, &mut out);
    }
    let contents = result["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    // `read image://logo > logo.png`
    if let ([only], None, false) = (contents, &query.options.out, stdout().is_terminal())
        && let Some(data) = only["blob"].as_str()
    {
        let bytes = BASE64.decode(data).map_err(|error| CliError::protocol(format!("invalid base64: {error}")))?;
        return written(out.write_all(&bytes));
    }
    contents.iter().try_for_each(|contents| sink.resource(contents, &mut out))
}

/// The last part of a URI, to name a file after.
fn stem(uri: &str) -> &str {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default()
}

pub(super) async fn get(query: &Query, client: &TestClient) -> Result<(), CliError> {
    let Some((name, pairs)) = query.words.split_first() else { return Err(CliError::usage("name a prompt")) };
    let prompts = listed(client.list_prompts()).await?;
    let prompt = named(&prompts, "prompt", name, |prompt| &prompt.name)?;
    // The arguments of prompts are texts.
    let schema = json!({"properties": prompt_properties(pairs)});
    let arguments = values::arguments(&schema, query.options.arguments.as_deref(), pairs)?;
    let mut required = prompt.arguments.iter().filter(|argument| argument.required);
    if let Some(missing) = required.find(|argument| !arguments.contains_key(&argument.name)) {
        let missing = &missing.name;
        return Err(CliError::usage(format!("the prompt `{name}` needs `{missing}`: add `{missing}=…`")));
    }
    let result = client.get_raw(name, &arguments).await.map_err(CliError::refused)?;
    let terminal = Terminal::stdout();
    let mut sink = Sink::new(terminal, query.options.out.as_deref(), name);
    let mut out = stdout().lock();
    if query.options.json {
        return sink.json(&result, &mut out);
    }
    for message in result["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        written(writeln!(out, "{}", terminal.bold(format!("{role}:"))))?;
        match &message["content"] {
            Value::Array(blocks) => sink.blocks(blocks, &mut out)?,
            block => sink.blocks([block], &mut out)?,
        }
    }
    Ok(())
}

fn prompt_properties(pairs: &[String]) -> Map<String, Value> {
    let names = pairs.iter().filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.trim_end_matches(':'));
    names.map(|name| (name.to_owned(), json!({"type": "string"}))).collect()
}

/// The first pair is the one to complete, the others are filled in already.
pub(super) async fn complete(query: &Query, client: &TestClient) -> Result<(), CliError> {
    let [of, first, others @ ..] = &query.words[..] else { return Err(CliError::usage("name an argument")) };
    let Some((argument, typed)) = first.split_once('=') else {
        return Err(CliError::usage(format!("`{first}`: write `argument=typed`, also if nothing is typed yet")));
    };
    let schema = json!({"properties": prompt_properties(others)});
    let others = values::arguments(&schema, None, others)?;
    let is_template = of.contains("://") || of.contains('{');
    let completed = if is_template {
        client.complete_template(of, argument, typed, others).await
    } else {
        client.complete_prompt(of, argument, typed, others).await
    };
    let completed = completed.map_err(CliError::refused)?;
    let mut out = stdout().lock();
    if query.options.json {
        let value = json!({"values": completed.values, "total": completed.total, "hasMore": completed.has_more});
        return written(writeln!(out, "{value}"));
    }
    let terminal = Terminal::stdout();
    for value in &completed.values {
        written(writeln!(out, "{}", clean(terminal, value)))?;
    }
    if completed.has_more {
        say!("{}", Terminal::stderr().dim("(there are more: type more letters)"));
    }
    Ok(())
}
