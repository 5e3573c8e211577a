//! Sessions nobody uses, and streams of HTTP+SSE.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use crate::attacker::{Attack, Tally};
use crate::message::{self, Bytes};

/// More streams than this for one caller are a quarter of all requests a server takes by default.
const STREAMS: usize = 256;

pub(super) async fn initialize_flood(attack: Attack) {
    let hello = message::initialize(&attack.target, "attacker", &json!({}));
    flood_then_trickle(attack, hello, 1000).await;
}

/// So many requests as fast as they are answered, then 25 a second.
pub(super) async fn flood_then_trickle(attack: Attack, request: Bytes, flood: usize) {
    attack.swarm(8, |attack, index| attack.repeat(index, request.clone(), flood)).await;
    let mut ticks = interval(Duration::from_secs(1) / 25);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut wire = attack.open(0).await;
    loop {
        ticks.tick().await;
        if !attack.ask(&mut wire, &request).await {
            wire = attack.open(0).await;
        }
    }
}

pub(super) async fn sse_streams(attack: Attack) {
    let get: Bytes = attack.target.get_sse().into();
    attack.alone().swarm(800, |attack, index| attack.hold(index, get.clone())).await;
}

pub(super) fn few_streams(tally: &Tally) -> Option<String> {
    let open = tally.most_open.load(Relaxed);
    (open > STREAMS).then(|| format!("{open} streams of one caller"))
}
