//! Resources and resource templates: their descriptors and contents.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/resources>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::{Annotations, Icon, Meta};
use crate::protocol::CacheHint;

/// What `resources/list` tells of a resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceDescriptor {
    /// Where it is.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// The name people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Images beside the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Who it is for and how much it matters.
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Free-form metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl ResourceDescriptor {
    /// A resource at `uri`, called `name`.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        ResourceDescriptor { uri: uri.into(), name: name.into(), ..Self::default() }
    }
}

/// What `resources/templates/list` tells of a template.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TemplateDescriptor {
    /// The RFC 6570 template of its URIs.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// The name people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What its resources hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type they share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Images beside the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Who they are for and how much they matter.
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
    /// Free-form metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

/// The contents of one resource.
///
/// A handler may leave out the URI and the media type: they are those of the request and of the
/// `#[resource]` attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceContents {
    pub(crate) uri: Option<String>,
    pub(crate) mime_type: Option<String>,
    pub(crate) body: Body,
    pub(crate) meta: Meta,
}

/// Text, or bytes in base64.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Text(String),
    Blob(String),
}

impl ResourceContents {
    fn new(body: Body) -> Self {
        ResourceContents { uri: None, mime_type: None, body, meta: Meta::new() }
    }

    /// Text contents.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// Binary contents.
    pub fn blob(bytes: impl AsRef<[u8]>) -> Self {
        Self::new(Body::Blob(BASE64.encode(bytes)))
    }

    /// Binary contents that are in base64 already.
    pub(crate) fn base64(data: String) -> Self {
        Self::new(Body::Blob(data))
    }

    /// How many bytes the resource has: those of the text, or those the base64 stands for.
    pub(crate) fn size(&self) -> u64 {
        let bytes = match &self.body {
            Body::Text(text) => text.len(),
            Body::Blob(data) => data.len() / 4 * 3 - data.bytes().rev().take_while(|byte| *byte == b'=').count(),
        };
        bytes as u64
    }

    /// Sets the URI of these contents, where it is not the one that was asked for, or where none was:
    /// inside a [`Content`](crate::Content).
    pub fn with_uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// Sets the media type.
    pub fn with_mime(mut self, mime: impl Into<String>) -> Self {
        self.mime_type = Some(mime.into());
        self
    }

    /// Adds one `_meta` entry.
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", self.uri.as_deref().unwrap_or_default())?;
        if let Some(mime) = &self.mime_type {
            map.serialize_entry("mimeType", mime)?;
        }
        match &self.body {
            Body::Text(text) => map.serialize_entry("text", text)?,
            Body::Blob(data) => map.serialize_entry("blob", data)?,
        }
        if !self.meta.is_empty() {
            map.serialize_entry("_meta", &self.meta)?;
        }
        map.end()
    }
}

/// The whole result of `resources/read`.
#[derive(Debug, Clone, Default)]
pub struct ReadResult {
    pub(crate) contents: Vec<ResourceContents>,
    pub(crate) meta: Meta,
    pub(crate) cache: Option<CacheHint>,
    /// Not for everybody, whatever the hint says.
    pub(crate) guarded: bool,
}

impl ReadResult {
    /// A result of these contents.
    pub fn new(contents: impl IntoIterator<Item = ResourceContents>) -> Self {
        ReadResult { contents: contents.into_iter().collect(), meta: Meta::new(), cache: None, guarded: false }
    }

    /// Says how long the client may keep it; without, it is the resource's own hint, or the server's.
    pub fn with_cache(mut self, cache: CacheHint) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Adds one `_meta` entry.
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }
}
