//! What all attackers share: their addresses, how they connect and come back, and what the server told them.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::http::{Response, Wire};
use crate::message::{self, Bytes};
use crate::options::Size;
use crate::target::Target;

/// How long the attackers take to arrive.
const RAMP: Duration = Duration::from_millis(700);

/// How long one that was sent away waits before it comes back.
const RETRY: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub(crate) struct Attack {
    pub(crate) target: Target,
    pub(crate) size: Size,
    addresses: Arc<[IpAddr]>,
    /// The most sockets the driver may have.
    sockets: usize,
    pub(crate) tally: Arc<Tally>,
}

/// What the attackers got.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Requests sent, and connections opened to send none.
    sent: AtomicUsize,
    pub(crate) accepted: AtomicUsize,
    refused: AtomicUsize,
    /// Connections that ended or could not be opened.
    closed: AtomicUsize,
    /// Streams open now.
    open: AtomicUsize,
    pub(crate) most_open: AtomicUsize,
}

impl Tally {
    pub(crate) fn status(&self, accepted: bool) {
        let counter = if accepted { &self.accepted } else { &self.refused };
        counter.fetch_add(1, Relaxed);
    }

    fn opened(&self) {
        let open = self.open.fetch_add(1, Relaxed) + 1;
        self.most_open.fetch_max(open, Relaxed);
    }

    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Relaxed)
    }

    pub(crate) fn text(&self) -> String {
        let count = |counter: &AtomicUsize| counter.load(Relaxed);
        let (sent, accepted) = (count(&self.sent), count(&self.accepted));
        format!("{sent} sent, {accepted} accepted, {} refused, {} closed", count(&self.refused), count(&self.closed))
    }
}

impl Attack {
    pub(crate) fn new(target: Target, size: Size, addresses: Arc<[IpAddr]>, descriptors: usize) -> Self {
        // Some are left for the good client, and for files.
        Attack { target, size, addresses, sockets: descriptors.saturating_sub(100), tally: Arc::default() }
    }

    /// 127.0.0.2 and those after it, or that of the good client.
    pub(crate) fn addresses(same: bool, count: u8) -> Arc<[IpAddr]> {
        let last = if same { 1..=1 } else { 2..=count.saturating_add(1) };
        last.map(|last| IpAddr::from(Ipv4Addr::new(127, 0, 0, last))).collect()
    }

    /// All come from one address.
    pub(crate) fn alone(self) -> Self {
        let addresses = self.addresses[..1].into();
        Attack { addresses, ..self }
    }

    /// That many attackers at once, over a short while. They end when this future is dropped.
    pub(crate) async fn swarm<F, R>(&self, count: usize, attacker: F)
    where
        F: Fn(Attack, usize) -> R,
        R: Future<Output = ()> + Send + 'static,
    {
        let mut all = JoinSet::new();
        let count = if count > self.sockets {
            eprintln!("attack: {} connections instead of {count}: the descriptor limit allows no more", self.sockets);
            self.sockets
        } else {
            count
        };
        for index in 0..count {
            let late = RAMP * u32::try_from(index).unwrap_or(u32::MAX) / u32::try_from(count).unwrap_or(u32::MAX);
            let attacker = attacker(self.clone(), index);
            all.spawn(async move {
                sleep(late).await;
                attacker.await;
            });
        }
        while all.join_next().await.is_some() {}
    }

    pub(crate) fn from(&self, index: usize) -> IpAddr {
        self.addresses[index % self.addresses.len()]
    }

    pub(crate) async fn open(&self, index: usize) -> Wire {
        self.reach(|| Wire::open(&self.target, self.from(index))).await
    }

    /// See [`Wire::open_narrow`].
    pub(crate) async fn open_narrow(&self, index: usize) -> Wire {
        self.reach(|| Wire::open_narrow(&self.target, self.from(index))).await
    }

