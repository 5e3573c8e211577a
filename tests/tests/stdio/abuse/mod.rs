//! Hostile and broken clients against a server process: each gets the documented response or none, and the
//! next valid request is served. `mcp-runtime/docs/abuse.md` lists them.

mod endings;
mod floods;
mod handlers;
mod messages;
mod order;
mod sizes;
mod table;
mod unread_log;

use mcp_tests::process::Process;
use serde_json::Value;

/// A server whose handlers misbehave.
const MISBEHAVING: &str = env!("CARGO_BIN_EXE_misbehaving");

/// The `_meta` that a request of 2026-07-28 needs, whatever the session is.
const MODERN: &str =
    r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn start() -> Process {
    Process::start(MISBEHAVING)
}

/// An error response.
fn error(id: &str, code: i32, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{}}}}}"#, Value::from(message))
}

/// Sends each line of `abuse` and expects these responses, byte for byte. Then the server answers a valid call.
#[track_caller]
fn gets<'a>(server: &mut Process, abuse: impl AsRef<[u8]>, expected: impl IntoIterator<Item = &'a str>) {
    server.write(abuse);
    server.write("\n");
    for line in expected {
        assert_eq!(server.line(), line);
    }
    server.serves();
}

/// Like [`gets`], without a response.
#[track_caller]
fn gets_nothing(server: &mut Process, abuse: impl AsRef<[u8]>) {
    gets(server, abuse, []);
}
