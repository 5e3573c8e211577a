//! What a store of sessions must do.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{Verdict, ensure, fresh, rule};
use crate::protocol::{LogLevel, Revision};
use crate::store::{SessionRecord, SessionStore};

/// Longer than any rule takes.
const LONG: Duration = Duration::from_mins(10);
/// A while, after which something is over.
const SHORT: Duration = Duration::from_millis(400);

/// Checks that a [`SessionStore`] does what it should; panics with the rule that it breaks.
pub async fn sessions<S: SessionStore>(make: impl Fn() -> S) {
    rule("what was created is there, as it was", created(&make())).await;
    rule("what nobody created is not there", unknown(&make())).await;
    rule("ids are told apart, by every letter", apart(&make())).await;
    rule("an update takes the place of the version before", updated(&make())).await;
    rule("an update of another version changes nothing", outdated(&make())).await;
    rule("of two updates at a time one is made", raced(Arc::new(make()))).await;
    rule("what was removed is gone, and stays gone", removed(&make())).await;
    rule("what is left alone is forgotten", expired(&make())).await;
    rule("what is touched is kept", touched(&make())).await;
    rule("what is updated is kept", kept_by_updates(&make())).await;
    rule("what is kept for very long is there", kept_for_long(&make())).await;
}

/// A record with something in every place.
fn record() -> SessionRecord {
    let mut record = SessionRecord::new(Revision::V2025_06_18);
    record.initialize_params.insert("clientInfo".into(), json!({"name": "Ünïcode “quoted”", "version": "1"}));
    record
        .initialize_params
        .insert("capabilities".into(), json!({"roots": {"listChanged": true}, "none": null, "n": 1.5}));
    record.principal = Some("ann@example.com".into());
    record.log_level = LogLevel::Warning;
    record.subscriptions.extend(["note://1".into(), "note://ü?a=b&c".into()]);
    record.initialized = true;
    record
}

/// The next version of a record, with another level.
fn next(record: &SessionRecord, level: LogLevel) -> SessionRecord {
    let mut next = record.clone();
    next.version += 1;
    next.log_level = level;
    next
}

async fn created(store: &impl SessionStore) -> Verdict {
    for record in [record(), SessionRecord::new(Revision::V2025_11_25)] {
        let id = fresh();
        store.create(&id, &record, LONG).await?;
        for _ in 0..2 {
            let loaded = store.load(&id).await?;
            ensure!(loaded.as_ref() == Some(&record), "{record:?} was created, {loaded:?} is there");
        }
    }
    Ok(())
}

async fn unknown(store: &impl SessionStore) -> Verdict {
    let (id, record) = (fresh(), record());
    for _ in 0..2 {
        ensure!(store.load(&id).await?.is_none(), "`load` finds it");
        ensure!(!store.touch(&id, LONG).await?, "`touch` says that it is there");
        ensure!(!store.update(&id, &next(&record, LogLevel::Info), LONG).await?, "`update` says that it was there");
        ensure!(!store.update(&id, &record, LONG).await?, "`update` of version 0 says that it was there");
        store.remove(&id).await?;
    }
    Ok(())
}

async fn apart(store: &impl SessionStore) -> Verdict {
    let id = format!("{}aB", &fresh()[..30]);
    let (lower, short) = (id.to_ascii_lowercase(), &id[..31]);
    store.create(&id, &record(), LONG).await?;
    for other in [&*lower, short, &format!("{id}A")] {
        ensure!(store.load(other).await?.is_none(), "one was created, and found under another id like it");
        store.remove(other).await?;
    }
    ensure!(store.load(&id).await?.is_some(), "it was removed under another id like it");
    Ok(())
}

async fn updated(store: &impl SessionStore) -> Verdict {
    let (id, mut record) = (fresh(), record());
    store.create(&id, &record, LONG).await?;
    for level in [LogLevel::Debug, LogLevel::Alert] {
        record = next(&record, level);
        record.subscriptions.clear();
        ensure!(store.update(&id, &record, LONG).await?, "`update` to version {} is refused", record.version);
        let loaded = store.load(&id).await?;
        ensure!(loaded.as_ref() == Some(&record), "it was updated to {record:?}, {loaded:?} is there");
    }
    Ok(())
}

