//! Claims on `once` blocks: which run of a dialogue does the work, and what it returned, for the copies of that run.
//!
//! A sealed state says what was done in the rounds before it. It cannot say what is being done now by a copy of the
//! same round, or was done by a round whose response was lost. A run that resumes a dialogue therefore claims a block
//! before it runs it, under the id of the dialogue and the key of the block. Copies wait for the claim, and get its
//! result. A first round claims nothing: it begins a dialogue of its own.

#[cfg(feature = "http")]
pub(super) mod fleet;

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::Notify;

use super::AskError;
use crate::error::{Error, Result};
use crate::jsonrpc::raw::to_text;
use crate::sort;
use crate::store::sweeper::{Expiring, Sweep, Sweeper, shrink};
use crate::sync::{lock, until_some};

/// The blocks that are remembered. Beyond it, the oldest of the principal that has the most are forgotten.
const MAX_BLOCKS: usize = 8192;
/// The size of the keys and results that are remembered.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The time between two sweeps: blocks of many dialogues are forgotten together.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// A `once` block of a dialogue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Block {
    dialogue: Arc<str>,
    key: Box<str>,
}

/// What a claim came to.
#[derive(Debug)]
pub(crate) enum Claim {
    /// This run does the work.
    Granted,
    /// Another run did it, and returned this. `None`: more than can be remembered.
    Done(Option<Box<str>>),
}

type ClaimFuture<'a> = Pin<Box<dyn Future<Output = Result<Claim>> + Send + 'a>>;

/// Where runs claim `once` blocks. Replicas that share one run a block once in all of them.
pub(crate) trait OnceClaims: fmt::Debug + Send + Sync {
    /// Claims a block. If another run has it, waits until that run settles or abandons it.
    fn claim<'a>(&'a self, block: &'a Block, owner: &'a Owner) -> ClaimFuture<'a>;

    /// The work is done and returned this; remembered until no state of the dialogue opens any more.
    fn settle(&self, block: &Block, owner: &Owner, result: Option<Box<str>>);

    /// The work failed or was interrupted: the next run may do it.
    fn abandon(&self, block: &Block);
}

/// Whose dialogue it is, and for how long its states open, in seconds since 1970.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) until: u64,
}

/// The claims that a dialogue makes.
#[derive(Debug)]
pub(super) struct DialogueClaims {
    pub(super) table: Arc<dyn OnceClaims>,
    pub(super) owner: Owner,
    /// The longest result that is remembered.
    pub(super) result_bytes: usize,
}

impl DialogueClaims {
    /// Claims a block. If it was done, returns what it returned.
    pub(super) async fn claim(&self, dialogue: &str, key: &str) -> Result<Result<ClaimGuard<'_>, Value>> {
        let block = Block { dialogue: dialogue.into(), key: key.into() };
        let result = match self.table.claim(&block, &self.owner).await? {
            Claim::Granted => return Ok(Ok(ClaimGuard { claims: self, block: Some(block) })),
            Claim::Done(result) => result.and_then(|text| serde_json::from_str(&text).ok()),
        };
        result.map(Err).ok_or_else(|| {
            let limit = self.result_bytes;
            AskError::Misused(format!(
                "`once` `{key}` was done by an earlier copy of this call, and what it returned is longer than the \
                 {limit} bytes that are remembered (`Limits::state_bytes`): return an id from `ctx.once`, not the data"
            ))
            .into()
        })
    }
}

/// A block that this run has claimed. Abandons it on drop, unless it was settled.
#[derive(Debug)]
pub(super) struct ClaimGuard<'a> {
    claims: &'a DialogueClaims,
    block: Option<Block>,
}

impl ClaimGuard<'_> {
    /// The work is done: copies get this result.
    pub(super) fn settle(mut self, result: Option<&Value>) {
        let text = result.map(to_text).filter(|text| text.len() <= self.claims.result_bytes);
        if let Some(block) = self.block.take() {
            self.claims.table.settle(&block, &self.claims.owner, text.map(String::into_boxed_str));
        }
    }
}

