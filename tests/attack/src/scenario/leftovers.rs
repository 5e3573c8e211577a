//! Load that leaves things behind, twice, and what memory does after it.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::attacker::Attack;
use crate::message;
use crate::options::Size;
use crate::process::Server;

/// MiB by which memory may be higher after the second load than after the first, and at the end of a rest than in its
/// middle. Tables are full after the first load, so that only what is never given back grows.
const GROWTH: f64 = 1.0;

/// One visit in so many leaves a question open: few enough for the sessions they keep busy to leave room for others.
const ASKS: usize = 50;

/// How long the load takes, and then the rest.
fn phases(size: Size) -> (Duration, Duration) {
    let [load, rest] = size.pick([15, 30], [45, 60], [180, 120]).map(Duration::from_secs);
    (load, rest)
}

pub(crate) async fn load(attack: Attack) {
    let (load, rest) = phases(attack.size);
    for _ in 0..2 {
        let until = Instant::now() + load;
        let _ = timeout(load, attack.swarm(8, visit)).await;
        tokio::time::sleep_until((until + rest).into()).await;
    }
}

/// Comes again and again, and leaves something else behind each time.
async fn visit(attack: Attack, index: usize) {
    let in_session = |params: &serde_json::Value| message::request("tools/call", params);
    let add = in_session(&json!({ "name": "add", "arguments": { "a": 1, "b": 2 } }));
    let ask = in_session(&json!({ "name": "ask", "arguments": {} }));
    let arguments = json!({ "ms": 20, "answer": 1000 });
    let task = in_session(&json!({ "name": "work", "arguments": arguments, "task": { "ttl": 5000 } }));
    let capabilities = json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
    let round = json!({ "name": "ask", "arguments": {}, "_meta": capabilities });
    let round = message::modern(&attack.target, "tools/call", round);
    for visit in index.. {
        sleep(Duration::from_millis(100)).await;
        let mut wire = attack.open(index).await;
        // A round of questions that is never continued.
        attack.ask(&mut wire, &round).await;
        let Some(session) = attack.session(&mut wire, &json!({ "elicitation": {} })).await else { continue };
        for call in [&add, &task] {
            attack.ask(&mut wire, &message::in_session(&attack.target, &session, call)).await;
        }
        if visit % 2 == 0 {
            let _ = wire.exchange(&message::end_session(&attack.target, &session)).await;
        } else if visit % ASKS == 1 {
            // A question whose client is gone.
            let _ = wire.send(&message::in_session(&attack.target, &session, &ask)).await;
            let _ = timeout(Duration::from_millis(100), wire.head()).await;
        }
    }
}

/// Reads the memory after each load: what is wrong with it, and the figures. Flat means: the end of a rest is no higher
/// than its middle, and the second load leaves no more than the first.
pub(crate) fn watch(server: &Server, size: Size) -> (Vec<String>, String) {
    let (load, rest) = phases(size);
    let begun = Instant::now();
    let at = |moment: Duration| {
        thread::sleep((begun + moment).saturating_duration_since(Instant::now()));
        server.resident().unwrap_or_default()
    };
    let (half, nearly) = (load + rest / 2, load + rest * 9 / 10);
    let [first_half, first] = [half, nearly].map(at);
    let [second_half, second] = [half, nearly].map(|moment| at(load + rest + moment));
    let grows = |what: &str, from: f64, to: f64| {
        (to > from + GROWTH).then(|| format!("{what} grows from {from:.1} to {to:.1} MiB"))
    };
    let faults = [
        grows("idle memory", first_half, first),
        grows("idle memory", second_half, second),
        grows("what stays", first, second),
    ];
    let figures = format!(
        "{first_half:.1} and {first:.1} MiB after the first load, {second_half:.1} and {second:.1} after the second"
    );
    (faults.into_iter().flatten().collect(), figures)
}
