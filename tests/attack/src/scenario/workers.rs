//! Handlers that hold a worker of the server's runtime.

use serde_json::json;

use crate::attacker::Attack;
use crate::message;

/// One call after the other on each of that many connections. Calls are shorter than the ten seconds a person would try,
/// so that several fit into a short run; each is as long as the good client waits.
pub(super) async fn blocking(attack: Attack, count: usize) {
    let call = message::call(&attack.target, "block", &json!({ "ms": attack.size.pick(2_000, 4_000, 10_000) }));
    attack.swarm(count, |attack, index| attack.repeat(index, call.clone(), usize::MAX)).await;
}
