//! Claims that replicas share: as leases. While a run does the work, its replica holds the lease of the block; then the
//! holder is the result, sealed, for as long as a state of the dialogue opens.
//!
//! Copies at one replica are settled in its memory first, so that the store is asked once for all of them. A claim whose
//! replica has died is taken from it: nobody knows whether the work was done, and it is done again. Each claim is a holder
//! of its own, so that a release that comes late does not end the next claim of the same replica.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::digest;

use super::{Block, Claim, ClaimFuture, MemoryClaims, OnceClaims, Owner, now};
use crate::ask::sealed_state::StateSealer;
use crate::error::Error;
use crate::limits::Limits;
use crate::store::replica::Replica;
use crate::store::{Unavailable, quietly, with_timeout};
use crate::sync::{lock, spawn};

/// The holders of a block: the replica that does the work with the number of its claim, or the result.
const RUNS_AT: &str = "runs.";
const RETURNED: &str = "returned.";
/// The holder of a block whose result is too long to be remembered.
const FORGOTTEN: &str = "forgotten";

/// The pauses between looks at a block that another replica works on.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Claims of all replicas.
#[derive(Debug)]
pub(crate) struct FleetClaims(Arc<Fleet>);

#[derive(Debug)]
struct Fleet {
    local: Arc<MemoryClaims>,
    replica: Arc<Replica>,
    sealer: Arc<StateSealer>,
    limits: Limits,
    /// The number of the next claim.
    next: AtomicU64,
    /// The claims of this replica. A block has one at most: `local` settles copies.
    own: Mutex<HashMap<Block, Own>>,
}

/// A claim of this replica.
#[derive(Debug)]
struct Own {
    holder: String,
    /// When the dialogue ends, in seconds since 1970.
    until: u64,
}

impl FleetClaims {
    pub(crate) fn new(
        local: Arc<MemoryClaims>,
        replica: &Arc<Replica>,
        sealer: &Arc<StateSealer>,
        limits: &Limits,
    ) -> Self {
        let (replica, sealer, limits) = (Arc::clone(replica), Arc::clone(sealer), limits.clone());
        let (next, own) = (AtomicU64::new(0), Mutex::default());
        FleetClaims(Arc::new(Fleet { local, replica, sealer, limits, next, own }))
    }
}

impl OnceClaims for FleetClaims {
    fn claim<'a>(&'a self, block: &'a Block, owner: &'a Owner) -> ClaimFuture<'a> {
        Box::pin(async move {
            if let done @ Claim::Done(_) = self.0.local.claim(block, owner).await? {
                return Ok(done);
            }
            let own = self.0.begin(block, owner.until);
            let claiming = Claiming { fleet: &self.0, block: Some(block) };
            let claimed = self.0.claim(block, owner, &own).await.map_err(|Unavailable| {
                Error::internal(
                    "The store of this server is away, and what is done once cannot be done now: retry later",
                )
            })?;
            claiming.done();
            if let Claim::Done(result) = &claimed {
                self.0.end(block);
                self.0.local.settle(block, owner, result.clone());
            }
            Ok(claimed)
        })
    }

    fn settle(&self, block: &Block, owner: &Owner, result: Option<Box<str>>) {
        let own = self.0.end(block);
        self.0.local.settle(block, owner, result.clone());
        let Some(own) = own else { return };
        let (fleet, block) = (Arc::clone(&self.0), block.clone());
        spawn(async move { fleet.settle(&block, &own, result.as_deref()).await });
    }

    fn abandon(&self, block: &Block) {
        self.0.abandon(block);
    }
}

impl Fleet {
    /// Claims a block for this replica. Waits while another one works on it.
    async fn claim(&self, block: &Block, owner: &Owner, own: &str) -> Result<Claim, Unavailable> {
        self.replica.live(&self.limits).await?;
        let name = block.lease();
        let (mut take_from, mut pause) = (None, FIRST_LOOK);
        loop {
            let acquire = self.replica.leases.acquire(&name, own, take_from.as_deref(), ttl(owner.until));
            let holder = with_timeout(self.limits.store_timeout, "claim", acquire).await?;
            if holder == own {
                return Ok(Claim::Granted);
            }
            let Some(worker) = holder.strip_prefix(RUNS_AT) else {
                return Ok(Claim::Done(self.read(block, &holder)));
            };
            let worker = worker.split('.').next().unwrap_or_default();
            // An own claim that is not this one was abandoned, and is still to be released.
            let is_over = worker == &*self.replica.id || self.replica.is_dead(worker, &self.limits).await;
            take_from = is_over.then(|| holder.clone());
            if take_from.is_none() {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    /// Makes the result the holder of the block. If the store is away, copies elsewhere wait until it is back.
    async fn settle(&self, block: &Block, own: &Own, result: Option<&str>) {
        let sealed = result.and_then(|text| self.sealer.seal(text.into(), &block.binding()).ok());
        let result = sealed.map_or_else(|| FORGOTTEN.to_owned(), |sealed| format!("{RETURNED}{sealed}"));
        let (name, mut pause) = (block.lease(), FIRST_LOOK);
        while now() < own.until {
            let settle = self.replica.leases.acquire(&name, &result, Some(&own.holder), ttl(own.until));
            if quietly(self.limits.store_timeout, settle).await.is_ok() {
                return;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn abandon(self: &Arc<Self>, block: &Block) {
        // First: then the next run may claim the block.
        let own = self.end(block);
        self.local.abandon(block);
        let Some(own) = own else { return };
        self.replica.release(block.lease().into(), own.holder.into(), ttl(own.until), self.limits.store_timeout);
    }

    /// A result that a replica has settled a block with.
    fn read(&self, block: &Block, holder: &str) -> Option<Box<str>> {
        let text = self.sealer.open(holder.strip_prefix(RETURNED)?, &block.binding())?;
        String::from_utf8(text).ok().map(String::into_boxed_str)
    }

    /// A new claim of this replica, as the holder of the block.
    fn begin(&self, block: &Block, until: u64) -> String {
        let holder = format!("{RUNS_AT}{}.{}", self.replica.id, self.next.fetch_add(1, Ordering::Relaxed));
        lock(&self.own).insert(block.clone(), Own { holder: holder.clone(), until });
        holder
    }

    /// The claim of this replica, which is over.
    fn end(&self, block: &Block) -> Option<Own> {
        lock(&self.own).remove(block)
    }
}

/// A claim that is being made. Abandons it on drop: the call was cancelled, or the store is away.
struct Claiming<'a> {
    fleet: &'a Arc<Fleet>,
    block: Option<&'a Block>,
}

impl Claiming<'_> {
    fn done(mut self) {
        self.block = None;
    }
}

impl Drop for Claiming<'_> {
    fn drop(&mut self) {
        if let Some(block) = self.block {
            self.fleet.abandon(block);
        }
    }
}

impl Block {
    /// The name of its lease. The dialogue's id is not shown to those who can read the store.
    fn lease(&self) -> String {
        format!("once.{}", BASE64.encode(digest::digest(&digest::SHA256, &self.binding()).as_ref()))
    }

    /// What tells it from others. The id of a dialogue has no zero in it.
    fn binding(&self) -> Vec<u8> {
        format!("mcp once\0{}\0{}", self.dialogue, self.key).into_bytes()
    }
}

/// The time until then, and a little more.
fn ttl(until: u64) -> Duration {
    Duration::from_secs(until.saturating_sub(now()).saturating_add(5))
}
