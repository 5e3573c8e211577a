//! What several pages of the specification share: icons, annotations, `_meta`, names.

use serde::{Deserialize, Serialize};

/// Free-form metadata, the `_meta` member of results and descriptors.
pub type Meta = serde_json::Map<String, serde_json::Value>;

/// An image a client may show beside a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// An `https:` or `data:` URI.
    pub src: String,
    /// The image's media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes it is good for, like `48x48` or `any`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
}

impl Icon {
    /// The icon at `src`.
    pub fn new(src: impl Into<String>) -> Self {
        Icon { src: src.into(), mime_type: None, sizes: Vec::new() }
    }
}

/// Who a message or a piece of content is by or for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints on who content is for and how much it matters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// Who it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// How much it matters, from 0 (optional) to 1 (required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it last changed, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl Annotations {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Annotations::default()
    }
}

/// A program's name and version, as each side tells the other.
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

/// Something a client can be asked, if it says so.
/// <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#capabilities>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientCapability {
    /// To have a person fill in a form.
    Elicitation,
    /// To have a person visit a page.
    ElicitationUrl,
    /// To have its model say something.
    Sampling,
    /// To have its model say something, with tools.
    SamplingTools,
    /// To give its model what else it knows.
    SamplingContext,
    /// Which directories it works in.
    Roots,
    /// To come back for what takes long.
    Tasks,
}

/// What the extension is called.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
