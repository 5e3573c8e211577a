//! [`Failed`]: why a message over HTTP was not answered.

use std::io::ErrorKind;

/// The most of an error page that is shown.
const SHOWN: usize = 300;

/// Why a message was not answered.
pub(super) struct Failed {
    pub(super) text: String,
    pub(super) status: Option<u16>,
}

impl Failed {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Failed { text: text.into(), status: None }
    }

    pub(super) fn unreachable(url: &str, error: &ureq::Error) -> Self {
        match error {
            ureq::Error::Io(cause) if is_cut(cause.kind()) => Failed::new(format!(
                "{url} closed the connection before it answered; is a server there, and is it HTTP?"
            )),
            _ => Failed::new(format!("cannot reach {url}: {error}")),
        }
    }

    pub(super) fn refused(status: u16, body: &str) -> Self {
        let shown: String = body.trim().chars().take(SHOWN).collect();
        let hint = match status {
            401 => "; pass `--header 'Authorization: Bearer …'`",
            404 => "; is the path right? Most servers are at /mcp",
            _ => "",
        };
        let text = format!("HTTP status {status}{}{shown}{hint}", if shown.is_empty() { "" } else { ": " });
        Failed { text, status: Some(status) }
    }
}

/// Whether the server closed the connection while a request was sent. It may have answered before it read the body.
pub(super) fn is_cut(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}
