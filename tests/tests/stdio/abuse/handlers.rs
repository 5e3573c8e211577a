//! Handlers that do not behave; what else they do wrong is in `process.rs`.

use serde_json::json;

use super::start;

#[test]
fn a_handler_that_never_returns_and_is_given_up() {
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
fn a_handler_that_never_returns_and_is_cancelled() {
    let mut server = start();
    for round in 0..100 {
        // One more than there may be at a time is refused, unless the last was gone.
        server.call(round, "forever", &json!({}));
        server.serves();
        server.notify("notifications/cancelled", &json!({"requestId": round, "reason": "bored"}));
        server.serves();
    }
    let (rest, _) = server.finish();
    assert_eq!(rest, [""; 0], "what is cancelled is not answered");
}

#[test]
fn a_blocking_handler_that_is_cancelled() {
    let mut server = start();
    server.call(1, "block", &json!({"ms": 60_000}));
    server.serves();
    server.notify("notifications/cancelled", &json!({"requestId": 1}));
    server.serves();
    // Its thread cannot be stopped, and does not keep the process.
    let (rest, _) = server.finish();
    assert_eq!(rest, [""; 0]);
}
