//! Content blocks, the parts of tool results and prompt messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Annotations, Meta, ResourceContents, ResourceDescriptor, Role};

/// One block of content: text, an image, audio, or a resource, linked or embedded.
///
/// ```
/// use mcp_runtime::Content;
///
/// let answer = vec![Content::text("Here is the chart."), Content::image(b"\x89PNG...", "image/png")];
/// ```
///
/// A resource link carries a [`ResourceDescriptor`]:
///
/// ```
/// use mcp_runtime::Content;
/// use mcp_runtime::protocol::ResourceDescriptor;
///
/// let chart = ResourceDescriptor::new("chart://sales", "sales").with_mime("image/svg+xml");
/// let link = Content::link(chart);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    pub(crate) kind: ContentKind,
    pub(crate) annotations: Annotations,
    pub(crate) meta: Meta,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ContentKind {
    Text(String),
    /// Base64 data and its media type.
    Image(String, String),
    /// Base64 data and its media type.
    Audio(String, String),
    Link(Box<ResourceDescriptor>),
    Resource(Box<ResourceContents>),
}

impl Content {
    fn new(kind: ContentKind) -> Self {
        Content { kind, annotations: Annotations::default(), meta: Meta::new() }
    }

    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(ContentKind::Text(text.into()))
    }

    /// An image, from the bytes of its file. They are sent in base64.
    pub fn image(data: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::new(ContentKind::Image(BASE64.encode(data), mime_type.into()))
    }

    /// Audio, from the bytes of its file. They are sent in base64.
    pub fn audio(data: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::new(ContentKind::Audio(BASE64.encode(data), mime_type.into()))
    }

    /// A link to a resource the client can read.
    pub fn link(resource: ResourceDescriptor) -> Self {
        Self::new(ContentKind::Link(Box::new(resource)))
    }

    /// A resource embedded with its contents. The contents must [have a URI](ResourceContents::with_uri):
    /// unlike in a read, there is no requested one to fall back to.
    pub fn resource(contents: ResourceContents) -> Self {
        Self::new(ContentKind::Resource(Box::new(contents)))
    }

    /// Sets the intended audience.
    pub fn with_audience(mut self, audience: impl IntoIterator<Item = Role>) -> Self {
        self.annotations_mut().audience = audience.into_iter().collect();
        self
    }

    /// Sets the importance, from 0 (optional) to 1 (required).
    pub fn with_priority(mut self, priority: f64) -> Self {
        self.annotations_mut().priority = Some(priority);
        self
    }

    /// Sets when the content last changed, in ISO 8601.
    pub fn with_last_modified(mut self, time: impl Into<String>) -> Self {
        self.annotations_mut().last_modified = Some(time.into());
        self
    }

    /// Adds one `_meta` entry.
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        match &mut self.kind {
            ContentKind::Link(resource) => resource.meta.insert(key.into(), value.into()),
            _ => self.meta.insert(key.into(), value.into()),
        };
        self
    }

    /// The annotations. Those of a link are the descriptor's own.
    fn annotations_mut(&mut self) -> &mut Annotations {
        match &mut self.kind {
            ContentKind::Link(resource) => &mut resource.annotations,
            _ => &mut self.annotations,
        }
    }

    /// The text of a text block; `None` for other blocks.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            ContentKind::Text(text) => Some(text),
            ContentKind::Image(..) | ContentKind::Audio(..) | ContentKind::Link(_) | ContentKind::Resource(_) => None,
        }
    }
}

impl<T: Into<String>> From<T> for Content {
    fn from(text: T) -> Self {
        Content::text(text)
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Link<'a> {
            r#type: &'static str,
            #[serde(flatten)]
            resource: &'a ResourceDescriptor,
        }
        if let ContentKind::Link(resource) = &self.kind {
            return Link { r#type: "resource_link", resource }.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        match &self.kind {
            ContentKind::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            ContentKind::Image(data, mime) => media(&mut map, "image", data, mime)?,
            ContentKind::Audio(data, mime) => media(&mut map, "audio", data, mime)?,
            ContentKind::Resource(contents) => {
                map.serialize_entry("type", "resource")?;
                map.serialize_entry("resource", contents)?;
            }
            ContentKind::Link(_) => {}
        }
        if !self.annotations.is_empty() {
            map.serialize_entry("annotations", &self.annotations)?;
        }
        if !self.meta.is_empty() {
            map.serialize_entry("_meta", &self.meta)?;
        }
        map.end()
    }
}

fn media<M: SerializeMap>(map: &mut M, kind: &str, data: &str, mime: &str) -> Result<(), M::Error> {
    map.serialize_entry("type", kind)?;
    map.serialize_entry("data", data)?;
    map.serialize_entry("mimeType", mime)
}