    async fn reach<R: Future<Output = io::Result<Wire>>>(&self, connect: impl Fn() -> R) -> Wire {
        loop {
            match connect().await {
                Ok(wire) => return wire,
                Err(_) => self.sent_away().await,
            }
        }
    }

    pub(crate) fn sent(&self) {
        self.tally.sent.fetch_add(1, Relaxed);
    }

    /// Counts the end of a connection, and waits until the attacker comes back.
    pub(crate) async fn sent_away(&self) {
        self.tally.closed.fetch_add(1, Relaxed);
        sleep(RETRY).await;
    }

    /// Opens a connection, sends this, then a byte a second if there is one to send, and comes back whenever the server
    /// ends it.
    pub(crate) async fn linger(self, index: usize, opening: Bytes, drip: Option<u8>) {
        loop {
            let mut wire = self.open(index).await;
            self.sent();
            if wire.send(&opening).await.is_ok() {
                let ended = self.drip(&mut wire, drip).await;
                if ended.is_some() {
                    self.tally.status(false);
                }
            }
            self.sent_away().await;
        }
    }

    async fn drip(&self, wire: &mut Wire, drip: Option<u8>) -> Option<u16> {
        let Some(byte) = drip else { return wire.verdict().await };
        loop {
            let second = tokio::time::timeout(Duration::from_secs(1), wire.verdict()).await;
            if let Ok(ended) = second {
                return ended;
            }
            wire.send(&[byte]).await.ok()?;
        }
    }

    /// Sends a request whose response stays open, reads along, and comes back whenever it ends.
    pub(crate) async fn hold(self, index: usize, request: Bytes) {
        loop {
            let mut wire = self.open(index).await;
            self.sent();
            let head = match wire.send(&request).await {
                Ok(()) => wire.head().await,
                Err(error) => Err(error),
            };
            if let Ok(head) = head {
                self.tally.status(head.is_success());
                if head.is_success() {
                    self.tally.opened();
                    wire.drain().await;
                    self.tally.open.fetch_sub(1, Relaxed);
                }
            }
            self.sent_away().await;
        }
    }

    /// Sends the same request over and over on one connection, up to that many of all attackers together.
    pub(crate) async fn repeat(self, index: usize, request: Bytes, most: usize) {
        let mut wire = self.open(index).await;
        while self.tally.sent.load(Relaxed) < most {
            if !self.ask(&mut wire, &request).await {
                self.sent_away().await;
                wire = self.open(index).await;
            }
        }
    }

    /// One request; false if the connection is of no more use.
    pub(crate) async fn ask(&self, wire: &mut Wire, request: &[u8]) -> bool {
        self.sent();
        match wire.exchange(request).await {
            Ok(response) => {
                self.tally.status(is_accepted(&response));
                // One that was refused early has not been read to its end.
                response.head.is_success()
            }
            Err(_) => false,
        }
    }

    /// A session of a client with these capabilities; `None` if the server refuses one.
    pub(crate) async fn session(&self, wire: &mut Wire, capabilities: &Value) -> Option<String> {
        let hello = message::initialize(&self.target, "attacker", capabilities);
        let session = wire.exchange(&hello).await.ok()?.head.session?;
        let ready = message::in_session(&self.target, &session, message::INITIALIZED);
        wire.exchange(&ready).await.ok()?;
        Some(session)
    }
}

/// A success that is not a JSON-RPC error, nor the failure of a tool.
fn is_accepted(response: &Response) -> bool {
    let begins = &response.body[..response.body.len().min(2048)];
    let has = |what: &[u8]| begins.windows(what.len()).any(|window| window == what);
    response.head.is_success() && !has(b"\"error\":{") && !has(b"\"isError\":true")
}

#[cfg(test)]
mod tests {
    use super::Attack;

    #[test]
    fn attackers_have_other_addresses_unless_told_otherwise() {
        let text = |same, count| Attack::addresses(same, count).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text(false, 2), ["127.0.0.2", "127.0.0.3"]);
        assert_eq!(text(true, 4), ["127.0.0.1"]);
    }
}
