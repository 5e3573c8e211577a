//! What a store of events must do.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{Verdict, ensure, fresh, rule};
use crate::store::{EventStore, EventTail};

/// Longer than any rule takes.
const LONG: Duration = Duration::from_mins(10);
/// A while, after which something is over.
const SHORT: Duration = Duration::from_millis(400);

/// Checks that an [`EventStore`] does what it should; panics with the rule that it breaks.
pub async fn events<S: EventStore>(make: impl Fn() -> S) {
    rule("a stream is known before its first event", begun(&make())).await;
    rule("what nobody made known is not there", unknown(&make())).await;
    rule("events come back in order, byte for byte", appended(&make())).await;
    rule("what is yet to come is no mistake", ahead(&make())).await;
    rule("what is missing is not passed over", missing(&make())).await;
    rule("a stream that is over has its events, and says so", ended(&make())).await;
    rule("streams are told apart, by every letter", apart(&make())).await;
    rule("what is kept once more is what it was", kept_again(&make())).await;
    rule("who reads while it is written misses nothing", read_while_written(Arc::new(make()))).await;
    rule("what was forgotten is gone", forgotten(&make())).await;
    rule("what nobody keeps is forgotten", expired(&make())).await;
}

fn event(number: u64) -> Vec<u8> {
    format!("id: 1_{number}\nevent: message\ndata: {{\"n\":{number},\"text\":\"ü “\\n\"}}\n\n").into_bytes()
}

/// A stream with so many events.
async fn stream_of(store: &impl EventStore, events: u64) -> std::io::Result<String> {
    let name = format!("{}.{}", fresh(), 7);
    store.touch(&name, LONG).await?;
    for number in 1..=events {
        store.append(&name, number, &event(number), 1).await?;
    }
    Ok(name)
}

/// Whether these events are what was found, and whether it is over.
fn is(found: Option<&EventTail>, numbers: impl IntoIterator<Item = u64>, closed: bool) -> bool {
    let events = numbers.into_iter().map(|number| (number, event(number))).collect();
    found == Some(&EventTail { events, closed })
}

/// What was found, for a person to read.
fn seen(found: Option<&EventTail>) -> String {
    let Some(EventTail { events, closed }) = found else { return "nothing known".into() };
    let whole = events.iter().all(|(number, text)| *text == event(*number));
    let numbers: Vec<_> = events.iter().map(|(number, _)| number).collect();
    format!(
        "{numbers:?}{}{}",
        if *closed { ", and then it is over" } else { "" },
        if whole { "" } else { ", with other bytes" }
    )
}

async fn begun(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 0).await?;
    let found = store.read_after(&name, 0).await?;
    ensure!(is(found.as_ref(), [], false), "it was kept, and {} is there", seen(found.as_ref()));
    Ok(())
}

async fn unknown(store: &impl EventStore) -> Verdict {
    let name = format!("{}.1", fresh());
    ensure!(store.read_after(&name, 0).await?.is_none(), "`after` finds it");
    store.append(&name, 1, &event(1), 1).await?;
    store.close(&name).await?;
    ensure!(store.read_after(&name, 0).await?.is_none(), "`append` or `end` made it known");
    store.remove(&name).await?;
    Ok(())
}

async fn appended(store: &impl EventStore) -> Verdict {
    // More than ten: texts are in another order than numbers.
    let name = stream_of(store, 12).await?;
    for place in 0..12 {
        let found = store.read_after(&name, place).await?;
        ensure!(is(found.as_ref(), place + 1..=12, false), "after {place} of 12 there is {}", seen(found.as_ref()));
    }
    let long = vec![b'x'; 1024 * 1024];
    store.append(&name, 13, &long, 1).await?;
    let found = store.read_after(&name, 12).await?.map(|tail| tail.events);
    ensure!(found == Some(vec![(13, long)]), "a long event is not what it was");
    Ok(())
}

