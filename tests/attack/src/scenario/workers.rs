//! Handlers that hold a worker of the server's runtime.

use serde_json::json;

use crate::attacker::Attack;
use crate::message::{self, Bytes};

/// That many calls at once, again and again. Which worker a call holds, and what waits for that worker, is chance: calls
/// are shorter than a person would try, and each has a connection of its own, so that a short run has many tries.
pub(super) async fn blocking(attack: Attack, count: usize) {
    let call = message::call(&attack.target, "block", &json!({ "ms": attack.size.pick(1_000, 2_000, 10_000) }));
    attack.swarm(count, |attack, index| block(attack, index, call.clone())).await;
}

async fn block(attack: Attack, index: usize, call: Bytes) {
    loop {
        let mut wire = attack.open(index).await;
        if !attack.ask(&mut wire, &call).await {
            attack.sent_away().await;
        }
    }
}
