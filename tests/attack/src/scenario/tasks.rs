//! Tasks: more than a server wants to keep, and such as nobody can ever fetch.

use serde_json::json;

use super::sessions::flood_then_trickle;
use crate::attacker::Attack;
use crate::message;

pub(super) async fn many(attack: Attack) {
    let params = json!({ "name": "work", "arguments": { "ms": 600_000, "answer": 10 } });
    let create = message::task(&attack.target, "tools/call", params);
    flood_then_trickle(attack, create, 1000).await;
}

/// In sessions, because in 2026-07-28 a client does not choose the ttl.
pub(super) async fn short_ttl(attack: Attack) {
    attack.swarm(8, create_in_session).await;
}

async fn create_in_session(attack: Attack, index: usize) {
    let arguments = json!({ "ms": 0, "answer": 20_000 });
    let body = message::request("tools/call", &json!({ "name": "work", "arguments": arguments, "task": { "ttl": 1 } }));
    loop {
        let mut wire = attack.open(index).await;
        if let Some(session) = attack.session(&mut wire, &json!({ "tasks": {} })).await {
            let create = message::in_session(&attack.target, &session, &body);
            while attack.ask(&mut wire, &create).await {}
        }
        attack.sent_away().await;
    }
}
