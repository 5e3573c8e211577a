//! [`Link`]: links that install a server with a click.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use super::launch::Launch;

/// The links of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Link {
    Cursor,
    VsCode,
    LmStudio,
    Goose,
}

impl Link {
    /// The link that installs a server, or why there is none.
    pub(crate) fn install(
        self,
        name: &str,
        launch: &Launch,
        entry: &Map<String, Value>,
    ) -> Result<String, &'static str> {
        let json = Value::Object(entry.clone()).to_string();
        let config = percent(&BASE64.encode(&json));
        let named = || {
            let mut named = Map::from_iter([("name".to_owned(), name.into())]);
            named.extend(entry.clone());
            Value::Object(named).to_string()
        };
        let name = percent(name);
        Ok(match self {
            Link::Cursor => format!("cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={config}"),
            Link::LmStudio => format!("lmstudio://add_mcp?name={name}&config={config}"),
            Link::VsCode => format!("vscode:mcp/install?{}", percent(&named())),
            Link::Goose => match launch {
                Launch::Http { url, .. } => {
                    let url = percent(url);
                    format!("goose://extension?url={url}&type=streamable_http&id={name}&name={name}&description={name}")
                }
                Launch::Command { .. } => {
                    return Err("goose opens links only to npx, uvx, docker, jbang and goosed, not to other programs");
                }
            },
        })
    }
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
fn percent(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
