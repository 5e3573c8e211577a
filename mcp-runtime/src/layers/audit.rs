//! [`Audit`]: a log of who called what.

use std::fmt;
use std::fmt::Write as _;
use std::time::Instant;

use ring::{digest, hmac};

use super::{Call, Layer, Next, Outcome};
use crate::jsonrpc::error::shorten;

/// Logs each call when it ends: who called what, with a hash of the arguments, and what came of it.
///
/// Events have the `tracing` target `mcp_runtime::audit` and the level `INFO`, so that a subscriber can send them to a file
/// of their own:
///
/// ```
/// use mcp_runtime::layers::Audit;
/// use mcp_runtime::prelude::*;
///
/// let server = Server::new("payments", "1.0.0").layer(Audit::new());
/// ```
///
/// | field | |
/// |---|---|
/// | `kind`, `name` | what was called: `tool`, `"transfer"`. Of a resource template, the template |
/// | `user`, `issuer` | the authenticated caller, and who vouches for them |
/// | `client`, `peer` | the name the client gives itself, its address |
/// | `request_id` | the id of the HTTP request, with [`HttpService::request_ids`](crate::http::HttpService::request_ids) |
/// | `jsonrpc_id`, `revision` | of the request |
/// | `arguments` | the SHA-256 of their JSON text, or the HMAC with a [key](Self::keyed); of a template, its variables |
/// | `outcome` | `ok`, `is_error`, `dropped` (cancelled, timed out, or waiting for the client's answers in another round), or the [kind](super::ErrorKind) of the error |
/// | `code` | the JSON-RPC code, if the error has one of its own |
/// | `bytes`, `took_ms` | the size of the result, and how long it took |
///
/// What callers and clients choose is quoted, shortened, and without control characters: no name can forge a line. Arguments
/// and results are not logged. Add it first, so that it sees what clients get.
#[derive(Default)]
pub struct Audit {
    key: Option<hmac::Key>,
}

impl Audit {
    /// Hashes arguments with SHA-256. The same arguments have the same hash; short ones can be guessed from it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hashes arguments with HMAC-SHA256, so that nobody without the secret can guess them.
    pub fn keyed(secret: impl AsRef<[u8]>) -> Self {
        Audit { key: Some(hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref())) }
    }

    fn hash(&self, arguments: &str) -> String {
        let mut text = String::with_capacity(64);
        let mut write = |bytes: &[u8]| {
            for byte in bytes {
                // Writing to a string cannot fail.
                let _ = write!(text, "{byte:02x}");
            }
        };
        match &self.key {
            Some(key) => write(hmac::sign(key, arguments.as_bytes()).as_ref()),
            None => write(digest::digest(&digest::SHA256, arguments.as_bytes()).as_ref()),
        }
        text
    }
}

/// A call that is to be logged: also if it is dropped.
struct Record {
    call: Call,
    arguments: String,
    begun: Instant,
    result: &'static str,
    code: Option<i32>,
    bytes: usize,
}

impl Drop for Record {
    fn drop(&mut self) {
        let Record { call, arguments, begun, result, code, bytes } = self;
        let ctx = call.ctx();
        let (issuer, user) = call.caller_name();
        #[cfg(feature = "http")]
        let peer = ctx.peer().map(tracing::field::display);
        #[cfg(not(feature = "http"))]
        let peer: Option<&str> = None;
        #[cfg(feature = "http")]
        let request_id = ctx.http_request_id();
        #[cfg(not(feature = "http"))]
        let request_id: Option<&str> = None;
        let quoted = |text: Option<&str>| text.map(|text| tracing::field::debug(shorten(text).into_owned()));
        tracing::info!(
            target: "mcp_runtime::audit",
            kind = call.kind().as_str(),
            name = quoted(Some(call.handler_name())),
            user = quoted(user),
            issuer = quoted(issuer),
            client = quoted(ctx.client_name()),
            peer,
            request_id,
            jsonrpc_id = quoted(Some(ctx.request_id())),
            revision = call.revision().as_str(),
            arguments,
            outcome = result,
            code,
            bytes,
            took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            "call"
        );
    }
}

impl Layer for Audit {
    async fn call(&self, call: Call, next: Next) -> Outcome {
        let arguments = self.hash(call.arguments());
        let (begun, logged) = (Instant::now(), call.clone());
        let mut record = Record { call: logged, arguments, begun, result: "dropped", code: None, bytes: 0 };
        let outcome = next.run(call).await;
        record.bytes = outcome.size();
        (record.result, record.code) = match outcome.error() {
            Some(error) => (error.kind().as_str(), error.code()),
            None if outcome.is_error() => ("is_error", None),
            None => ("ok", None),
        };
        outcome
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Audit")
    }
}
