//! How large an outcome is: for whoever reads it, and in memory.

use serde_json::Value;

use super::outcome::Outcome;
use crate::protocol::{Blocks, Content, ContentKind, Icon, Meta, ResourceContents};

impl Outcome {
    /// The size in bytes: of a result, its texts, its base64 data and its structured content; of an error, its message and
    /// its `data`.
    pub fn size(&self) -> usize {
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
        let json = |value: &Value| serde_json::to_string(value).map_or(0, |json| json.len());
        if let Some(members) = self.as_custom() {
            return serde_json::to_string(members).map_or(0, |json| json.len());
        }
        self.error().map_or(0, |error| error.message().len() + error.data().map_or(0, json))
    }

    /// What a copy of a tool's result takes in memory, about: also what no model reads, and the number of its parts.
    pub(crate) fn footprint(&self) -> usize {
        let Some(result) = self.as_tool() else { return self.size() };
        let blocks: usize = match &result.content {
            Blocks::Text(text) => text.len(),
            Blocks::Mirror => 0,
            Blocks::List(list) => list.iter().map(content_footprint).sum(),
        };
        size_of::<Self>() + blocks + result.structured.as_ref().map_or(0, String::len) + meta_footprint(&result.meta)
    }
}

fn of_contents(contents: &ResourceContents) -> usize {
    contents.encoded().len()
}

fn of_content(content: &Content) -> usize {
    let len = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    match &content.kind {
        ContentKind::Text(text) => text.len(),
        ContentKind::Image(data, _) | ContentKind::Audio(data, _) => data.len(),
        ContentKind::Link(link) => link.uri.len() + link.name.len() + len(&link.title) + len(&link.description),
        ContentKind::Resource(contents) => of_contents(contents),
    }
}

fn content_footprint(content: &Content) -> usize {
    let len = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let kind = match &content.kind {
        ContentKind::Text(_) => 0,
        ContentKind::Image(_, mime) | ContentKind::Audio(_, mime) => mime.len(),
        ContentKind::Link(link) => {
            let icons: usize = link.icons.iter().map(icon_footprint).sum();
            let texts = len(&link.mime_type) + len(&link.annotations.last_modified);
            size_of_val(&**link) + texts + icons + meta_footprint(&link.meta)
        }
        ContentKind::Resource(contents) => {
            let (uri, mime) = (len(&contents.uri), len(&contents.mime_type));
            size_of_val(&**contents) + uri + mime + meta_footprint(&contents.meta)
        }
    };
    let modified = len(&content.annotations.last_modified);
    size_of::<Content>() + of_content(content) + kind + modified + meta_footprint(&content.meta)
}

fn icon_footprint(icon: &Icon) -> usize {
    let sizes: usize = icon.sizes.iter().map(|size| size_of::<String>() + size.len()).sum();
    size_of::<Icon>() + icon.src.len() + icon.mime_type.as_ref().map_or(0, String::len) + sizes
}

fn meta_footprint(members: &Meta) -> usize {
    // A map has links and free places besides its entries.
    members.iter().map(|(name, value)| 2 * size_of::<(String, Value)>() + name.len() + value_footprint(value)).sum()
}

fn value_footprint(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| size_of::<Value>() + value_footprint(item)).sum(),
        Value::Object(members) => meta_footprint(members),
    }
}
