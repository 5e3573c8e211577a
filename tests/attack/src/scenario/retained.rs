//! Few requests whose long contents stay: as arguments, filters, events, results and greetings.

use serde_json::{Value, json};

use crate::attacker::Attack;
use crate::message;

/// Longer than every attack.
const FOREVER: u64 = 600_000;

/// Requests of all attackers together.
fn most(attack: &Attack) -> usize {
    attack.size.pick(150, 300, 400)
}

pub(super) async fn task_arguments(attack: Attack) {
    let params = json!({ "name": "work", "arguments": { "ms": FOREVER, "answer": 0, "text": message::filler() } });
    let create = message::task(&attack.target, "tools/call", params);
    let most = most(&attack);
    attack.swarm(8, |attack, index| attack.repeat(index, create.clone(), most)).await;
}

pub(super) async fn task_results(attack: Attack) {
    let params = json!({ "name": "work", "arguments": { "ms": 0, "answer": 4 * 1024 * 1024 } });
    let create = message::task(&attack.target, "tools/call", params);
    let most = most(&attack);
    attack.swarm(8, |attack, index| attack.repeat(index, create.clone(), most)).await;
}

pub(super) async fn progress(attack: Attack) {
    let arguments = json!({ "ms": FOREVER, "answer": 0, "text": message::filler() });
    let params = json!({ "name": "report", "arguments": arguments, "_meta": { "progressToken": 1 } });
    let call = message::modern(&attack.target, "tools/call", params);
    attack.swarm(most(&attack), |attack, index| attack.hold(index, call.clone())).await;
}

pub(super) async fn listen(attack: Attack) {
    let long = "x".repeat(16 * 1000);
    let uris: Vec<String> = (0..250).map(|id| format!("note://{id}{long}")).collect();
    let params = json!({ "notifications": { "resourceSubscriptions": uris } });
    let listen = message::modern(&attack.target, "subscriptions/listen", params);
    attack.swarm(most(&attack), |attack, index| attack.hold(index, listen.clone())).await;
}

pub(super) async fn events(attack: Attack) {
    let arguments = json!({ "ms": 100, "answer": 4_000_000 });
    in_sessions(attack, "report", &arguments, true).await;
}

pub(super) async fn abandoned_calls(attack: Attack) {
    let arguments = json!({ "ms": FOREVER, "text": message::filler() });
    in_sessions(attack, "wait", &arguments, false).await;
}

/// Each attacker opens a session and calls the tool there, and leaves: with the head of its response, or before.
async fn in_sessions(attack: Attack, tool: &'static str, arguments: &Value, with_head: bool) {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": 1 } });
    let call = message::request("tools/call", &params);
    let each = most(&attack) / ATTACKERS;
    attack.swarm(ATTACKERS, |attack, index| leave(attack, index, call.clone(), each, with_head)).await;
}

/// At once. Each leaves many sessions behind, one after the other.
const ATTACKERS: usize = 10;

async fn leave(attack: Attack, index: usize, call: String, sessions: usize, with_head: bool) {
    for _ in 0..sessions {
        let mut wire = attack.open(index).await;
        attack.sent();
        let Some(session) = attack.session(&mut wire, &json!({})).await else {
            attack.tally.status(false);
            attack.sent_away().await;
            continue;
        };
        let sent = wire.send(&message::in_session(&attack.target, &session, &call)).await;
        // Without a response in sight, the server has what was sent once it has read it all.
        let patience = std::time::Duration::from_millis(if with_head { 2000 } else { 300 });
        let head = tokio::time::timeout(patience, wire.head()).await;
        let refused = matches!(&head, Ok(Ok(head)) if !head.is_success()) || matches!(&head, Ok(Err(_)));
        attack.tally.status(sent.is_ok() && !refused);
    }
}

pub(super) async fn greetings(attack: Attack) {
    let hello = message::initialize(&attack.target, &"x".repeat(3 * 1024 * 1024), &json!({}));
    let most = most(&attack);
    attack.swarm(8, |attack, index| attack.repeat(index, hello.clone(), most)).await;
}