async fn outdated(store: &impl SessionStore) -> Verdict {
    let (id, first) = (fresh(), record());
    store.create(&id, &first, LONG).await?;
    let second = next(&first, LogLevel::Error);
    store.update(&id, &second, LONG).await?;
    let third = next(&second, LogLevel::Debug);
    for wrong in [first, next(&record(), LogLevel::Info), next(&third, LogLevel::Info)] {
        let version = wrong.version;
        ensure!(!store.update(&id, &wrong, LONG).await?, "version 1 is there, and `update` to {version} is accepted");
        let loaded = store.load(&id).await?;
        ensure!(loaded.as_ref() == Some(&second), "`update` to {version} was refused, and changed something");
    }
    ensure!(store.update(&id, &third, LONG).await?, "the right version is refused after a wrong one");
    Ok(())
}

async fn raced(store: Arc<impl SessionStore>) -> Verdict {
    const AT_A_TIME: usize = 8;
    let (id, mut last) = (fresh(), record());
    store.create(&id, &last, LONG).await?;
    for _ in 0..8 {
        let tries = LogLevel::ALL.iter().copied().cycle().take(AT_A_TIME).map(|level| {
            let (store, id, next) = (Arc::clone(&store), id.clone(), next(&last, level));
            tokio::spawn(async move { store.update(&id, &next, LONG).await.map(|made| made.then_some(next)) })
        });
        let tries: Vec<_> = tries.collect();
        let mut made = Vec::new();
        for one in tries {
            made.extend(one.await.map_err(std::io::Error::other)??);
        }
        ensure!(made.len() == 1, "{} of {AT_A_TIME} were made", made.len());
        last = made.remove(0);
        let loaded = store.load(&id).await?;
        ensure!(loaded.as_ref() == Some(&last), "another is there than the one that was made");
    }
    Ok(())
}

async fn removed(store: &impl SessionStore) -> Verdict {
    let (id, record) = (fresh(), record());
    store.create(&id, &record, LONG).await?;
    store.remove(&id).await?;
    ensure!(store.load(&id).await?.is_none(), "`load` finds it");
    ensure!(!store.touch(&id, LONG).await?, "`touch` says that it is there");
    ensure!(!store.update(&id, &next(&record, LogLevel::Info), LONG).await?, "`update` brings it back");
    ensure!(store.load(&id).await?.is_none(), "`load` finds it after an update that was refused");
    store.remove(&id).await?;
    Ok(())
}

async fn expired(store: &impl SessionStore) -> Verdict {
    let (id, record) = (fresh(), record());
    store.create(&id, &record, SHORT).await?;
    ensure!(store.load(&id).await?.is_some(), "it is gone before its time");
    sleep(SHORT * 2).await;
    ensure!(store.load(&id).await?.is_none(), "`load` finds it after its time");
    ensure!(!store.touch(&id, LONG).await?, "`touch` brings it back");
    ensure!(!store.update(&id, &next(&record, LogLevel::Info), LONG).await?, "`update` brings it back");
    Ok(())
}

async fn touched(store: &impl SessionStore) -> Verdict {
    let (id, record) = (fresh(), record());
    store.create(&id, &record, SHORT).await?;
    for _ in 0..4 {
        sleep(SHORT / 2).await;
        ensure!(store.touch(&id, SHORT).await?, "it is gone, although it was touched in time");
    }
    ensure!(store.load(&id).await? == Some(record), "`touch` changes it");
    // Another time is another time, even if it is shorter.
    store.touch(&id, LONG).await?;
    store.touch(&id, SHORT).await?;
    sleep(SHORT * 2).await;
    ensure!(store.load(&id).await?.is_none(), "it is there after the time of the last `touch`");
    Ok(())
}

async fn kept_by_updates(store: &impl SessionStore) -> Verdict {
    let (id, mut record) = (fresh(), record());
    store.create(&id, &record, SHORT).await?;
    for _ in 0..4 {
        sleep(SHORT / 2).await;
        record = next(&record, LogLevel::Info);
        ensure!(store.update(&id, &record, SHORT).await?, "it is gone, although it was updated in time");
    }
    sleep(SHORT * 2).await;
    ensure!(store.load(&id).await?.is_none(), "it is there after the time of the last `update`");
    Ok(())
}

async fn kept_for_long(store: &impl SessionStore) -> Verdict {
    let (id, record) = (fresh(), record());
    let century = Duration::from_hours(24 * 365 * 100);
    store.create(&id, &record, century).await?;
    ensure!(store.touch(&id, century).await?, "it is gone");
    ensure!(store.update(&id, &next(&record, LogLevel::Info), century).await?, "it is gone");
    ensure!(store.load(&id).await?.is_some(), "it is gone");
    store.remove(&id).await?;
    Ok(())
}
