//! Bytes in, bytes out: a conversation in a file, run against a server.
//!
//! A transcript is a text file. `> line` is sent as it is; `< line` must be the next line from
//! the server, byte for byte; `# text` is a remark. `> ` alone sends an empty line. After the last
//! line the input is closed, and the server must have nothing more to say.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use mcp_runtime::{Server, TestClient};

/// Runs the transcript at `path`; the error shows what differs. With `UPDATE` in the environment
/// the server's lines are written into the file instead, to be read before they are kept.
pub async fn run(path: &Path, server: Server) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let client = TestClient::silent(server);
    let mut problems = String::new();
    let mut updated = String::new();
    for (number, line) in text.split_terminator('\n').enumerate() {
        let mut kept = line.to_owned();
        let place = format!("{}:{}", path.display(), number + 1);
        if let Some(message) = line.strip_prefix("> ") {
            client.send(message).map_err(|error| format!("{place}: {error}"))?;
        } else if let Some(expected) = line.strip_prefix("< ") {
            let wait = tokio::time::timeout(Duration::from_secs(10), client.receive());
            let actual = match wait.await {
                Ok(Ok(line)) => line,
                Ok(Err(error)) => format!("({error})"),
                Err(_) => "(nothing)".to_owned(),
            };
            if actual != expected {
                let _ = writeln!(problems, "{place}\n  expected {expected}\n  got      {actual}");
                kept = format!("< {actual}");
            }
        } else if !line.is_empty() && !line.starts_with('#') {
            return Err(format!("{place}: a line begins with `> `, `< ` or `#`"));
        }
        let _ = writeln!(updated, "{kept}");
    }
    let unread = client.close().await.map_err(|error| format!("{}: {error}", path.display()))?;
    for line in unread {
        let _ = writeln!(problems, "{}: at the end, unexpected\n  {line}", path.display());
    }
    if !problems.is_empty() && std::env::var_os("UPDATE").is_some() {
        return std::fs::write(path, updated).map_err(|error| format!("{}: {error}", path.display()));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
