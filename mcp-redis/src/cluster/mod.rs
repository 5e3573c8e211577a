//! A Redis Cluster: each request goes to the node that has the slot of its key.
//!
//! The connections are those of a server without a cluster ([`Link`]): one per primary, which is made again when it is
//! lost, and one more to any node that works, which carries changes. A message that is published on one node reaches the
//! subscribers of all nodes, so that one subscription suffices, and what was missed while it was away becomes
//! `Change::All` as ever. Because each node has a link, a node that is away fails the requests for its slots at once, and
//! no others; scripts are loaded on each node before it is used; and `WAIT` is answered by the replicas of that node.
//!
//! `redis::cluster_async::ClusterConnection` is not used, because what a link promises cannot be built on it: one setting
//! is the number of redirects that it follows and of the times that it repeats a request whose connection broke, though
//! only the first is safe for every write; while it looks for the slots of one node, requests for all others wait; and a
//! cluster that is away is asked without a pause.
//!
//! A redirect means that the request was not run, so each request follows it. The layout is asked for when a node sends a
//! request elsewhere or fails, in the background: the request that noticed does not wait for it.
//! <https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#client-and-server-roles-in-the-cluster-protocol>

mod layout;
pub(crate) mod router;
mod slot;
mod table;

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use redis::FromRedisValue;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::slot::slot_of;
use self::table::Table;
use crate::link::endpoint::seeds::{Address, works};
use crate::link::kept::Kept;
use crate::link::redirect::{Redirect, Refused};
use crate::link::{Link, Repeat, Request, Way};

/// The times that a request is sent elsewhere. More of them are a loop.
const MOST_HOPS: usize = 5;
/// How long a request waits for keys that are being moved, before it looks again. Twice as long each time.
const MOVING_PAUSE: Duration = Duration::from_millis(5);
/// How often the layout is asked for at most.
const LAYOUT_PAUSE: Duration = Duration::from_millis(100);

/// Whether the layout may be asked for again.
fn is_old(asked: Option<Instant>) -> bool {
    asked.is_none_or(|asked| asked.elapsed() >= LAYOUT_PAUSE)
}

/// The nodes of a cluster.
pub(crate) struct Cluster {
    /// Carries changes, and knows the layout.
    home: Link,
    kept: Arc<Kept>,
    table: RwLock<Table>,
    /// When the layout was asked for last. Held while it is.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

/// Whether a request has to survive a failover.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    Usual,
    Replicated,
}

impl Cluster {
    pub(crate) fn new(home: Link, kept: Arc<Kept>) -> Self {
        Cluster { home, kept, table: RwLock::default(), asked: tokio::sync::Mutex::default() }
    }

    /// Connects to all primaries; the error says what to do.
    pub(crate) async fn connect(&self) -> io::Result<()> {
        self.home.connect().await?;
        self.find_layout(&mut *self.asked.lock().await).await?;
        let mut connecting = JoinSet::new();
        for link in self.table().links() {
            connecting.spawn(async move { link.connect().await });
        }
        while let Some(connected) = connecting.join_next().await {
            connected.map_err(io::Error::other)?.map_err(|error| {
                let text = format!(
                    "{error} (the cluster names this address; `cluster-announce-ip` and `-hostname` change it)"
                );
                io::Error::new(error.kind(), text)
            })?;
        }
        Ok(())
    }

    /// Asks a node whether the cluster works.
    pub(crate) async fn ping(&self) -> io::Result<()> {
        let mut command = redis::cmd("CLUSTER");
        command.arg("INFO");
        let info = self.home.run::<String>(&Request::Command(command), Repeat::Safe, Way::Straight).await;
        if works(&info.map_err(|refused| refused.error)?) {
            return Ok(());
        }
        self.home.doubt();
        Err(self.home.dialer().failures.cluster_down())
    }

