//! The contract of a session store.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{Verdict, ensure, random_id, rule};
use crate::protocol::{LogLevel, Revision};
use crate::store::{SessionRecord, SessionStore};

/// A ttl that outlasts every rule.
const LONG: Duration = Duration::from_secs(10 * 60);
/// A ttl whose expiry a rule waits for.
const SHORT: Duration = Duration::from_millis(400);

/// Checks a [`SessionStore`]; panics with the first rule it breaks.
pub async fn sessions<S: SessionStore>(make: impl Fn() -> S) {
    rule("a created session is readable, unchanged", created(&make())).await;
    rule("an unknown session is not found", unknown(&make())).await;
    rule("ids are compared exactly, case included", exact_ids(&make())).await;
    rule("an update replaces the previous version", updated(&make())).await;
    rule("an update with a version conflict changes nothing", version_conflict(&make())).await;
    rule("of concurrent updates exactly one succeeds", concurrent_updates(Arc::new(make()))).await;
    rule("a removed session stays removed", removed(&make())).await;
    rule("an idle session expires", expired(&make())).await;
    rule("a touch resets the expiry", expiry_after_touch(&make())).await;
    rule("an update resets the expiry", expiry_after_update(&make())).await;
    rule("a very long ttl is accepted", long_ttl(&make())).await;
}

/// A record with a value in every field.
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

/// The next version of a record, with this log level.
fn next(record: &SessionRecord, level: LogLevel) -> SessionRecord {
    let mut next = record.clone();
    next.version += 1;
    next.log_level = level;
    next
}

async fn created(store: &impl SessionStore) -> Verdict {
    for record in [record(), SessionRecord::new(Revision::V2025_11_25)] {
        let id = random_id();
        store.create(&id, &record, LONG).await?;
        for _ in 0..2 {
            let loaded = store.load(&id).await?;
            ensure!(loaded.as_ref() == Some(&record), "created {record:?}, loaded {loaded:?}");
        }
    }
    Ok(())
}

async fn unknown(store: &impl SessionStore) -> Verdict {
    let (id, record) = (random_id(), record());
    for _ in 0..2 {
        ensure!(store.load(&id).await?.is_none(), "`load` finds it");
        ensure!(!store.touch(&id, LONG).await?, "`touch` returns true");
        ensure!(!store.update(&id, &next(&record, LogLevel::Info), LONG).await?, "`update` returns true");
        ensure!(!store.update(&id, &record, LONG).await?, "`update` to version 0 returns true");
        store.remove(&id).await?;
    }
    Ok(())
}

async fn exact_ids(store: &impl SessionStore) -> Verdict {
    let id = format!("{}aB", &random_id()[..30]);
    let (lower, short) = (id.to_ascii_lowercase(), &id[..31]);
    store.create(&id, &record(), LONG).await?;
    for other in [&*lower, short, &format!("{id}A")] {
        ensure!(store.load(other).await?.is_none(), "`load` finds a session under a similar id");
        store.remove(other).await?;
    }
    ensure!(store.load(&id).await?.is_some(), "`remove` of a similar id removes it");
    Ok(())
}

async fn updated(store: &impl SessionStore) -> Verdict {
    let (id, mut record) = (random_id(), record());
    store.create(&id, &record, LONG).await?;
    for level in [LogLevel::Debug, LogLevel::Alert] {
        record = next(&record, level);
        record.subscriptions.clear();
        ensure!(store.update(&id, &record, LONG).await?, "`update` to version {} returns false", record.version);
        let loaded = store.load(&id).await?;
        ensure!(loaded.as_ref() == Some(&record), "updated to {record:?}, loaded {loaded:?}");
    }
    Ok(())
}

async fn version_conflict(store: &impl SessionStore) -> Verdict {
    let (id, first) = (random_id(), record());
    store.create(&id, &first, LONG).await?;
    let second = next(&first, LogLevel::Error);
    store.update(&id, &second, LONG).await?;
    let third = next(&second, LogLevel::Debug);
    for conflicting in [first, next(&record(), LogLevel::Info), next(&third, LogLevel::Info)] {
        let version = conflicting.version;
        ensure!(
            !store.update(&id, &conflicting, LONG).await?,
            "version 1 is stored, and `update` to {version} returns true"
        );
        let loaded = store.load(&id).await?;
        ensure!(loaded.as_ref() == Some(&second), "`update` to {version} returned false, but changed the record");
    }
    ensure!(store.update(&id, &third, LONG).await?, "the correct version is rejected after a conflict");
    Ok(())
}

