//! The contract of a lease store.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{Verdict, ensure, random_id, rule};
use crate::store::LeaseStore;

/// A ttl that outlasts every rule.
const LONG: Duration = Duration::from_secs(10 * 60);
/// A ttl whose expiry a rule waits for.
const SHORT: Duration = Duration::from_millis(400);

/// Checks a [`LeaseStore`]; panics with the first rule it breaks.
pub async fn leases<S: LeaseStore>(make: impl Fn() -> S) {
    rule("a free lease is given to whoever asks first", first(&make())).await;
    rule("a held lease is not given to another", held(&make())).await;
    rule("a holder may be long", long(&make())).await;
    rule("a lease is taken only from the holder that is named", taken(&make())).await;
    rule("only its holder releases a lease", released(&make())).await;
    rule("lease names are compared exactly, case included", exact_names(&make())).await;
    rule("of concurrent applicants one gets the lease", concurrent(Arc::new(make()))).await;
    rule("a lease that is not renewed expires", expired(&make())).await;
}

async fn first(store: &impl LeaseStore) -> Verdict {
    let name = random_id();
    ensure!(store.holder(&name).await?.is_none(), "a lease that nobody has asked for has a holder");
    let got = store.acquire(&name, "one", None, LONG).await?;
    ensure!(got == "one", "`acquire` returns {got:?}");
    let holder = store.holder(&name).await?;
    ensure!(holder.as_deref() == Some("one"), "`holder` returns {holder:?}");
    Ok(())
}

async fn held(store: &impl LeaseStore) -> Verdict {
    let name = random_id();
    store.acquire(&name, "one", None, LONG).await?;
    let got = store.acquire(&name, "two", None, LONG).await?;
    ensure!(got == "one", "to another, `acquire` returns {got:?}");
    let again = store.acquire(&name, "one", None, LONG).await?;
    ensure!(again == "one", "to its holder, `acquire` returns {again:?}");
    Ok(())
}

async fn long(store: &impl LeaseStore) -> Verdict {
    let (name, long) = (random_id(), "long-holder_".repeat(10_000));
    store.acquire(&name, "one", None, LONG).await?;
    let got = store.acquire(&name, &long, Some("one"), LONG).await?;
    let holder = store.holder(&name).await?;
    ensure!(got == long && holder.as_ref() == Some(&long), "a holder of {} bytes becomes another one", long.len());
    Ok(())
}

async fn taken(store: &impl LeaseStore) -> Verdict {
    let name = random_id();
    store.acquire(&name, "one", None, LONG).await?;
    let got = store.acquire(&name, "three", Some("two"), LONG).await?;
    ensure!(got == "one", "from somebody who does not hold it, `acquire` takes it, and returns {got:?}");
    let got = store.acquire(&name, "two", Some("one"), LONG).await?;
    let holder = store.holder(&name).await?;
    ensure!(got == "two" && holder.as_deref() == Some("two"), "from its holder, it is not taken: {got:?} {holder:?}");
    let free = store.acquire(&random_id(), "two", Some("one"), LONG).await?;
    ensure!(free == "two", "a free lease is not given to one who would take it: {free:?}");
    Ok(())
}

async fn released(store: &impl LeaseStore) -> Verdict {
    let name = random_id();
    store.acquire(&name, "one", None, LONG).await?;
    store.release(&name, "two").await?;
    let holder = store.holder(&name).await?;
    ensure!(holder.as_deref() == Some("one"), "another releases it");
    store.release(&name, "one").await?;
    ensure!(store.holder(&name).await?.is_none(), "its holder does not release it");
    store.release(&name, "one").await?;
    Ok(())
}

async fn exact_names(store: &impl LeaseStore) -> Verdict {
    let name = format!("{}aB", &random_id()[..30]);
    store.acquire(&name, "one", None, LONG).await?;
    for other in [name.to_ascii_lowercase(), format!("{name}1"), name[..31].to_owned()] {
        let got = store.acquire(&other, "two", None, LONG).await?;
        ensure!(got == "two", "a lease with a similar name is taken for this one");
    }
    Ok(())
}

async fn concurrent(store: Arc<impl LeaseStore>) -> Verdict {
    for _ in 0..10 {
        let name = random_id();
        let applicants: Vec<_> = (0..8)
            .map(|number| {
                let (store, name) = (Arc::clone(&store), name.clone());
                tokio::spawn(async move {
                    let me = format!("holder-{number}");
                    store.acquire(&name, &me, None, LONG).await.map(|holder| holder == me)
                })
            })
            .collect();
        let mut winners = 0;
        for applicant in applicants {
            winners += usize::from(applicant.await.map_err(std::io::Error::other)??);
        }
        ensure!(winners == 1, "{winners} of 8 got it");
    }
    Ok(())
}

async fn expired(store: &impl LeaseStore) -> Verdict {
    let name = random_id();
    for _ in 0..3 {
        store.acquire(&name, "one", None, SHORT).await?;
        sleep(SHORT / 2).await;
        let holder = store.holder(&name).await?;
        ensure!(holder.as_deref() == Some("one"), "before its expiry, `holder` returns {holder:?}");
    }
    sleep(SHORT * 2).await;
    let holder = store.holder(&name).await?;
    ensure!(holder.is_none(), "after its expiry, `holder` returns {holder:?}");
    let got = store.acquire(&name, "two", None, LONG).await?;
    ensure!(got == "two", "after its expiry, another does not get it");
    Ok(())
}
