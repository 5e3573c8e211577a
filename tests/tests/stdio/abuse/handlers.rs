//! Handlers that never return; `process.rs` has those that panic, print or block.

use serde_json::json;

use super::start;

#[test]
fn handler_that_never_returns_times_out() {
    let mut server = start();
    server.call(1, "forever_too_long", &json!({}));
    assert_eq!(
        server.answer(1)["result"],
        json!({"content": [{"type": "text", "text": "The tool timed out after 30ms."}], "isError": true})
    );
    server.serves();
    server.finish();
}

#[test]
fn handler_that_never_returns_frees_its_slot_when_cancelled() {
    let mut server = start();
    for round in 0..100 {
        // There are more rounds than `in_flight`: each cancellation has to free a slot.
        server.call(round, "forever", &json!({}));
        server.serves();
        server.notify("notifications/cancelled", &json!({"requestId": round, "reason": "bored"}));
        server.serves();
    }
    let (rest, _) = server.finish();
    assert_eq!(rest, [""; 0], "a cancelled call gets no response");
}

#[test]
fn cancelled_blocking_handler_does_not_keep_the_process_alive() {
    let mut server = start();
    server.call(1, "block", &json!({"ms": 60_000}));
    server.serves();
    server.notify("notifications/cancelled", &json!({"requestId": 1}));
    server.serves();
    // Its thread cannot be stopped, and does not keep the process alive.
    let (rest, _) = server.finish();
    assert_eq!(rest, [""; 0]);
}