async fn ahead(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 2).await?;
    for place in [2, 3, 100] {
        let found = store.read_after(&name, place).await?;
        ensure!(is(found.as_ref(), [], false), "after {place} of 2 there is {}", seen(found.as_ref()));
    }
    Ok(())
}

async fn missing(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 3).await?;
    // 4 could not be written; 5 says that everything from 5 on is there.
    store.append(&name, 5, &event(5), 5).await?;
    store.append(&name, 6, &event(6), 5).await?;
    for place in 0..4 {
        let found = store.read_after(&name, place).await?;
        ensure!(found.is_none(), "4 is missing, and after {place} there is {}", seen(found.as_ref()));
    }
    let found = store.read_after(&name, 4).await?;
    ensure!(is(found.as_ref(), 5..=6, false), "after 4 there is {}", seen(found.as_ref()));
    Ok(())
}

async fn ended(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 3).await?;
    store.close(&name).await?;
    let found = store.read_after(&name, 1).await?;
    ensure!(is(found.as_ref(), 2..=3, true), "after 1 of 3 there is {}", seen(found.as_ref()));
    let found = store.read_after(&name, 3).await?;
    ensure!(is(found.as_ref(), [], true), "after the last there is {}", seen(found.as_ref()));
    Ok(())
}

async fn apart(store: &impl EventStore) -> Verdict {
    let session = format!("{}aB", &fresh()[..30]);
    let name = format!("{session}.11");
    store.touch(&name, LONG).await?;
    store.append(&name, 1, &event(1), 1).await?;
    for other in [format!("{session}.1"), format!("{session}.111"), name.to_ascii_lowercase(), session] {
        ensure!(store.read_after(&other, 0).await?.is_none(), "one was kept, and found under a name like it");
        store.remove(&other).await?;
    }
    let found = store.read_after(&name, 0).await?;
    ensure!(is(found.as_ref(), 1..=1, false), "it was forgotten under a name like it");
    Ok(())
}

async fn kept_again(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 2).await?;
    store.close(&name).await?;
    store.touch(&name, LONG).await?;
    let found = store.read_after(&name, 0).await?;
    ensure!(is(found.as_ref(), 1..=2, true), "after it was kept again there is {}", seen(found.as_ref()));
    Ok(())
}

async fn read_while_written(store: Arc<impl EventStore>) -> Verdict {
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
            return Err(super::Broken(format!("after {at} it is gone, while it is written")));
        };
        for (number, _) in found.events {
            ensure!(number == at + 1, "after {at} comes {number}");
            at = number;
        }
        if found.closed {
            break;
        }
        tokio::task::yield_now().await;
    }
    ensure!(at == ALL, "it is over at {at} of {ALL}");
    Ok(writing.await.map_err(std::io::Error::other)??)
}

async fn forgotten(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 2).await?;
    store.remove(&name).await?;
    ensure!(store.read_after(&name, 0).await?.is_none(), "`after` finds it");
    store.append(&name, 3, &event(3), 1).await?;
    ensure!(store.read_after(&name, 0).await?.is_none(), "`append` brings it back");
    store.remove(&name).await?;
    Ok(())
}

async fn expired(store: &impl EventStore) -> Verdict {
    let name = stream_of(store, 2).await?;
    for _ in 0..3 {
        store.touch(&name, SHORT).await?;
        sleep(SHORT / 2).await;
        let found = store.read_after(&name, 0).await?;
        ensure!(is(found.as_ref(), 1..=2, false), "before its time there is {}", seen(found.as_ref()));
    }
    sleep(SHORT * 2).await;
    let found = store.read_after(&name, 0).await?;
    ensure!(found.is_none(), "after its time there is {}", seen(found.as_ref()));
    // Whoever keeps it now begins again.
    store.touch(&name, LONG).await?;
    let found = store.read_after(&name, 0).await?;
    ensure!(is(found.as_ref(), [], false), "it was kept after its time, and {} is there", seen(found.as_ref()));
    store.remove(&name).await?;
    Ok(())
}
