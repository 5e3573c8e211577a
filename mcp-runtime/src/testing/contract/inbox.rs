//! The contract of an inbox.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{Broken, Verdict, ensure, random_id, rule};
use crate::store::{INBOX_BYTES, INBOX_MESSAGES, Inbox};

/// A ttl that outlasts every rule.
const LONG: Duration = Duration::from_secs(10 * 60);
/// A ttl whose expiry a rule waits for.
const SHORT: Duration = Duration::from_millis(400);

/// Checks an [`Inbox`]; panics with the first rule it breaks.
pub async fn inbox<S: Inbox>(make: impl Fn() -> S) {
    rule("messages are read in order, byte for byte", in_order(&make())).await;
    rule("an unknown inbox is empty", unknown(&make())).await;
    rule("reading removes nothing", read_twice(&make())).await;
    rule("session ids are compared exactly, case included", exact_ids(&make())).await;
    rule("the oldest of too many messages are dropped", too_many(&make())).await;
    rule("the oldest of too long messages are dropped, never the newest", too_long(&make())).await;
    rule("an inbox expires, and a push resets that", expired(&make())).await;
    rule("positions increase across an expiry", positions(&make())).await;
    rule("a concurrent reader misses no message", concurrent(Arc::new(make()))).await;
    rule("a very long ttl is accepted", long_ttl(&make())).await;
}

fn message(number: usize) -> Vec<u8> {
    format!("1763391000000 {{\"jsonrpc\":\"2.0\",\"id\":{number},\"result\":{{\"text\":\"ü “\\n\"}}}}").into_bytes()
}

/// Ensures that the messages after a position are these.
async fn has(store: &impl Inbox, id: &str, after: u64, expected: &[(u64, Vec<u8>)]) -> Verdict {
    let found = store.read_after(id, after).await?;
    let positions = |messages: &[(u64, Vec<u8>)]| messages.iter().map(|(at, _)| *at).collect::<Vec<_>>();
    if found != expected {
        let (found, expected) = (positions(&found), positions(expected));
        return Err(Broken(format!("after {after}: found {found:?}, expected {expected:?}, or altered bytes")));
    }
    Ok(())
}

/// Pushes messages, and returns them with their positions.
async fn push(store: &impl Inbox, id: &str, numbers: std::ops::Range<usize>) -> Result<Vec<(u64, Vec<u8>)>, Broken> {
    let mut pushed: Vec<(u64, Vec<u8>)> = Vec::new();
    for number in numbers {
        let position = store.push(id, &message(number), LONG).await?;
        ensure!(position > pushed.last().map_or(0, |(last, _)| *last), "position {position} is not above the last");
        pushed.push((position, message(number)));
    }
    Ok(pushed)
}

async fn in_order(store: &impl Inbox) -> Verdict {
    let id = random_id();
    let pushed = push(store, &id, 0..12).await?;
    has(store, &id, 0, &pushed).await?;
    for (index, (position, _)) in pushed.iter().enumerate() {
        has(store, &id, *position, &pushed[index + 1..]).await?;
    }
    Ok(())
}

async fn unknown(store: &impl Inbox) -> Verdict {
    has(store, &random_id(), 0, &[]).await?;
    has(store, &random_id(), 7, &[]).await
}

async fn read_twice(store: &impl Inbox) -> Verdict {
    let id = random_id();
    let pushed = push(store, &id, 0..2).await?;
    has(store, &id, 0, &pushed).await?;
    has(store, &id, 0, &pushed).await
}

async fn exact_ids(store: &impl Inbox) -> Verdict {
    let id = format!("{}aB", &random_id()[..30]);
    let pushed = push(store, &id, 0..1).await?;
    for other in [&*id.to_ascii_lowercase(), &id[..31], &format!("{id}A")] {
        has(store, other, 0, &[]).await?;
        push(store, other, 1..2).await?;
    }
    has(store, &id, 0, &pushed).await
}

async fn too_many(store: &impl Inbox) -> Verdict {
    let id = random_id();
    let pushed = push(store, &id, 0..INBOX_MESSAGES + 3).await?;
    has(store, &id, 0, &pushed[3..]).await
}

async fn too_long(store: &impl Inbox) -> Verdict {
    let (id, mut pushed) = (random_id(), Vec::new());
    let third = vec![b'x'; INBOX_BYTES / 3];
    for _ in 0..5 {
        pushed.push((store.push(&id, &third, LONG).await?, third.clone()));
    }
    has(store, &id, 0, &pushed[2..]).await?;
    let longer = vec![b'y'; INBOX_BYTES + 1];
    let position = store.push(&id, &longer, LONG).await?;
    has(store, &id, 0, &[(position, longer)]).await?;
    let last = push(store, &id, 0..1).await?;
    has(store, &id, 0, &last).await
}

async fn expired(store: &impl Inbox) -> Verdict {
    let (id, mut pushed) = (random_id(), Vec::new());
    for number in 0..4 {
        pushed.push((store.push(&id, &message(number), SHORT).await?, message(number)));
        sleep(SHORT / 2).await;
        has(store, &id, 0, &pushed).await?;
    }
    sleep(SHORT * 2).await;
    has(store, &id, 0, &[]).await
}

async fn positions(store: &impl Inbox) -> Verdict {
    let id = random_id();
    let before = store.push(&id, &message(1), SHORT).await?;
    sleep(SHORT * 2).await;
    let pushed = push(store, &id, 2..3).await?;
    ensure!(pushed[0].0 > before, "{} after {before}", pushed[0].0);
    has(store, &id, before, &pushed).await
}

async fn concurrent(store: Arc<impl Inbox>) -> Verdict {
    const EACH: usize = 40;
    let id = random_id();
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let (store, id) = (Arc::clone(&store), id.clone());
            tokio::spawn(async move {
                for number in 0..EACH {
                    store.push(&id, &message(writer * EACH + number), LONG).await?;
                }
                std::io::Result::Ok(())
            })
        })
        .collect();
    let (mut read, mut last) = (Vec::new(), 0);
    while read.len() < 3 * EACH {
        for (position, message) in store.read_after(&id, last).await? {
            ensure!(position > last, "position {position} follows {last}");
            last = position;
            read.push(message);
        }
        ensure!(
            read.len() == 3 * EACH || !writers.iter().all(tokio::task::JoinHandle::is_finished) || {
                !store.read_after(&id, last).await?.is_empty()
            },
            "{} of {} messages are read",
            read.len(),
            3 * EACH
        );
        tokio::task::yield_now().await;
    }
    for writer in writers {
        writer.await.map_err(std::io::Error::other)??;
    }
    read.sort();
    let mut all: Vec<_> = (0..3 * EACH).map(message).collect();
    all.sort();
    ensure!(read == all, "messages are read twice");
    Ok(())
}

async fn long_ttl(store: &impl Inbox) -> Verdict {
    let id = random_id();
    let position = store.push(&id, &message(0), Duration::from_secs(100 * 365 * 24 * 60 * 60)).await?;
    has(store, &id, 0, &[(position, message(0))]).await?;
    // Not left behind for a century.
    store.push(&id, &message(0), SHORT).await?;
    Ok(())
}
