//! Resources and resource templates: their descriptors and contents.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/resources>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::{Annotations, Icon, Meta, ResultMeta};
use crate::protocol::CacheHint;

/// A resource, as `resources/list` describes it and [`Content::link`](crate::Content::link) refers to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceDescriptor {
    /// The URI requests use.
    pub uri: String,
    /// The name, which clients show where there is no title.
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the resource contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Icons to show beside the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Hints about audience, importance and age.
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
    /// The size of the contents in bytes, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Free-form metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl ResourceDescriptor {
    /// A resource with this URI and name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        ResourceDescriptor { uri: uri.into(), name: name.into(), ..Self::default() }
    }

    /// Sets the display name.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets what the resource contains.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds an icon.
    pub fn with_icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// Sets the media type.
    pub fn with_mime(mut self, mime: impl Into<String>) -> Self {
        self.mime_type = Some(mime.into());
        self
    }

    /// Sets the hints about audience, importance and age.
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// Sets the size in bytes.
    pub fn with_size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Adds one `_meta` entry.
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }
}

/// A resource template, as `resources/templates/list` describes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TemplateDescriptor {
    /// The RFC 6570 template of the URIs.
    pub uri_template: String,
    /// The name, which clients show where there is no title.
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the resources contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type, if all resources have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Icons to show beside the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Hints about audience, importance and age.
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
    /// Free-form metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

/// The contents of one resource.
///
/// A handler may omit the URI and the media type: they default to the requested URI and to the media
/// type of the `#[resource]` attribute.
///
/// ```
/// use mcp_runtime::protocol::ResourceContents;
///
/// let page = ResourceContents::text("<h1>Menu</h1>").with_uri("menu://today").with_mime("text/html");
/// assert_eq!(page.as_text(), Some("<h1>Menu</h1>"));
/// let picture = ResourceContents::blob([0x89, b'P', b'N', b'G']).with_mime("image/png");
/// assert_eq!(picture.as_text(), None);
/// ```
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

    /// Contents that are text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// Binary contents. They are sent in base64.
    pub fn blob(bytes: impl AsRef<[u8]>) -> Self {
        Self::new(Body::Blob(BASE64.encode(bytes)))
    }

    /// Binary contents already encoded in base64.
    pub(crate) fn base64(data: String) -> Self {
        Self::new(Body::Blob(data))
    }

    /// The text, if the contents are text.
    pub fn as_text(&self) -> Option<&str> {
        if let Body::Text(text) = &self.body { Some(text) } else { None }
    }

    pub(crate) fn text_mut(&mut self) -> Option<&mut String> {
        if let Body::Text(text) = &mut self.body { Some(text) } else { None }
    }

    /// The text, or the bytes in base64.
    pub(crate) fn encoded(&self) -> &str {
        let (Body::Text(data) | Body::Blob(data)) = &self.body;
        data
    }

    /// The size in bytes: of the text, or of the decoded base64.
    pub(crate) fn size(&self) -> u64 {
        let bytes = match &self.body {
            Body::Text(text) => text.len(),
            Body::Blob(data) => data.len() / 4 * 3 - data.bytes().rev().take_while(|byte| *byte == b'=').count(),
        };
        bytes as u64
    }

    /// Sets the URI of these contents. Needed where it differs from the requested one, and inside a
    /// [`Content`](crate::Content), where none was requested.
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

/// The complete result of `resources/read`, for handlers that set more than contents.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::protocol::{CacheHint, ReadResult, ResourceContents};
///
/// /// The menu, which clients may cache for an hour.
/// #[resource("menu://today")]
/// fn menu() -> ReadResult {
///     ReadResult::new([ResourceContents::text("soup")]).with_cache(CacheHint::public(Duration::from_secs(3600)))
/// }
///
/// assert_eq!(menu().contents()[0].as_text(), Some("soup"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ReadResult {
    pub(crate) contents: Vec<ResourceContents>,
    pub(crate) meta: ResultMeta,
    pub(crate) cache: Option<CacheHint>,
    /// Whether the resource has a `visible_if`, which makes the result private whatever the hint.
    pub(crate) guarded: bool,
}

impl ReadResult {
    /// A result with these contents.
    pub fn new(contents: impl IntoIterator<Item = ResourceContents>) -> Self {
        ReadResult {
            contents: contents.into_iter().collect(),
            meta: ResultMeta::default(),
            cache: None,
            guarded: false,
        }
    }

    /// The contents.
    pub fn contents(&self) -> &[ResourceContents] {
        &self.contents
    }

    /// Sets the cache hint. Default: the resource's own, else the server's.
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
