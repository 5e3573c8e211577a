//! Floods of messages, in either direction.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;

use super::start;

/// The most memory a small server may use under a flood, in KiB.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 24 * 1024;

/// Sends the same line `count` times, and expects no response.
fn flood(line: &'static str, count: usize) {
    let mut server = start();
    let writer = server.write_beside(move |input| {
        let many = format!("{line}\n").repeat(1000);
        (0..count / 1000).try_for_each(|_| input.write_all(many.as_bytes()))
    });
    server.rejoin(writer);
    server.serves();
    #[cfg(target_os = "linux")]
    assert!(server.peak() < MEMORY, "{} KiB in memory", server.peak());
    let (rest, log) = server.finish();
    assert_eq!((rest, log), (Vec::new(), String::new()));
}

#[test]
fn notification_flood_is_ignored() {
    flood(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#, 100_000);
}

#[test]
fn flood_of_cancellations_for_unknown_ids_is_ignored() {
    flood(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}"#, 100_000);
}

#[test]
fn flood_of_unsolicited_responses_is_ignored() {
    flood(r#"{"jsonrpc":"2.0","id":1,"result":{"x":[1,2,3]}}"#, 100_000);
}

#[test]
fn flood_of_blank_lines_is_ignored() {
    flood(" \r", 100_000);
}

#[test]
fn progress_flood_is_rate_limited() {
    const STEPS: u64 = 100_000;
    let mut server = start();
    let begun = Instant::now();
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "report", "arguments": {"steps": STEPS}, "_meta": {"progressToken": "t"}}}));
    let (mut reports, mut last) = (0, 0);
    let answer = loop {
        let message = server.next();
        if message["id"] == 1 {
            break message;
        }
        assert_eq!(message["params"]["progressToken"], "t", "{message}");
        let now = message["params"]["progress"].as_u64().unwrap();
        assert!(now > last, "{now} after {last}");
        (reports, last) = (reports + 1, now);
    };
    assert_eq!(answer["result"]["content"][0]["text"], "100000");
    assert_eq!(last, STEPS, "the end is told");
    // One in ten milliseconds, and the first and the last.
    let most = begun.elapsed().as_millis() / 10 + 2;
    assert!(reports <= most, "{reports} reports in {:?}", begun.elapsed());
    server.serves();
    server.finish();
}

#[test]
fn log_flood_to_slow_reader_is_complete_in_bounded_memory() {
    const MESSAGES: u64 = 100_000;
    let mut server = start();
    server.call(1, "log", &json!({"messages": MESSAGES, "bytes": 500}));
    // 50 MB are on their way, and the client does not read yet.
    std::thread::sleep(Duration::from_millis(300));
    for number in 0..MESSAGES {
        let message = server.next();
        assert_eq!(message["params"]["data"]["number"], number, "{message}");
    }
    assert_eq!(server.text(1), "100000");
    server.serves();
    #[cfg(target_os = "linux")]
    assert!(server.peak() < MEMORY, "{} KiB in memory", server.peak());
    server.finish();
}

#[test]
fn log_flood_can_be_cancelled() {
    let mut server = start();
    server.call(1, "log", &json!({"messages": 1_000_000_000, "bytes": 500}));
    assert_eq!(server.next()["params"]["data"]["number"], 0);
    server.notify("notifications/cancelled", &json!({"requestId": 1}));
    server.call(2, "quick", &json!({}));
    while server.next()["id"] != 2 {}
    // What was said before the cancellation may come after the answer to another call.
    let (rest, _) = server.finish();
    assert!(rest.iter().all(|line| line.contains("notifications/message")), "{rest:?}");
}
