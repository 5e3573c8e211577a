//! Hostile clients, against a real process: each gets the right answer, or rightly none, and the
//! next ordinary request is served. `mcp-runtime/docs/abuse.md` is the table of them.

mod endings;
mod floods;
mod handlers;
mod messages;
mod order;
mod sizes;
mod table;

use mcp_tests::process::Process;
use serde_json::Value;

/// A server whose handlers misbehave.
const MISBEHAVING: &str = env!("CARGO_BIN_EXE_misbehaving");

/// A request of 2026-07-28 needs these, whatever the session is.
const MODERN: &str =
    r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn start() -> Process {
    Process::start(MISBEHAVING)
}

/// A line with an error.
fn error(id: &str, code: i32, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{}}}}}"#, Value::from(message))
}

/// Sends each line of `abuse`; what is said to it is `expected`, byte for byte, and then an ordinary
/// call is served.
#[track_caller]
fn gets<'a>(server: &mut Process, abuse: impl AsRef<[u8]>, expected: impl IntoIterator<Item = &'a str>) {
    server.write(abuse);
    server.write("\n");
    for line in expected {
        assert_eq!(server.line(), line);
    }
    server.serves();
}

/// Like [`gets`], with nothing said.
#[track_caller]
fn gets_nothing(server: &mut Process, abuse: impl AsRef<[u8]>) {
    gets(server, abuse, []);
}