impl Drop for ClaimGuard<'_> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.claims.table.abandon(&block);
        }
    }
}

/// Claims in the memory of a process.
pub(crate) struct MemoryClaims {
    table: Mutex<ClaimTable>,
    /// Notified when a block is settled or abandoned.
    changed: Notify,
    sweeper: Arc<Sweeper>,
    /// Itself, for the sweeper.
    swept: Weak<Self>,
}

impl MemoryClaims {
    /// No claims yet. They are forgotten when they expire.
    pub(crate) fn swept_by(sweeper: &Arc<Sweeper>) -> Arc<Self> {
        Arc::new_cyclic(|swept| MemoryClaims {
            table: Mutex::default(),
            changed: Notify::new(),
            sweeper: Arc::clone(sweeper),
            swept: Weak::clone(swept),
        })
    }

    fn expect(&self, until: u64) {
        let swept: Weak<Self> = Weak::clone(&self.swept);
        self.sweeper.expect(swept, wait(until, now()));
    }
}

impl Expiring for MemoryClaims {
    fn remove_expired(&self, _: Duration) -> Sweep<'_> {
        Box::pin(async { lock(&self.table).sweep(now()) })
    }
}

/// In seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// How long to wait until a block that is remembered until then can be forgotten.
fn wait(until: u64, now: u64) -> Duration {
    Duration::from_secs(until.saturating_sub(now).saturating_add(1)).max(SWEEP_INTERVAL)
}

#[derive(Default)]
struct ClaimTable {
    blocks: HashMap<Block, ClaimEntry>,
    bytes: usize,
    /// Orders the settled blocks.
    settled: u64,
}

enum ClaimEntry {
    Running,
    Settled { result: Option<Box<str>>, owner: Owner, order: u64 },
}

impl OnceClaims for MemoryClaims {
    fn claim<'a>(&'a self, block: &'a Block, _: &'a Owner) -> ClaimFuture<'a> {
        Box::pin(async move { until_some(&self.changed, || lock(&self.table).claim(block).transpose()).await })
    }

    fn settle(&self, block: &Block, owner: &Owner, result: Option<Box<str>>) {
        lock(&self.table).settle(block, owner.clone(), result);
        self.changed.notify_waiters();
        self.expect(owner.until);
    }

    fn abandon(&self, block: &Block) {
        lock(&self.table).remove(block);
        self.changed.notify_waiters();
    }
}

impl ClaimTable {
    /// `None` if another run has claimed the block.
    fn claim(&mut self, block: &Block) -> Result<Option<Claim>> {
        match self.blocks.get(block) {
            Some(ClaimEntry::Running) => return Ok(None),
            Some(ClaimEntry::Settled { result, .. }) => return Ok(Some(Claim::Done(result.clone()))),
            None => {}
        }
        self.make_room();
        if self.blocks.len() >= MAX_BLOCKS {
            return Err(Error::internal("Too many calls are in the middle of their work: retry later"));
        }
        self.bytes += block.bytes();
        self.blocks.insert(block.clone(), ClaimEntry::Running);
        Ok(Some(Claim::Granted))
    }

    fn settle(&mut self, block: &Block, owner: Owner, result: Option<Box<str>>) {
        self.remove(block);
        self.settled += 1;
        let entry = ClaimEntry::Settled { result, owner, order: self.settled };
        self.bytes += block.bytes() + entry.bytes();
        self.blocks.insert(block.clone(), entry);
        self.make_room();
    }

    fn remove(&mut self, block: &Block) {
        if let Some(entry) = self.blocks.remove(block) {
            self.bytes -= block.bytes() + entry.bytes();
        }
    }

    fn is_full(&self) -> bool {
        self.blocks.len() >= MAX_BLOCKS || self.bytes > MAX_BYTES
    }