    /// Runs a request on the node that has the slot of this key.
    pub(crate) async fn run<T: FromRedisValue>(
        self: &Arc<Self>,
        key: &[u8],
        request: &Request,
        repeat: Repeat,
        durability: Durability,
    ) -> io::Result<T> {
        let slot = slot_of(key);
        let (mut link, mut way, mut hops) = (self.link_of(slot).await?, Way::Straight, 0);
        loop {
            let reply = match durability {
                Durability::Usual => link.run(request, repeat, way).await,
                Durability::Replicated => link.write(request, repeat, way).await,
            };
            let Refused { error, redirect } = match reply {
                Ok(value) => return Ok(value),
                Err(refused) => refused,
            };
            hops += 1;
            if !matches!(redirect, Some(Redirect::Ask(..) | Redirect::TryAgain)) {
                self.look_again();
            }
            match redirect {
                Some(_) if hops > MOST_HOPS => return Err(self.unsettled()),
                Some(Redirect::Moved(host, port)) => {
                    (link, way) = (self.node_beside(&link, host, port)?, Way::Straight);
                }
                Some(Redirect::Ask(host, port)) => {
                    (link, way) = (self.node_beside(&link, host, port)?, Way::Asked);
                }
                Some(Redirect::TryAgain) => {
                    tokio::time::sleep(MOVING_PAUSE * (1 << hops)).await;
                    (link, way) = (self.link_of(slot).await?, Way::Straight);
                }
                Some(Redirect::Down) => {
                    self.home.doubt();
                    return Err(error);
                }
                None => return Err(error),
            }
        }
    }

    /// The error of a request that was sent elsewhere too often.
    fn unsettled(&self) -> io::Error {
        let text = "the keys are being moved to another node of the cluster; try again";
        self.home.dialer().failures.error(io::ErrorKind::ResourceBusy, text)
    }

    fn table(&self) -> std::sync::RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The link to the node that has a slot.
    async fn link_of(self: &Arc<Self>, slot: u16) -> io::Result<Arc<Link>> {
        let (found, is_known) = (self.table().get(slot), self.table().is_known());
        if let Some(link) = found {
            return Ok(link);
        }
        if is_known {
            self.look_again();
        } else {
            let mut asked = self.asked.lock().await;
            let is_known = self.table().is_known();
            if !is_known && !is_old(*asked) {
                // Whoever asked before did not find out: requests that come together do not wait one after the other.
                return Err(self.home.dialer().failures.away("the layout of the cluster is not known yet"));
            }
            if !is_known {
                self.find_layout(&mut asked).await?;
            }
        }
        self.table().get(slot).ok_or_else(|| self.home.dialer().failures.cluster_down())
    }

    /// The link to the node that another node names. Without a host, they share it.
    fn node_beside(&self, link: &Link, host: Option<String>, port: u16) -> io::Result<Arc<Link>> {
        let host = host.or_else(|| self.table().host_of(link));
        let address = Address { host: host.unwrap_or_default(), port };
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.link_at(&address, || self.dial_at(&address))
    }

    fn dial_at(&self, address: &Address) -> io::Result<Link> {
        Ok(Link::lazy(self.home.dialer().at(address)?, None, Arc::clone(&self.kept)))
    }

    /// Asks for the layout in the background, unless that was done a moment ago.
    fn look_again(self: &Arc<Self>) {
        if !self.asked.try_lock().is_ok_and(|asked| is_old(*asked)) {
            return;
        }
        let cluster = Arc::clone(self);
        tokio::spawn(async move {
            let Ok(mut asked) = cluster.asked.try_lock() else { return };
            if is_old(*asked) {
                // If it fails, the next request that does asks again.
                let _ = cluster.find_layout(&mut asked).await;
            }
        });
    }

    /// Asks a node that works for the layout, and notes when that was.
    async fn find_layout(&self, asked: &mut Option<Instant>) -> io::Result<()> {
        let mut command = redis::cmd("CLUSTER");
        command.arg("SLOTS");
        let reply = self.home.run(&Request::Command(command), Repeat::Safe, Way::Straight).await;
        *asked = Some(Instant::now());
        let ranges = layout::parse(reply.map_err(|refused| refused.error)?, &self.home.host().unwrap_or_default());
        let failures = &self.home.dialer().failures;
        let unreadable = || failures.error(io::ErrorKind::Unsupported, "the reply to `CLUSTER SLOTS` cannot be read");
        let ranges = ranges.ok_or_else(unreadable)?;
        if let Some(seeds) = self.home.dialer().seeds() {
            seeds.found(ranges.iter().map(|range| range.primary.clone()).collect());
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.replace(ranges, |address| self.dial_at(address))
    }
}
