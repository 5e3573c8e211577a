//! What the figures of a load say, and whether everything is well afterwards.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use super::{Finding, Findings, Row};
use crate::client::Client;
use crate::load::{Both, Figures};

/// One of this many refusals may take longer than a second, on a machine that has other things to do.
const SLOW: usize = 20;

/// How soon everything has to be well when Redis is back.
const WELL: Duration = Duration::from_secs(15);

/// The misses of a load while Redis could not be reached.
pub(super) fn without_redis(both: &Both) -> Vec<String> {
    let mut misses = never(both);
    if both.modern.retryable > 0 {
        misses.push(format!("{} calls of 2026-07-28 failed, which need no Redis", both.modern.retryable));
    }
    if both.sessions.slow_refusals * SLOW > both.sessions.retryable {
        misses.push(format!("{} refusals took longer than a second", both.sessions.slow_refusals));
    }
    if both.sessions.retryable == 0 {
        misses.push("no session request noticed anything: the scenario proves nothing".to_owned());
    }
    misses
}

/// What must never happen, whatever goes wrong.
pub(super) fn never(both: &Both) -> Vec<String> {
    let mut misses = Vec::new();
    for (clients, Figures { answered, lost, sessions_lost, faults, .. }) in
        [("2026-07-28", &both.modern), ("sessions", &both.sessions)]
    {
        for (count, what) in [(lost, "calls lost"), (sessions_lost, "sessions lost"), (faults, "faulty responses")] {
            if *count > 0 {
                misses.push(format!("{clients}: {count} {what}"));
            }
        }
        if *answered == 0 {
            misses.push(format!("{clients}: nothing was answered"));
        }
    }
    misses
}

/// Whether everything is well: calls and new sessions, at every replica.
pub(super) async fn well(address: SocketAddr) -> Option<String> {
    let begun = Instant::now();
    loop {
        let tried = async {
            for _ in 0..3 {
                Client::modern(address).call("greet", json!({ "name": "you" })).await?;
                let client = Client::open(address, "2025-11-25").await?;
                client.call("greet", json!({ "name": "you" })).await?;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        };
        match tried.await {
            Ok(()) => return None,
            Err(error) if begun.elapsed() > WELL => return Some(format!("not well afterwards: {error}")),
            Err(_) => sleep(Duration::from_millis(200)).await,
        }
    }
}

pub(super) fn findings(name: &str, both: Both, misses: Vec<String>, note: String) -> Findings {
    let mut notes = vec![note];
    for (clients, figures) in [("2026-07-28", &both.modern), ("sessions", &both.sessions)] {
        notes.extend(figures.why.as_ref().map(|why| format!("{name}: first of {clients}: {why}")));
    }
    let row = |clients, figures| Row { name: name.to_owned(), clients, figures };
    let rows = vec![row("2026-07-28", both.modern), row("sessions", both.sessions)];
    Findings { rows, items: vec![Finding { name: name.to_owned(), misses }], notes }
}

#[cfg(test)]
mod tests {
    use super::never;
    use crate::load::{Both, Figures};

    #[test]
    fn losses_are_misses_and_retryable_errors_are_not() {
        let good = Figures { calls: 9, answered: 7, retryable: 2, broken: 1, ..Figures::default() };
        let both = |sessions| Both { modern: good.clone(), sessions };
        assert!(never(&both(good.clone())).is_empty());
        assert_eq!(never(&both(Figures { lost: 1, ..good.clone() })), ["sessions: 1 calls lost"]);
        assert_eq!(never(&both(Figures { sessions_lost: 2, ..good.clone() })), ["sessions: 2 sessions lost"]);
        assert_eq!(never(&both(Figures { faults: 3, ..good.clone() })), ["sessions: 3 faulty responses"]);
        assert_eq!(never(&both(Figures::default())), ["sessions: nothing was answered"]);
    }
}
