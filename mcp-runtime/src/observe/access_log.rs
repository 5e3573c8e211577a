//! [`AccessLog`]: one line per request.

use std::fmt;
use std::sync::LazyLock;

use super::{Finished, Observer, Outcome, Repeated};

/// What refused requests are told apart by: method, code and status.
type RefusalKind = (Box<str>, Option<i32>, Option<u16>);

/// The refused requests of this process.
static REFUSED: LazyLock<Repeated<RefusalKind>> = LazyLock::new(Repeated::default);

/// Of a text from the wire, a line shows so many characters.
const SHOWN: usize = 64;

/// An [`Observer`] that logs one line per request: a `tracing` event of level INFO and target `mcp_runtime::access`.
///
/// Fields: `method`, `target_name`, `outcome`, `code`, `micros`, `revision`, `transport`, `status`, `bytes_in`,
/// `bytes_out`, `user`, `peer`, `session` (a hash), `request_id` (of the HTTP request), `client` and `client_version`. What clients choose is bounded, and
/// its control characters are escaped: a name cannot forge a line. Neither arguments nor results are logged.
///
/// Refused requests cost their senders nothing, so of each method, code and status one per second is logged; `more` is how many
/// were not logged since.
///
/// ```
/// use mcp_runtime::Server;
/// use mcp_runtime::observe::AccessLog;
///
/// let server = Server::new("notes", "1.0.0").observe(AccessLog);
/// ```
///
/// ```text
/// INFO mcp_runtime::access: request method="tools/call" target_name=add outcome="answered" micros=41 revision="2025-11-25"
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct AccessLog;

impl Observer for AccessLog {
    fn finished(&self, request: &Finished<'_>) {
        if !tracing::enabled!(target: "mcp_runtime::access", tracing::Level::INFO) {
            return;
        }
        // Whoever is refused can send as many as they like. Methods, codes and statuses are few.
        let more = match request.outcome {
            Outcome::Refused => match REFUSED.is_due((request.method.into(), request.code, request.status)) {
                Some(more) => (more > 0).then_some(more),
                None => return,
            },
            _ => None,
        };
        let client = request.client();
        let (name, version) = client.map(|client| (client.name, client.version)).unzip();
        let micros = u64::try_from(request.duration.as_micros()).unwrap_or(u64::MAX);
        tracing::info!(
            target: "mcp_runtime::access",
            method = request.method,
            target_name = request.target.map(shown),
            outcome = request.outcome.as_str(),
            code = request.code,
            micros,
            revision = request.revision.map(crate::Revision::as_str),
            transport = request.transport.as_str(),
            status = request.status,
            bytes_in = request.bytes_in,
            bytes_out = request.bytes_out,
            user = request.user.map(shown),
            peer = request.peer.map(tracing::field::display),
            session = request.session.map(tracing::field::display),
            request_id = request.http_request_id.map(tracing::field::display),
            client = name.as_deref().map(shown),
            client_version = version.as_deref().map(shown),
            more,
            "request"
        );
    }
}

fn shown(text: &str) -> tracing::field::DisplayValue<Shown<'_>> {
    tracing::field::display(Shown(text))
}

/// A text from the wire on one line: shortened, with everything escaped that could end the line, the field or its
/// quotes, or direct a terminal.
#[derive(Debug)]
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;

        let mut characters = self.0.chars();
        for character in characters.by_ref().take(SHOWN) {
            match character {
                // Spaces and `=` would look like another field.
                ' ' | '=' | '"' | '\\' => write!(f, "\\x{:02x}", u32::from(character))?,
                plain if plain.is_ascii_graphic() || plain.is_alphanumeric() => f.write_char(plain)?,
                // Controls, line separators, directional marks and the like.
                other => write!(f, "{}", other.escape_unicode())?,
            }
        }
        if characters.next().is_some() { f.write_char('…') } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_strangers_stays_on_its_line_and_in_its_field() {
        assert_eq!(Shown("add").to_string(), "add");
        assert_eq!(Shown("a\nINFO mcp user=\"root\"").to_string(), r"a\u{a}INFO\x20mcp\x20user\x3d\x22root\x22");
        assert_eq!(Shown("\u{1b}[2J\u{202e}\u{2028}ü").to_string(), r"\u{1b}[2J\u{202e}\u{2028}ü");
        assert_eq!(Shown(&"x".repeat(100_000)).to_string().chars().count(), SHOWN + 1);
    }
}
