//! A whole conversation: no panic, no hang, only valid messages, one response per request, and a server that
//! still responds at the end.
//!
//! The first byte says how it begins: `1` to `4` with the handshake of a legacy revision, `a` to `d`
//! the same with a server that obeys `shutdown` and `exit`, anything else without. The rest is sent as it is, but
//! for `$m`, which stands for the `_meta` of a modern request.
#![no_main]

use std::sync::OnceLock;
use std::time::Instant;

use libfuzzer_sys::fuzz_target;
use mcp_fuzz::ledger::Ledger;
use mcp_fuzz::server::{DRAIN, let_handlers_panic, server};
use mcp_fuzz::wire::{self, Said};
use mcp_runtime::Revision;
use mcp_runtime::testing::TestClient;
use tokio::runtime::{Builder, Runtime};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"progressToken":"p","io.modelcontextprotocol/logLevel":"debug"}"#;

fuzz_target!(init: let_handlers_panic(), |input: &[u8]| {
    let Some((mode, script)) = input.split_first() else { return };
    let (revision, ends_on_request) = match mode {
        b'1'..=b'4' => (Some(mode - b'1'), false),
        b'a'..=b'd' => (Some(mode - b'a'), true),
        other => (None, *other == b'e'),
    };
    let mut sent = Vec::new();
    if let Some(revision) = revision {
        sent.extend_from_slice(handshake(Revision::ALL[usize::from(revision)]).as_bytes());
    }
    expand(script, &mut sent);
    let last = unused_id(&sent);
    let discover = format!(r#"{{"jsonrpc":"2.0","id":"{last}","method":"server/discover","params":{{{META}}}}}"#);
    sent.extend_from_slice(format!("\n{{\"jsonrpc\":\"2.0\",\"id\":\"{last}p\",\"method\":\"ping\"}}\n{discover}").as_bytes());

    let lines = talk(&sent, ends_on_request);
    let said: Vec<Said<'_>> = lines.iter().flat_map(|line| wire::read(line)).collect();
    let ledger = Ledger::new(&sent, &said, ends_on_request);
    ledger.check();
    for id in [format!("\"{last}\""), format!("\"{last}p\"")] {
        let answered = |said: &Said<'_>| matches!(said, Said::Answer { id: told, result: Some(_) } if *told == wire::key(&id));
        // After a `shutdown` requests are still answered, which the ledger checks, but with errors.
        assert!(ends_on_request || !ledger.is_sole(&id) || said.iter().any(answered), "no result for {id}");
    }
});

/// Sends everything, closes the input, and returns all lines from the server.
fn talk(sent: &[u8], ends_on_request: bool) -> Vec<String> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime =
        RUNTIME.get_or_init(|| Builder::new_current_thread().enable_time().build().expect("a runtime can be built"));
    let begun = Instant::now();
    let lines = runtime.block_on(async {
        let client = TestClient::connect_raw(server(ends_on_request));
        client.send_bytes(sent).expect("the server reads");
        client.close().await
    });
    assert!(begun.elapsed() < DRAIN / 2, "something kept the server waiting");
    match lines {
        Ok(lines) => lines,
        // `exit` without `shutdown`: pending output is lost with the connection.
        Err(error) if ends_on_request && error.to_string().contains("without `shutdown`") => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

fn handshake(revision: Revision) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"elicitation":{{}},"roots":{{}}}},"clientInfo":{{"name":"fuzzer","version":"1"}}}}}}"#
    ) + "\n"
}

/// Appends `script` with its abbreviations expanded.
fn expand(script: &[u8], out: &mut Vec<u8>) {
    let mut rest = script;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"$m") {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(META.as_bytes());
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest);
}

/// An id that no request uses, escapes aside.
fn unused_id(sent: &[u8]) -> String {
    let used = |id: &str| sent.windows(id.len()).any(|piece| piece == id.as_bytes());
    (0..=sent.len())
        .map(|number| format!("last{number}"))
        .find(|id| !used(id))
        .expect("there are more numbers than bytes")
}
