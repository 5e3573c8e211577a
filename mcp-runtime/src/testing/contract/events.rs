//! The contract of an event store.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{Verdict, ensure, random_id, rule};
use crate::store::{EventStore, EventTail, EventWatch};

/// A ttl that outlasts every rule.
const LONG: Duration = Duration::from_secs(10 * 60);
/// A ttl whose expiry a rule waits for.
const SHORT: Duration = Duration::from_millis(400);

/// Checks an [`EventStore`]; panics with the first rule it breaks.
pub async fn events<S: EventStore>(make: impl Fn() -> S) {
    rule("a touched stream exists before its first event", touched(&make())).await;
    rule("a stream is read with the head it was opened with", opened(&make())).await;
    rule("an unknown stream is not found", unknown(&make())).await;
    rule("events are read in order, byte for byte", appended(&make())).await;
    rule("reading ahead of the newest event is valid", read_ahead(&make())).await;
    rule("a gap is not skipped", gap(&make())).await;
    rule("an event that is not newer than the newest is ignored", stale(&make())).await;
    rule("a closed stream keeps its events and reads as closed", closed(&make())).await;
    rule("stream names are compared exactly, case included", exact_names(&make())).await;
    rule("a touch does not change the stream", touched_again(&make())).await;
    rule("a concurrent reader misses no event", concurrent_reader(Arc::new(make()))).await;
    rule("a watch is told of appends and of the close", watched(&make())).await;
    rule("a removed stream stays removed", removed(&make())).await;
    rule("an untouched stream expires", expired(&make())).await;
}

fn event(number: u64) -> Vec<u8> {
    format!("id: 1_{number}\nevent: message\ndata: {{\"n\":{number},\"text\":\"ü “\\n\"}}\n\n").into_bytes()
}

/// Creates a stream with this many events.
async fn stream_of(store: &impl EventStore, events: u64) -> std::io::Result<String> {
    let name = format!("{}.{}", random_id(), 7);
    store.touch(&name, LONG).await?;
    for number in 1..=events {
        store.append(&name, number, &event(number), 1).await?;
    }
    Ok(name)
}

/// Whether the tail has exactly these events and this state.
fn is(found: Option<&EventTail>, numbers: impl IntoIterator<Item = u64>, closed: bool) -> bool {
    let events = numbers.into_iter().map(|number| (number, event(number))).collect();
    found == Some(&EventTail { events, closed, head: None })
}

/// The tail, as the text of a broken rule shows it.
fn seen(found: Option<&EventTail>) -> String {
    let Some(EventTail { events, closed, .. }) = found else { return "an unknown stream".into() };
    let whole = events.iter().all(|(number, text)| *text == event(*number));
    let numbers: Vec<_> = events.iter().map(|(number, _)| number).collect();
    format!("{numbers:?}{}{}", if *closed { ", closed" } else { "" }, if whole { "" } else { ", with altered bytes" })
}

async fn touched(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 0).await?;
    let found = store.read_after(&name, 0).await?;
    ensure!(is(found.as_ref(), [], false), "after a touch, `read_after` reads {}", seen(found.as_ref()));
    Ok(())
}

async fn opened(store: &impl EventStore) -> Verdict {
    let (name, head) = (format!("{}.7", random_id()), r#"{"replica":"a","requests":["\"ü\"","1"]}"#);
    store.open(&name, head, LONG).await?;
    store.append(&name, 1, &event(1), 1).await?;
    let found = store.read_after(&name, 0).await?;
    let expected = EventTail::new(vec![(1, event(1))], false).with_head(Some(head.to_owned()));
    ensure!(found == Some(expected), "`read_after` reads {:?}", found.and_then(|found| found.head));
    Ok(())
}

async fn unknown(store: &impl EventStore) -> Verdict {
    let name = format!("{}.1", random_id());
    ensure!(store.read_after(&name, 0).await?.is_none(), "`read_after` finds it");
    store.append(&name, 1, &event(1), 1).await?;
    store.close(&name).await?;
    ensure!(store.read_after(&name, 0).await?.is_none(), "`append` or `close` creates it");
    store.remove(&name).await?;
    Ok(())
}

async fn appended(store: &impl EventStore) -> Verdict {
    // More than ten: sorted as text, 10 would precede 2.
    let name = stream_of(store, 12).await?;
    for place in 0..12 {
        let found = store.read_after(&name, place).await?;
        ensure!(
            is(found.as_ref(), place + 1..=12, false),
            "after {place} of 12, `read_after` reads {}",
            seen(found.as_ref())
        );
    }
    let long = vec![b'x'; 1024 * 1024];
    store.append(&name, 13, &long, 1).await?;
    let found = store.read_after(&name, 12).await?.map(|tail| tail.events);
    ensure!(found == Some(vec![(13, long)]), "a long event is altered");
    Ok(())
}

async fn read_ahead(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 2).await?;
    for place in [2, 3, 100] {
        let found = store.read_after(&name, place).await?;
        ensure!(is(found.as_ref(), [], false), "after {place} of 2, `read_after` reads {}", seen(found.as_ref()));
    }
    Ok(())
}

async fn gap(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 3).await?;
    // 4 was lost; `oldest` of 5 says that the stream is complete from 5 on.
    store.append(&name, 5, &event(5), 5).await?;
    store.append(&name, 6, &event(6), 5).await?;
    for place in 0..4 {
        let found = store.read_after(&name, place).await?;
        ensure!(found.is_none(), "4 is missing, and after {place} `read_after` reads {}", seen(found.as_ref()));
    }
    let found = store.read_after(&name, 4).await?;
    ensure!(is(found.as_ref(), 5..=6, false), "after 4, `read_after` reads {}", seen(found.as_ref()));
    Ok(())
}

