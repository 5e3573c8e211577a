//! The links to the nodes of a cluster, by slot and by address.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::layout::Range;
use crate::link::Link;
use crate::link::endpoint::seeds::Address;

/// The most nodes of a cluster, as its specification recommends.
const MOST_NODES: usize = 1000;

/// The links to the nodes.
#[derive(Default)]
pub(super) struct Table {
    /// The last slot of each range, its first one, and its node; in order.
    ranges: Vec<(u16, u16, Arc<Link>)>,
    nodes: HashMap<Address, Arc<Link>>,
}

impl Table {
    /// Whether there has been a layout.
    pub(super) fn is_known(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// The link to the node that has a slot.
    pub(super) fn get(&self, slot: u16) -> Option<Arc<Link>> {
        let index = self.ranges.partition_point(|(last, ..)| *last < slot);
        self.ranges.get(index).filter(|(_, first, _)| *first <= slot).map(|(.., link)| Arc::clone(link))
    }

    pub(super) fn links(&self) -> Vec<Arc<Link>> {
        self.nodes.values().cloned().collect()
    }

    /// The host of a node.
    pub(super) fn host_of(&self, link: &Link) -> Option<String> {
        let found = self.nodes.iter().find(|(_, known)| std::ptr::eq(Arc::as_ptr(known), link));
        found.map(|(address, _)| address.host.clone())
    }

    /// The link to the node at an address, which is made if there is none.
    pub(super) fn link_at(
        &mut self,
        address: &Address,
        make: impl FnOnce() -> io::Result<Link>,
    ) -> io::Result<Arc<Link>> {
        if let Some(link) = self.nodes.get(address) {
            return Ok(Arc::clone(link));
        }
        if self.nodes.len() >= MOST_NODES {
            return Err(io::Error::other(format!(
                "a cluster has {MOST_NODES} nodes at most, and {address} is one more"
            )));
        }
        let link = Arc::new(make()?);
        self.nodes.insert(address.clone(), Arc::clone(&link));
        Ok(link)
    }

    /// Takes over a layout. Links to nodes that have no slots any more are closed.
    pub(super) fn replace(
        &mut self,
        ranges: Vec<Range>,
        make: impl Fn(&Address) -> io::Result<Link>,
    ) -> io::Result<()> {
        let mut next = Table { ranges: Vec::with_capacity(ranges.len()), nodes: HashMap::new() };
        for Range { first, last, primary } in ranges {
            let known = self.nodes.get(&primary).cloned();
            if let Some(link) = known {
                next.nodes.insert(primary.clone(), link);
            }
            let link = next.link_at(&primary, || make(&primary))?;
            next.ranges.push((last, first, link));
        }
        *self = next;
        Ok(())
    }
}
