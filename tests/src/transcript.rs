//! Bytes in, bytes out: a conversation in a file, run against a server.
//!
//! A transcript is a text file. `> line` is sent as it is; `< line` must be the next line from
//! the server, byte for byte; `# text` is a comment. `> ` alone sends an empty line. Consecutive
//! lines that begin with `~ ` are expected in any order, for messages of concurrent tasks. `!`
//! closes the input; `< ` and `~ ` after it are expected after that. At the end the input is
//! closed, and the server must send nothing more.
//!
//! Values that differ each time have placeholders: the first `requestState` of a conversation is
//! `«requestState-1»`, in expected and in sent lines; see `placeholders.rs`.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use mcp_runtime::Server;
use mcp_runtime::testing::TestClient;

use crate::placeholders::Placeholders;

/// Runs the transcript at `path`; the error shows what differs. With `UPDATE` in the environment
/// the server's lines are written into the file instead, to be read before they are kept.
pub async fn run(path: &Path, server: Server) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut peer = Peer::Open(Box::new(TestClient::connect_raw(server)));
    let mut placeholders = Placeholders::default();
    let mut problems = String::new();
    let mut updated = String::new();
    let mut lines = text.split_terminator('\n').enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let place = format!("{}:{}", path.display(), number + 1);
        let mut kept = line.to_owned();
        if let Some(message) = line.strip_prefix("> ") {
            peer.send(&placeholders.values_in(message)).map_err(|error| format!("{place}: {error}"))?;
        } else if let Some(expected) = line.strip_prefix("< ") {
            let actual = placeholders.in_place_of_values(&peer.receive().await);
            if actual != expected {
                let _ = writeln!(problems, "{place}\n  expected {expected}\n  got      {actual}");
                kept = format!("< {actual}");
            }
        } else if let Some(expected) = line.strip_prefix("~ ") {
            let mut group = vec![expected];
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with("~ ")) {
                group.push(&line[2..]);
            }
            let (missing, unexpected) = in_any_order(&mut group, &mut peer, &mut placeholders).await;
            for (missing, unexpected) in missing.iter().zip(&unexpected) {
                let _ = writeln!(problems, "{place}\n  expected {missing}\n  got      {unexpected}");
            }
            group.retain(|line| !missing.contains(line));
            group.extend(unexpected.iter().map(String::as_str));
            kept = group.iter().map(|line| format!("~ {line}")).collect::<Vec<_>>().join("\n");
        } else if line == "!" {
            peer = peer.close().await.map_err(|error| format!("{place}: {error}"))?;
        } else if !line.is_empty() && !line.starts_with('#') {
            return Err(format!("{place}: a line begins with `> `, `< `, `~ `, `!` or `#`"));
        }
        let _ = writeln!(updated, "{kept}");
    }
    if let Peer::Closed(unread) = peer.close().await.map_err(|error| format!("{}: {error}", path.display()))? {
        for line in unread {
            let _ = writeln!(problems, "{}: at the end, unexpected\n  {line}", path.display());
        }
    }
    if !problems.is_empty() && std::env::var_os("UPDATE").is_some() {
        return std::fs::write(path, updated).map_err(|error| format!("{}: {error}", path.display()));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Receives as many lines as are expected. Returns the expected lines that are missing, and the others.
async fn in_any_order<'a>(
    expected: &mut [&'a str],
    peer: &mut Peer,
    placeholders: &mut Placeholders,
) -> (Vec<&'a str>, Vec<String>) {
    let mut missing = expected.to_vec();
    let mut unexpected = Vec::new();
    for _ in 0..expected.len() {
        let actual = placeholders.in_place_of_values(&peer.receive().await);
        match missing.iter().position(|line| *line == actual) {
            Some(at) => drop(missing.remove(at)),
            None => unexpected.push(actual),
        }
    }
    (missing, unexpected)
}

/// The server's end of the conversation.
enum Peer {
    Open(Box<TestClient>),
    /// The input is closed, and the server has ended; the lines that are not read yet.
    Closed(VecDeque<String>),
}

impl Peer {
    fn send(&self, line: &str) -> Result<(), String> {
        match self {
            Peer::Open(client) => client.send(line).map_err(|error| error.to_string()),
            Peer::Closed(_) => Err("the input is closed".to_owned()),
        }
    }

    /// The next line, or an error in parentheses.
    async fn receive(&mut self) -> String {
        match self {
            Peer::Open(client) => match tokio::time::timeout(Duration::from_secs(10), client.receive()).await {
                Ok(Ok(line)) => line,
                Ok(Err(error)) => format!("({error})"),
                Err(_) => "(nothing)".to_owned(),
            },
            Peer::Closed(unread) => unread.pop_front().unwrap_or_else(|| "(nothing)".to_owned()),
        }
    }

    /// Closes the input and waits for the server to end.
    async fn close(self) -> Result<Self, String> {
        match self {
            Peer::Open(client) => {
                let unread = client.close().await.map_err(|error| error.to_string())?;
                Ok(Peer::Closed(unread.into()))
            }
            closed @ Peer::Closed(_) => Ok(closed),
        }
    }
}
