//! Types shared by several pages of the specification: icons, annotations, `_meta`, capabilities.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// Free-form metadata, the `_meta` member of results and descriptors.
pub type Meta = serde_json::Map<String, serde_json::Value>;

/// An image a client may show beside a name.
///
/// ```
/// use mcp_runtime::protocol::Icon;
/// use mcp_runtime::Server;
///
/// let icon = Icon::new("https://example.com/icon.png").with_mime("image/png").with_sizes(["48x48", "96x96"]);
/// let server = Server::new("atlas", "1.0.0").icon(icon);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// An `https:` or `data:` URI.
    pub src: String,
    /// The media type of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes the image suits, such as `48x48`, or `any` for a scalable one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
}

impl Icon {
    /// The icon at `src`, an `https:` or `data:` URI.
    pub fn new(src: impl Into<String>) -> Self {
        Icon { src: src.into(), mime_type: None, sizes: Vec::new() }
    }

    /// Sets the media type, such as `image/png`.
    pub fn with_mime(mut self, mime: impl Into<String>) -> Self {
        self.mime_type = Some(mime.into());
        self
    }

    /// Sets the sizes the image suits, such as `48x48`, or `any` for a scalable one.
    pub fn with_sizes(mut self, sizes: impl IntoIterator<Item: Into<String>>) -> Self {
        self.sizes = sizes.into_iter().map(Into::into).collect();
        self
    }
}

/// The author of a message, or the audience of a content block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// Hints about content: its audience, importance and age.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// The intended audience.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// The importance, from 0 (optional) to 1 (required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When the content last changed, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl Annotations {
    /// No annotations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the intended audience.
    pub fn with_audience(mut self, audience: impl IntoIterator<Item = Role>) -> Self {
        self.audience = audience.into_iter().collect();
        self
    }

    /// Sets the importance, from 0 (optional) to 1 (required).
    pub fn with_priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets when the content last changed, in ISO 8601.
    pub fn with_last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Annotations::default()
    }
}

/// The name and version of a client or server, as exchanged in the handshake.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Implementation {
    pub(crate) name: String,
    pub(crate) version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) website_url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) icons: Vec<Icon>,
}

/// A capability a client declares: a kind of request the server may make of it.
/// <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#capabilities>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientCapability {
    /// The user fills in a form.
    Elicitation,
    /// The user visits a page.
    ElicitationUrl,
    /// The client's model generates a message.
    Sampling,
    /// The client's model generates a message and may use tools.
    SamplingTools,
    /// The client adds context from servers to a sampling request.
    SamplingContext,
    /// The client lists the directories it works in.
    Roots,
    /// The client polls for the result of a long-running call.
    Tasks,
}

/// The identifier of the tasks extension.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The `_meta` of a result, which most do not have: a [`Meta`] that takes the size of a pointer, and nothing while it is empty: a result is moved several times on its way to
/// the client, and a map of its own would be more than half of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResultMeta(Option<Box<Meta>>);

impl ResultMeta {
    pub(crate) fn into_inner(self) -> Meta {
        self.0.map(|meta| *meta).unwrap_or_default()
    }
}

impl Deref for ResultMeta {
    type Target = Meta;

    fn deref(&self) -> &Meta {
        static EMPTY: OnceLock<Meta> = OnceLock::new();
        match &self.0 {
            Some(meta) => meta,
            None => EMPTY.get_or_init(Meta::new),
        }
    }
}

impl DerefMut for ResultMeta {
    fn deref_mut(&mut self) -> &mut Meta {
        self.0.get_or_insert_default()
    }
}