async fn concurrent_updates(store: Arc<impl SessionStore>) -> Verdict {
    const CONCURRENT: usize = 8;
    let (id, mut last) = (random_id(), record());
    store.create(&id, &last, LONG).await?;
    for _ in 0..8 {
        let tries = LogLevel::ALL.iter().copied().cycle().take(CONCURRENT).map(|level| {
            let (store, id, next) = (Arc::clone(&store), id.clone(), next(&last, level));
            tokio::spawn(async move { store.update(&id, &next, LONG).await.map(|made| made.then_some(next)) })
        });
        let tries: Vec<_> = tries.collect();
        let mut made = Vec::new();
        for one in tries {
            made.extend(one.await.map_err(std::io::Error::other)??);
        }
        ensure!(made.len() == 1, "{} of {CONCURRENT} updates succeed", made.len());
        last = made.remove(0);
        let loaded = store.load(&id).await?;
        ensure!(loaded.as_ref() == Some(&last), "the stored record is not that of the successful update");
    }
    Ok(())
}

async fn removed(store: &impl SessionStore) -> Verdict {
    let (id, record) = (random_id(), record());
    store.create(&id, &record, LONG).await?;
    store.remove(&id).await?;
    ensure!(store.load(&id).await?.is_none(), "`load` finds it");
    ensure!(!store.touch(&id, LONG).await?, "`touch` returns true");
    ensure!(!store.update(&id, &next(&record, LogLevel::Info), LONG).await?, "`update` restores it");
    ensure!(store.load(&id).await?.is_none(), "`load` finds it after a rejected update");
    store.remove(&id).await?;
    Ok(())
}

async fn expired(store: &impl SessionStore) -> Verdict {
    let (id, record) = (random_id(), record());
    store.create(&id, &record, SHORT).await?;
    ensure!(store.load(&id).await?.is_some(), "it expires too early");
    sleep(SHORT * 2).await;
    ensure!(store.load(&id).await?.is_none(), "`load` finds it after its expiry");
    ensure!(!store.touch(&id, LONG).await?, "`touch` restores it");
    ensure!(!store.update(&id, &next(&record, LogLevel::Info), LONG).await?, "`update` restores it");
    Ok(())
}

async fn expiry_after_touch(store: &impl SessionStore) -> Verdict {
    let (id, record) = (random_id(), record());
    store.create(&id, &record, SHORT).await?;
    for _ in 0..4 {
        sleep(SHORT / 2).await;
        ensure!(store.touch(&id, SHORT).await?, "it expires despite a touch in time");
    }
    ensure!(store.load(&id).await? == Some(record), "`touch` changes the record");
    // The last ttl counts, even if it is shorter.
    store.touch(&id, LONG).await?;
    store.touch(&id, SHORT).await?;
    sleep(SHORT * 2).await;
    ensure!(store.load(&id).await?.is_none(), "it outlives the ttl of the last `touch`");
    Ok(())
}

async fn expiry_after_update(store: &impl SessionStore) -> Verdict {
    let (id, mut record) = (random_id(), record());
    store.create(&id, &record, SHORT).await?;
    for _ in 0..4 {
        sleep(SHORT / 2).await;
        record = next(&record, LogLevel::Info);
        ensure!(store.update(&id, &record, SHORT).await?, "it expires despite an update in time");
    }
    sleep(SHORT * 2).await;
    ensure!(store.load(&id).await?.is_none(), "it outlives the ttl of the last `update`");
    Ok(())
}

async fn long_ttl(store: &impl SessionStore) -> Verdict {
    let (id, record) = (random_id(), record());
    let century = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    store.create(&id, &record, century).await?;
    ensure!(store.touch(&id, century).await?, "`touch` does not find it");
    ensure!(store.update(&id, &next(&record, LogLevel::Info), century).await?, "`update` does not find it");
    ensure!(store.load(&id).await?.is_some(), "`load` does not find it");
    store.remove(&id).await?;
    Ok(())
}
