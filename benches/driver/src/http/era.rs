//! The form of a call in each of the two eras of HTTP: stateless, or in a session.

use std::fmt;

use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Every request describes itself, in its headers and its `_meta`.
    Modern,
    /// Requests belong to a session that `initialize` opened, where the server has sessions.
    Legacy,
}

impl Era {
    pub const ALL: [Self; 2] = [Self::Modern, Self::Legacy];

    pub fn revision(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }

    /// A call of `add`. Its arguments differ from call to call, so that no server can answer from memory.
    pub fn call(self, id: u64) -> Value {
        let mut params = json!({ "name": "add", "arguments": { "a": id, "b": 1_000_000 } });
        if self == Self::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision(),
                "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    }

    /// The headers of a call, besides those every request has.
    pub fn headers(self, session: Option<&str>) -> String {
        let version = format!("Mcp-Protocol-Version: {}\r\n", self.revision());
        match (self, session) {
            (Self::Modern, _) => version + "Mcp-Method: tools/call\r\nMcp-Name: add\r\n",
            (Self::Legacy, Some(session)) => version + &format!("Mcp-Session-Id: {session}\r\n"),
            (Self::Legacy, None) => version,
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.revision())
    }
}
