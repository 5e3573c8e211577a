//! The document that describes a protected resource, by which clients find the authorization server.
//! <https://www.rfc-editor.org/rfc/rfc9728#section-2>

use serde::Serialize;

/// The members of the document. What is not set is left out.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Metadata {
    pub(crate) resource: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) authorization_servers: Vec<String>,
    /// The least a client needs to begin with; more is asked for by challenges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) scopes_supported: Vec<Box<str>>,
    pub(crate) bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_documentation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_policy_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_tos_uri: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) tls_client_certificate_bound_access_tokens: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) dpop_signing_alg_values_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) dpop_bound_access_tokens_required: bool,
}

impl Metadata {
    pub(crate) fn new() -> Self {
        Metadata { bearer_methods_supported: ["header"], ..Metadata::default() }
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(value: &bool) -> bool {
    !value
}
