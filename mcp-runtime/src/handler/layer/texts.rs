//! The texts of an outcome: all that a client, a user or a model reads.

use std::borrow::Cow;

use serde_json::Value;

use super::json_texts::{self, Edit};
use super::outcome::Outcome;
use crate::error::chain;
use crate::jsonrpc::error::RpcError;
use crate::outcome::{Failure, Reply};
use crate::protocol::{Blocks, Content, ContentKind, Meta, PromptMessage, ResourceContents, ToolResult};

impl Outcome {
    /// Replaces texts: `edit` returns the new text, or `None` to keep a text as it is.
    ///
    /// It gets every text of a result (content blocks, texts of resources, names, titles and descriptions of links,
    /// messages, the values of structured results, custom results and `_meta`, the values of a completion), and the
    /// message and the `data` of an error. Not base64 data, URIs, and the names of members.
    ///
    /// Numbers among these values are texts, too: `edit` gets their digits, and one that it changes becomes a string. A
    /// tool whose schema wants a number there returns an error then, where results are
    /// [checked](crate::Server::validate_output). Structured content that is mirrored as text is edited twice: value by
    /// value, and then its text, as any other.
    ///
    /// If structured content cannot be read, the outcome becomes an error: nobody gets what was not edited.
    pub fn edit_texts(&mut self, mut edit: impl FnMut(&str) -> Option<String>) {
        let edit: Edit<'_> = &mut edit;
        let unread = match self.reply_mut() {
            Ok(reply) => reply_texts(reply, edit).err(),
            Err(failure) => {
                failure_texts(failure, edit);
                None
            }
        };
        if let Some(error) = unread {
            tracing::error!(%error, "the texts of a structured result cannot be edited");
            *self = Outcome::failed(RpcError::new(RpcError::INTERNAL, "The result cannot be read").into());
        }
    }
}

fn reply_texts(reply: &mut Reply, edit: Edit<'_>) -> Result<(), serde_json::Error> {
    match reply {
        Reply::Tool(result) => tool_texts(result, edit)?,
        Reply::Prompt(result) => {
            if let Some(description) = &mut result.description {
                text(description, edit);
            }
            for PromptMessage { content, .. } in &mut result.messages {
                content_texts(content, edit);
            }
            members(&mut result.meta, edit);
        }
        Reply::Read(result) => {
            for contents in &mut result.contents {
                contents_texts(contents, edit);
            }
            members(&mut result.meta, edit);
        }
        Reply::Completion(values) => values.iter_mut().for_each(|value| text(value, edit)),
        Reply::Custom(result) => members(result, edit),
        _ => {}
    }
    Ok(())
}

fn tool_texts(result: &mut ToolResult, edit: Edit<'_>) -> Result<(), serde_json::Error> {
    if let Some(structured) = &mut result.structured
        && let Some(edited) = json_texts::edited(structured, edit)?
    {
        *structured = edited;
    }
    match &mut result.content {
        Blocks::Text(block) => text(block, edit),
        // It may match where no value does: across members, and in their names.
        Blocks::Mirror => {
            if let Some(edited) = result.structured.as_deref().and_then(&mut *edit) {
                result.content = Blocks::Text(edited);
            }
        }
        Blocks::List(list) => list.iter_mut().for_each(|content| content_texts(content, edit)),
    }
    members(&mut result.meta, edit);
    Ok(())
}

fn content_texts(content: &mut Content, edit: Edit<'_>) {
    match &mut content.kind {
        ContentKind::Text(block) => text(block, edit),
        ContentKind::Image(..) | ContentKind::Audio(..) => {}
        ContentKind::Link(link) => {
            text(&mut link.name, edit);
            for shown in [&mut link.title, &mut link.description].into_iter().flatten() {
                text(shown, edit);
            }
            members(&mut link.meta, edit);
        }
        ContentKind::Resource(contents) => contents_texts(contents, edit),
    }
    members(&mut content.meta, edit);
}

fn contents_texts(contents: &mut ResourceContents, edit: Edit<'_>) {
    if let Some(body) = contents.text_mut() {
        text(body, edit);
    }
    members(&mut contents.meta, edit);
}

fn failure_texts(failure: &mut Failure, edit: Edit<'_>) {
    match failure {
        Failure::Handler(source) => {
            if let Some(edited) = edit(&chain(&**source)) {
                *source = edited.into();
            }
        }
        Failure::Declined(message) => text(message, edit),
        Failure::MissingCapability(missing) => text(&mut missing.text, edit),
        Failure::ResourceNotFound(uri) => text(uri, edit),
        Failure::Arguments(errors) => {
            for error in errors {
                text(&mut error.text, edit);
                if let Some(field) = edit(&error.field) {
                    error.field = Cow::Owned(field);
                }
            }
        }
        Failure::Protocol(error) => {
            if let Some(message) = edit(&error.message) {
                error.message = Cow::Owned(message);
            }
            if let Some(data) = &mut error.data {
                value(data, edit);
            }
        }
        #[cfg(feature = "auth")]
        Failure::Forbidden(_) => {}
        // Texts of the server's own.
        Failure::Panicked
        | Failure::TimedOut(_)
        | Failure::Throttled(_)
        | Failure::ShutDown
        | Failure::Unavailable(_) => {}
    }
}

fn text(text: &mut String, edit: Edit<'_>) {
    if let Some(edited) = edit(text) {
        *text = edited;
    }
}

fn members(members: &mut Meta, edit: Edit<'_>) {
    for (_, member) in members.iter_mut() {
        value(member, edit);
    }
}

/// Edits the texts of a JSON value, and its numbers.
fn value(json: &mut Value, edit: Edit<'_>) {
    match json {
        Value::String(block) => text(block, edit),
        Value::Number(number) => {
            let digits = number.to_string();
            // What stays the same stays a number.
            if let Some(edited) = edit(&digits).filter(|edited| *edited != digits) {
                *json = Value::String(edited);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| value(item, edit)),
        Value::Object(entries) => members(entries, edit),
        Value::Null | Value::Bool(_) => {}
    }
}
