//! Roots: the directories a client works in.
//! <https://modelcontextprotocol.io/specification/2026-07-28/client/roots>

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::jsonrpc::error::without_position;

/// A directory or file the client works in. It tells where to look, not what may be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// Where it is: a `file://` URI.
    pub uri: String,
    /// The name people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// Reads the result of `roots/list`.
    pub(crate) fn read(result: &Value) -> Result<Vec<Root>, String> {
        let roots = result.get("roots").ok_or("the client's answer to roots/list has no `roots`")?;
        Vec::deserialize(roots)
            .map_err(|error| format!("the client's answer to roots/list is not valid: {}", without_position(&error)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn roots_have_a_uri_and_may_have_a_name() {
        let read = Root::read(&json!({"roots": [
            {"uri": "file:///a", "name": "A", "_meta": {}},
            {"uri": "file:///b", "name": null},
            {"uri": "file:///c"},
        ]}))
        .unwrap();
        let named = |uri: &str, name: Option<&str>| Root { uri: uri.into(), name: name.map(Into::into) };
        assert_eq!(read, [named("file:///a", Some("A")), named("file:///b", None), named("file:///c", None)]);
        assert_eq!(Root::read(&json!({"roots": []})).unwrap(), []);
    }

    #[test]
    fn other_answers_are_refused() {
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
