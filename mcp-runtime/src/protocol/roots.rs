//! Roots: the directories a client works in.
//! <https://modelcontextprotocol.io/specification/2026-07-28/client/roots>

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::jsonrpc::error::without_position;

/// A directory or file the client works in. Roots are hints where to look; they grant no access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// The `file://` URI.
    pub uri: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// The root at a `file://` URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Root { uri: uri.into(), name: None }
    }

    /// Sets the display name.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Reads the result of `roots/list`.
    pub(crate) fn read(result: &Value) -> Result<Vec<Root>, String> {
        let roots = result.get("roots").ok_or("the client's answer to roots/list has no `roots`")?;
        Vec::deserialize(roots)
            .map_err(|error| format!("the client's answer to roots/list is not valid: {}", without_position(&error)))
    }
}

/// A URI and a display name.
impl<U: Into<String>, N: Into<String>> From<(U, N)> for Root {
    fn from((uri, name): (U, N)) -> Self {
        Root::new(uri).with_name(name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn root_has_a_uri_and_an_optional_name() {
        let read = Root::read(&json!({"roots": [
            {"uri": "file:///a", "name": "A", "_meta": {}},
            {"uri": "file:///b", "name": null},
            {"uri": "file:///c"},
        ]}))
        .unwrap();
        assert_eq!(read, [("file:///a", "A").into(), Root::new("file:///b"), Root::new("file:///c")]);
        assert_eq!(Root::read(&json!({"roots": []})).unwrap(), []);
    }

    #[test]
    fn malformed_roots_result_is_rejected() {
        for (result, why) in [
            (json!({}), "has no `roots`"),
            (json!({"roots": {}}), "is not valid"),
            (json!({"roots": [{"name": "A"}]}), "missing field `uri`"),
        ] {
            let error = Root::read(&result).unwrap_err();
            assert!(error.contains(why) && error.contains("roots/list"), "{error}");
        }
    }
}
