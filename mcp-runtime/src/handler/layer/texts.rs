//! The texts of an outcome: all that a client, a user or a model reads.

use std::borrow::Cow;

use serde_json::Value;

use super::outcome::Outcome;
use crate::error::chain;
use crate::outcome::{Failure, Reply};
use crate::protocol::{Blocks, Content, ContentKind, Meta, PromptMessage, ResourceContents, ToolResult};

/// Replaces a text where a function has another one.
type Edit<'a> = &'a mut dyn FnMut(&str) -> Option<String>;

impl Outcome {
    /// Replaces texts: `edit` returns the new text, or `None` to keep a text as it is.
    ///
    /// It gets every text of a result (content blocks, texts of resources, messages, the values of structured results,
    /// custom results and `_meta`, the values of a completion), and the message and the `data` of an error. Not base64
    /// data, URIs, and the names of members. A text that is embedded in a larger one is part of it: structured content
    /// that is mirrored as text is edited once.
    pub fn edit_texts(&mut self, mut edit: impl FnMut(&str) -> Option<String>) {
        let edit: Edit<'_> = &mut edit;
        match self.reply_mut() {
            Ok(reply) => reply_texts(reply, edit),
            Err(failure) => failure_texts(failure, edit),
        }
    }

    /// The size of a result in bytes: of its texts, its base64 data and its structured content.
    pub fn size(&self) -> usize {
        fn of_contents(contents: &ResourceContents) -> usize {
            contents.encoded().len()
        }
        fn of_content(content: &Content) -> usize {
            match &content.kind {
                ContentKind::Text(text) => text.len(),
                ContentKind::Image(data, _) | ContentKind::Audio(data, _) => data.len(),
                ContentKind::Link(link) => link.uri.len() + link.description.as_ref().map_or(0, String::len),
                ContentKind::Resource(contents) => of_contents(contents),
            }
        }
        if let Some(result) = self.as_tool() {
            let structured = result.structured.as_ref().map_or(0, String::len);
            return structured
                + match &result.content {
                    Blocks::Text(text) => text.len(),
                    Blocks::Mirror => structured,
                    Blocks::List(list) => list.iter().map(of_content).sum(),
                };
        }
        if let Some(result) = self.as_prompt() {
            return result.messages.iter().map(|message| of_content(&message.content)).sum();
        }
        if let Some(result) = self.as_resource() {
            return result.contents.iter().map(of_contents).sum();
        }
        if let Some(values) = self.as_completion() {
            return values.iter().map(String::len).sum();
        }
        if let Some(members) = self.as_custom() {
            return serde_json::to_string(members).map_or(0, |json| json.len());
        }
        self.error().map_or(0, |error| error.message().len())
    }
}

fn reply_texts(reply: &mut Reply, edit: Edit<'_>) {
    match reply {
        Reply::Tool(result) => tool_texts(result, edit),
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
}

fn tool_texts(result: &mut ToolResult, edit: Edit<'_>) {
    match &mut result.content {
        Blocks::Text(block) => text(block, edit),
        // The structured result itself.
        Blocks::Mirror => {}
        Blocks::List(list) => list.iter_mut().for_each(|content| content_texts(content, edit)),
    }
    if let Some(structured) = &mut result.structured
        && let Ok(mut json) = serde_json::from_str::<Value>(structured)
        && value(&mut json, edit)
    {
        *structured = crate::jsonrpc::raw::to_text(&json);
    }
    members(&mut result.meta, edit);
}

fn content_texts(content: &mut Content, edit: Edit<'_>) {
    match &mut content.kind {
        ContentKind::Text(block) => text(block, edit),
        ContentKind::Image(..) | ContentKind::Audio(..) => {}
        ContentKind::Link(link) => {
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
        | Failure::Busy(_)
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

/// Edits the texts of a JSON value. Returns whether there was one to edit.
fn value(json: &mut Value, edit: Edit<'_>) -> bool {
    match json {
        Value::String(block) => match edit(block) {
            Some(edited) => {
                *block = edited;
                true
            }
            None => false,
        },
        // All of them, also after one that was edited.
        Value::Array(items) => items.iter_mut().filter_map(|item| value(item, edit).then_some(())).count() > 0,
        Value::Object(entries) => {
            entries.iter_mut().filter_map(|(_, item)| value(item, edit).then_some(())).count() > 0
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