    /// Forgets what has expired. If that is not enough, forgets the older half of what the greediest principal has: a
    /// caller that floods the table loses its own memory first. Half of it, so that the search is rare.
    fn make_room(&mut self) {
        if !self.is_full() {
            return;
        }
        self.forget_expired(now());
        while self.is_full() {
            let Some((greediest, newest_forgotten)) = self.older_half_of_the_greediest() else { return };
            self.forget(|_, owner, order| owner.principal == greediest && order <= newest_forgotten);
            tracing::warn!(
                principal = greediest.as_deref().unwrap_or("anonymous"),
                "results of `ctx.once` were forgotten before their dialogues expired: too many of one caller's"
            );
        }
    }

    /// The principal that has the most, and the order of the newest block in the older half of its own.
    fn older_half_of_the_greediest(&self) -> Option<(Option<Arc<str>>, u64)> {
        let settled: Vec<Settled<'_>> = self.blocks.iter().filter_map(Settled::of).collect();
        let by_principal = sort::order(settled.len(), &|one, other| settled[one].place().cmp(&settled[other].place()));
        let same = |one: &usize, other: &usize| settled[*one].principal == settled[*other].principal;
        let shares = by_principal.chunk_by(same);
        let greediest = shares.max_by_key(|share| share.iter().map(|block| settled[*block].bytes).sum::<usize>())?;
        let newest = &settled[greediest[greediest.len() / 2]];
        Some((newest.principal.cloned(), newest.order))
    }

    fn forget_expired(&mut self, now: u64) {
        self.forget(|_, owner, _| owner.until < now);
    }

    /// Forgets what has expired, and returns how long it is until more has.
    fn sweep(&mut self, now: u64) -> Option<Duration> {
        self.forget_expired(now);
        shrink(&mut self.blocks);
        let until = self.blocks.values().filter_map(|entry| match entry {
            ClaimEntry::Running => None,
            ClaimEntry::Settled { owner, .. } => Some(owner.until),
        });
        until.min().map(|until| wait(until, now))
    }

    fn forget(&mut self, is_forgotten: impl Fn(&Block, &Owner, u64) -> bool) {
        let mut freed = 0;
        self.blocks.retain(|block, entry| {
            let forgotten =
                matches!(entry, ClaimEntry::Settled { owner, order, .. } if is_forgotten(block, owner, *order));
            freed += if forgotten { block.bytes() + entry.bytes() } else { 0 };
            !forgotten
        });
        self.bytes -= freed;
    }
}

/// A settled block, as one of its principal's.
struct Settled<'a> {
    principal: Option<&'a Arc<str>>,
    order: u64,
    bytes: usize,
}

impl<'a> Settled<'a> {
    fn of((block, entry): (&'a Block, &'a ClaimEntry)) -> Option<Self> {
        let ClaimEntry::Settled { owner, order, .. } = entry else { return None };
        let bytes = SHARE_BYTES + block.bytes() + entry.bytes();
        Some(Settled { principal: owner.principal.as_ref(), order: *order, bytes })
    }

    fn place(&self) -> (Option<&Arc<str>>, u64) {
        (self.principal, self.order)
    }
}

/// What an entry takes beside its texts.
const SHARE_BYTES: usize = MAX_BYTES / MAX_BLOCKS;

impl Block {
    fn bytes(&self) -> usize {
        self.dialogue.len() + self.key.len()
    }
}

impl ClaimEntry {
    fn bytes(&self) -> usize {
        match self {
            ClaimEntry::Running => 0,
            ClaimEntry::Settled { result, .. } => result.as_deref().map_or(0, str::len),
        }
    }
}

/// Counts only: results are the user's data.
impl fmt::Debug for MemoryClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = lock(&self.table);
        f.debug_struct("MemoryClaims")
            .field("blocks", &table.blocks.len())
            .field("bytes", &table.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
