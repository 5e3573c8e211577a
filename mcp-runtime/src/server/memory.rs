//! The memory budget: the bytes a server keeps for its clients, of all of them together and of each.
//!
//! Counts alone do not bound memory: a few messages of the greatest length that stay, as the arguments of calls that
//! wait, as tasks, as events for replay, or as responses nobody reads, would fill it. So whatever is long and stays is
//! charged here until it is really gone. What is short is not ([`FREE`]): the counts bound it, and it is never refused
//! because of others.
//!
//! Below half of the budget everybody may take what is there. Above, each owner has one thing, or a share, so that one
//! cannot take the rest.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::limits::Limits;
use crate::server::peer::Peer;
use crate::sync::lock;

/// What is up to this long is not charged.
pub(crate) const FREE: usize = 16 * 1024;
/// The part of the budget one owner has when the budget is short.
const SHARE: usize = 4;

/// Who memory is kept for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Principal(Arc<str>),
    Peer(IpAddr),
    /// On stdio there is one client; a nested service may not know its peers.
    Unknown,
}

impl Owner {
    /// The owner of what a caller leaves: its principal, or else its peer.
    pub(crate) fn of(principal: Option<&Arc<str>>, peer: Option<Peer>) -> Self {
        match (principal, peer) {
            (Some(principal), _) => Owner::Principal(Arc::clone(principal)),
            (None, Some(peer)) => Owner::Peer(peer.network()),
            (None, None) => Owner::Unknown,
        }
    }
}

/// The bytes in use.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    most: usize,
    used: AtomicUsize,
    /// Owners without charges have no entry. A charge is longer than [`FREE`], so there are few.
    owners: Mutex<HashMap<Owner, usize>>,
}

impl MemoryBudget {
    pub(crate) fn new(limits: &Limits) -> Self {
        // The longest message allowed must fit, with its decoded copy, if only alone.
        let most = limits.memory_bytes.max(limits.message_bytes.saturating_mul(2));
        MemoryBudget { most, used: AtomicUsize::new(0), owners: Mutex::default() }
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<Owner, usize>> {
        lock(&self.owners)
    }

    /// A charge of nothing yet.
    pub(crate) fn open(self: &Arc<Self>, owner: Owner) -> Charge {
        Charge { budget: Arc::clone(self), owner, bytes: 0 }
    }

    /// A charge of these bytes; `None` if there is no room for them.
    pub(crate) fn charge(self: &Arc<Self>, owner: Owner, bytes: usize) -> Option<Charge> {
        let mut charge = self.open(owner);
        charge.set(bytes).then_some(charge)
    }

    /// Whether more than half is in use: time to let go of what can be missed.
    pub(crate) fn is_short(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.most / 2
    }

    /// Takes `more` for something that has `already`, unless that is over the budget, or over the owner's share of a
    /// short one.
    fn take(&self, owner: &Owner, already: usize, more: usize) -> bool {
        let mut owners = self.owners();
        let (used, own) = (self.used.load(Ordering::Relaxed), owners.get(owner).copied().unwrap_or(0));
        let fits = |used: usize, most: usize| used.checked_add(more).is_some_and(|sum| sum <= most);
        // Everybody may have one thing, however long.
        let has_share = own == already || *owner == Owner::Unknown || fits(own, self.most / SHARE);
        if !fits(used, self.most) || !(has_share || fits(used, self.most / 2)) {
            return false;
        }
        owners.insert(owner.clone(), own + more);
        self.used.store(used + more, Ordering::Relaxed);
        true
    }

    fn give_back(&self, owner: &Owner, bytes: usize) {
        let mut owners = self.owners();
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(own) = owners.get_mut(owner) {
            *own -= bytes;
            if *own == 0 {
                owners.remove(owner);
            }
        }
    }
}

/// Bytes charged to an owner, until this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<MemoryBudget>,
    owner: Owner,
    bytes: usize,
}

impl Charge {
    /// Changes the charge to these bytes; false, and unchanged, if there is no room for them. What is short is free.
    pub(crate) fn set(&mut self, bytes: usize) -> bool {
        let bytes = if bytes <= FREE { 0 } else { bytes };
        if bytes > self.bytes {
            if !self.budget.take(&self.owner, self.bytes, bytes - self.bytes) {
                return false;
            }
        } else if bytes < self.bytes {
            self.budget.give_back(&self.owner, self.bytes - bytes);
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.give_back(&self.owner, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: usize = 2 * FREE;

    /// A budget of twelve units: shares are three.
    fn budget() -> Arc<MemoryBudget> {
        let limits = Limits { memory_bytes: 12 * UNIT, message_bytes: UNIT, ..Limits::default() };
        Arc::new(MemoryBudget::new(&limits))
    }

    fn peer(number: u8) -> Owner {
        Owner::of(None, Some(Peer::new([192, 0, 2, number].into())))
    }

    #[test]
    fn dropped_charge_returns_its_bytes() {
        let budget = budget();
        let mut charge = budget.open(peer(1));
        assert!(charge.set(FREE) && charge.bytes == 0, "what is short is free");
        assert!(charge.set(2 * UNIT) && charge.set(UNIT) && charge.bytes == UNIT);
        assert!(!charge.set(13 * UNIT) && charge.bytes == UNIT, "unchanged");
        assert_eq!((budget.used.load(Ordering::Relaxed), budget.owners().len()), (UNIT, 1));
        drop(charge);
        assert_eq!((budget.used.load(Ordering::Relaxed), budget.owners().len()), (0, 0));
    }

    #[test]
    fn owner_is_held_to_its_share_when_memory_is_short() {
        let budget = budget();
        let greedy = budget.charge(peer(1), 6 * UNIT).expect("there is plenty");
        assert!(!budget.is_short() && budget.charge(peer(1), UNIT).is_none(), "its share is used up");
        let other = budget.charge(peer(2), 3 * UNIT).expect("others have their share");
        assert!(budget.is_short() && budget.charge(peer(2), UNIT).is_none());
        let third = budget.charge(peer(3), 3 * UNIT).unwrap();
        assert!(budget.charge(peer(4), UNIT).is_none(), "the budget is used up");
        assert!(budget.charge(peer(4), FREE).is_some());
        drop((greedy, other, third));
        assert!(budget.charge(Owner::Unknown, 12 * UNIT).is_some(), "one that is not known may take it all");
    }
}