async fn stale(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 3).await?;
    for number in [3, 2] {
        store.append(&name, number, b"another", 1).await?;
    }
    store.append(&name, 9, &event(9), 1).await?;
    store.append(&name, 4, &event(4), 1).await?;
    let found = store.read_after(&name, 0).await?;
    ensure!(
        is(found.as_ref(), [1, 2, 3, 9], false),
        "after 3, 2, 9 and 4, `read_after` reads {}",
        seen(found.as_ref())
    );
    Ok(())
}

async fn closed(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 3).await?;
    store.close(&name).await?;
    let found = store.read_after(&name, 1).await?;
    ensure!(is(found.as_ref(), 2..=3, true), "after 1 of 3, `read_after` reads {}", seen(found.as_ref()));
    let found = store.read_after(&name, 3).await?;
    ensure!(is(found.as_ref(), [], true), "after the last event, `read_after` reads {}", seen(found.as_ref()));
    Ok(())
}

async fn exact_names(store: &impl EventStore) -> Verdict {
    let session = format!("{}aB", &random_id()[..30]);
    let name = format!("{session}.11");
    store.touch(&name, LONG).await?;
    store.append(&name, 1, &event(1), 1).await?;
    for other in [format!("{session}.1"), format!("{session}.111"), name.to_ascii_lowercase(), session] {
        ensure!(store.read_after(&other, 0).await?.is_none(), "`read_after` finds a stream under a similar name");
        store.remove(&other).await?;
    }
    let found = store.read_after(&name, 0).await?;
    ensure!(is(found.as_ref(), 1..=1, false), "`remove` of a similar name removes it");
    Ok(())
}

async fn touched_again(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 2).await?;
    store.close(&name).await?;
    store.touch(&name, LONG).await?;
    let found = store.read_after(&name, 0).await?;
    ensure!(is(found.as_ref(), 1..=2, true), "after another touch, `read_after` reads {}", seen(found.as_ref()));
    Ok(())
}

async fn concurrent_reader(store: Arc<impl EventStore>) -> Verdict {
    const ALL: u64 = 100;
    let name = stream_of(&*store, 0).await?;
    let writing = tokio::spawn({
        let (store, name) = (Arc::clone(&store), name.clone());
        async move {
            for number in 1..=ALL {
                store.append(&name, number, &event(number), 1).await?;
                tokio::task::yield_now().await;
            }
            store.close(&name).await
        }
    });
    let mut at = 0;
    loop {
        let Some(found) = store.read_after(&name, at).await? else {
            return Err(super::Broken(format!("after {at}, the stream is gone while it is written")));
        };
        for (number, _) in found.events {
            ensure!(number == at + 1, "{number} follows {at}");
            at = number;
        }
        if found.closed {
            break;
        }
        tokio::task::yield_now().await;
    }
    ensure!(at == ALL, "the stream is closed at {at} of {ALL}");
    Ok(writing.await.map_err(std::io::Error::other)??)
}

async fn watched(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 1).await?;
    let watch = store.watch(&name);
    for number in 2..6 {
        // Also before anybody waits.
        store.append(&name, number, &event(number), 1).await?;
        ensure!(told(&watch).await, "it is not told of an append");
    }
    let (told_later, appended) = tokio::join!(told(&watch), async {
        sleep(SHORT / 4).await;
        store.append(&name, 6, &event(6), 1).await
    });
    appended?;
    ensure!(told_later, "while it waits, it is not told of an append");
    while tokio::time::timeout(SHORT / 4, watch.changed()).await.is_ok() {}
    store.close(&name).await?;
    ensure!(told(&watch).await, "it is not told of the close");
    let awaited = format!("{}.any", random_id());
    let watch = store.watch(&awaited);
    store.wake(&awaited).await?;
    ensure!(told(&watch).await, "a watch of a name that is no stream is not told of `wake`");
    store.remove(&name).await?;
    Ok(())
}

/// Whether a watch is told within a time in which nobody would look for themselves.
async fn told(watch: &EventWatch) -> bool {
    tokio::time::timeout(Duration::from_secs(4), watch.changed()).await.is_ok()
}

async fn removed(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 2).await?;
    store.remove(&name).await?;
    ensure!(store.read_after(&name, 0).await?.is_none(), "`read_after` finds it");
    store.append(&name, 3, &event(3), 1).await?;
    ensure!(store.read_after(&name, 0).await?.is_none(), "`append` restores it");
    store.remove(&name).await?;
    Ok(())
}

async fn expired(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 2).await?;
    for _ in 0..3 {
        store.touch(&name, SHORT).await?;
        sleep(SHORT / 2).await;
        let found = store.read_after(&name, 0).await?;
        ensure!(is(found.as_ref(), 1..=2, false), "before its expiry, `read_after` reads {}", seen(found.as_ref()));
    }
    sleep(SHORT * 2).await;
    let found = store.read_after(&name, 0).await?;
    ensure!(found.is_none(), "after its expiry, `read_after` reads {}", seen(found.as_ref()));
    // A touch after the expiry starts an empty stream.
    store.touch(&name, LONG).await?;
    let found = store.read_after(&name, 0).await?;
    ensure!(is(found.as_ref(), [], false), "touched after its expiry, `read_after` reads {}", seen(found.as_ref()));
    store.remove(&name).await?;
    Ok(())
}
