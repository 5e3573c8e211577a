//! The contract of lease stores.

use std::io;
use std::time::Duration;

use mcp_runtime::store::{LeaseStore, MemoryLeases};
use mcp_runtime::testing::contract;

use super::{breaks_each, paused};

#[tokio::test(start_paused = true)]
async fn memory_leases_keep_the_contract() {
    contract::leases(MemoryLeases::new).await;
}

/// A bug a store may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    GivesNothing,
    GivesToEverybody,
    TakesFromAnybody,
    ReleasesForAnybody,
    FoldsCase,
    ReadsThenWrites,
    NeverExpires,
}

#[derive(Debug)]
struct Faulty(MemoryLeases, Fault);

impl Faulty {
    fn has(&self, fault: Fault) -> bool {
        self.1 == fault
    }

    fn name(&self, lease: &str) -> String {
        if self.has(Fault::FoldsCase) { lease.to_ascii_lowercase() } else { lease.to_owned() }
    }
}

impl LeaseStore for Faulty {
    async fn acquire(&self, name: &str, holder: &str, take_from: Option<&str>, ttl: Duration) -> io::Result<String> {
        let name = self.name(name);
        let ttl = if self.has(Fault::NeverExpires) { Duration::from_secs(60 * 60) } else { ttl };
        let current = self.0.holder(&name).await?;
        let current = current.as_deref();
        match self.1 {
            Fault::GivesNothing => return Ok("nobody".into()),
            Fault::GivesToEverybody => return self.0.acquire(&name, holder, current, ttl).await,
            Fault::TakesFromAnybody if take_from.is_some() => return self.0.acquire(&name, holder, current, ttl).await,
            Fault::ReadsThenWrites if current.is_none() => {
                tokio::task::yield_now().await;
                let meanwhile = self.0.holder(&name).await?;
                return self.0.acquire(&name, holder, meanwhile.as_deref(), ttl).await;
            }
            _ => {}
        }
        self.0.acquire(&name, holder, take_from, ttl).await
    }

    async fn release(&self, name: &str, holder: &str) -> io::Result<()> {
        let name = self.name(name);
        let current = self.0.holder(&name).await?.unwrap_or_default();
        let holder = if self.has(Fault::ReleasesForAnybody) { &current } else { holder };
        self.0.release(&name, holder).await
    }

    async fn holder(&self, name: &str) -> io::Result<Option<String>> {
        self.0.holder(&self.name(name)).await
    }
}

#[test]
fn faulty_lease_stores_are_caught() {
    breaks_each(
        paused,
        [
            (Fault::GivesNothing, "a free lease is given to whoever asks first"),
            (Fault::GivesToEverybody, "a held lease is not given to another"),
            (Fault::TakesFromAnybody, "a lease is taken only from the holder that is named"),
            (Fault::ReleasesForAnybody, "only its holder releases a lease"),
            (Fault::FoldsCase, "lease names are compared exactly, case included"),
            (Fault::ReadsThenWrites, "of concurrent applicants one gets the lease"),
            (Fault::NeverExpires, "a lease that is not renewed expires"),
        ],
        |fault| contract::leases(move || Faulty(MemoryLeases::new(), fault)),
    );
}
