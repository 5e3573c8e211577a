//! Long answers that are not read, or just fast enough not to look dead.

use std::time::Duration;

use serde_json::json;

use crate::attacker::Attack;
use crate::message::{self, Bytes};

const READERS: usize = 120;

fn request(attack: &Attack) -> Bytes {
    message::call(&attack.target, "big", &json!({ "answer": 8 * 1024 * 1024 }))
}

pub(super) async fn never_read(attack: Attack) {
    let request = request(&attack);
    attack.swarm(READERS, |attack, index| read(attack, index, request.clone(), 0)).await;
}

pub(super) async fn slowly_read(attack: Attack) {
    let request = request(&attack);
    attack.swarm(READERS, |attack, index| read(attack, index, request.clone(), 600)).await;
}

/// Reads the head, then so much every tenth of a second.
async fn read(attack: Attack, index: usize, request: Bytes, bytes: usize) {
    loop {
        let mut wire = attack.open_narrow(index).await;
        attack.sent();
        if wire.send(&request).await.is_ok()
            && let Ok(head) = wire.head().await
        {
            attack.tally.status(head.is_success());
            if head.is_success() && bytes == 0 {
                std::future::pending::<()>().await;
            }
            while head.is_success() && wire.sip(bytes).await {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        attack.sent_away().await;
    }
}
